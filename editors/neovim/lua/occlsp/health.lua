--- :checkhealth occlsp

local M = {}

local function check_server()
  local config = vim.lsp.config.occlsp
  local command = config and type(config.cmd) == "table" and config.cmd[1] or "occlsp"
  if vim.fn.executable(command) == 0 then
    vim.health.error(("`%s` is not executable"):format(command), {
      "Install it: pip install 'occlsp[nvcc]'",
      "Or name it: require('occlsp').setup({ cmd = { '/path/to/occlsp', 'serve' } })",
    })
    return nil
  end
  local version = vim.trim(vim.fn.system({ command, "--version" }))
  vim.health.ok(("%s (%s)"):format(version, vim.fn.exepath(command)))
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

local function check_doctor(command)
  local result = vim.system({ command, "doctor" }, { text = true, timeout = 20000 }):wait()
  if result.code ~= 0 then
    vim.health.warn("`occlsp doctor` failed: " .. vim.trim(result.stderr or ""))
  end
  for line in vim.gsplit(vim.trim(result.stdout or ""), "\n") do
    vim.health.info(line)
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
