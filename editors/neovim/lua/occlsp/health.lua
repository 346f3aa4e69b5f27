--- :checkhealth occlsp

local M = {}

--- The command of the server without `serve`: what other subcommands are given to.
---@return string[]
local function base_command()
  local config = vim.lsp.config.occlsp
  local command = config and type(config.cmd) == "table" and config.cmd or { "occlsp", "serve" }
  return vim.tbl_filter(function(word)
    return word ~= "serve"
  end, command)
end

local function run(command, arguments)
  local result = vim.system(vim.list_extend(vim.deepcopy(command), arguments), {
    text = true,
    timeout = 20000,
  }):wait()
  return result.code, vim.trim(result.stdout or ""), vim.trim(result.stderr or "")
end

local function check_server()
  local command = base_command()
  if vim.fn.executable(command[1]) == 0 then
    vim.health.error(("`%s` is not executable"):format(command[1]), {
      "Install it: pip install 'occlsp[nvcc]'",
      "Or name it: require('occlsp').setup({ cmd = { '/path/to/occlsp', 'serve' } })",
    })
    return nil
  end
  local code, said, problem = run(command, { "--version" })
  if code ~= 0 then
    vim.health.error(("`%s --version` failed"):format(table.concat(command, " ")), { problem })
    return nil
  end
  vim.health.ok(("%s (%s)"):format(said, vim.fn.exepath(command[1])))
  return command
end

local function check_clients()
  local clients = vim.lsp.get_clients({ name = "occlsp" })
  if #clients == 0 then
    vim.health.info("no server is running: open a CUDA file")
  end
  for _, client in ipairs(clients) do
    vim.health.ok(
      ("running for %s, positions in %s"):format(client.root_dir or "single files", client.offset_encoding)
    )
  end
end

--- Each line of the doctor by what it says: found, missing, or broken.
local function check_doctor(command)
  local client = vim.lsp.get_clients({ name = "occlsp" })[1]
  local folder = client and client.root_dir or vim.fn.getcwd()
  local code, said, problem = run(command, { "doctor", folder })
  if code ~= 0 then
    vim.health.warn("`occlsp doctor` failed: " .. problem)
  end
  for line in vim.gsplit(said, "\n") do
    local text = vim.trim(line)
    if vim.startswith(text, "✓") then
      vim.health.ok(vim.trim(text:sub(#"✓" + 1)))
    elseif vim.startswith(text, "✗") then
      vim.health.warn(vim.trim(text:sub(#"✗" + 1)))
    elseif text ~= "" then
      vim.health.info(text)
    end
  end
end

function M.check()
  vim.health.start("occlsp")
  if vim.fn.has("nvim-0.11") == 0 then
    vim.health.error("Neovim 0.11 or later is needed")
    return
  end
  local command = check_server()
  if not command then
    return
  end
  check_clients()
  vim.health.start("occlsp: what the server finds")
  check_doctor(command)
end

return M
