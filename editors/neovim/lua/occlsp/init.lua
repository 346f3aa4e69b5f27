--- CUDA occupancy in Neovim: setup, and the :Occlsp commands.

local M = {}

--- What the server last said with `occlsp/status`, by client id.
---@type table<integer, table>
M.statuses = {}

--- Starts the server for CUDA files, with inlay hints on.
---
---@param options? { cmd?: string[], settings?: table, hints?: boolean }
---   `settings` as in occlsp.toml, for example `{ arch = { "sm_90" } }`.
function M.setup(options)
  options = options or {}
  M.commands()
  local config = {
    init_options = options.settings,
    settings = { occlsp = options.settings or vim.empty_dict() },
    handlers = {
      ["occlsp/status"] = function(_, status, context)
        M.statuses[context.client_id] = status
        vim.api.nvim_exec_autocmds("User", { pattern = "OcclspStatus", data = status })
      end,
    },
  }
  if options.cmd then
    config.cmd = options.cmd
  end
  vim.lsp.config("occlsp", config)
  if options.hints ~= false then
    vim.api.nvim_create_autocmd("LspAttach", {
      group = vim.api.nvim_create_augroup("occlsp", { clear = true }),
      callback = function(event)
        local client = vim.lsp.get_client_by_id(event.data.client_id)
        if client and client.name == "occlsp" then
          vim.lsp.inlay_hint.enable(true, { bufnr = event.buf })
        end
      end,
    })
  end
  vim.lsp.enable("occlsp")
end

--- The occlsp client of a buffer.
---@param buffer? integer
---@return vim.lsp.Client?
function M.client(buffer)
  return vim.lsp.get_clients({ name = "occlsp", bufnr = buffer or 0 })[1]
end

--- A short text for a status line: the architectures, and what the server does.
---@return string
function M.status()
  local client = M.client()
  local status = client and M.statuses[client.id]
  if not status then
    return ""
  end
  local text = table.concat(status.architectures or {}, " ")
  if status.state and status.state ~= "idle" then
    text = text .. " (" .. status.state .. ")"
  end
  return text
end

local function say(text, level)
  vim.notify("occlsp: " .. text, level or vim.log.levels.INFO)
end

--- Asks the server to run a command and hands its answer to `show`.
local function ask(command, arguments, show)
  local client = M.client()
  if not client then
    say("no server for this buffer; see :checkhealth occlsp", vim.log.levels.WARN)
    return
  end
  local parameters = { command = command, arguments = arguments }
  client:request("workspace/executeCommand", parameters, function(problem, answer)
    if problem then
      say(problem.message, vim.log.levels.ERROR)
    else
      show(answer)
    end
  end, vim.api.nvim_get_current_buf())
end

--- The text of an answer: a string, or a table with `markdown` or `message`.
local function words(answer)
  if type(answer) == "string" then
    return answer
  end
  return type(answer) == "table" and (answer.markdown or answer.message) or "done"
end

local function float(answer)
  vim.lsp.util.open_floating_preview(
    vim.split(words(answer), "\n"),
    "markdown",
    { border = "rounded", focus_id = "occlsp", max_width = 100 }
  )
end

local function uri()
  return vim.uri_from_bufnr(0)
end

--- The commands, by what follows `:Occlsp`.
M.subcommands = {
  Arch = function(arguments)
    if #arguments > 0 then
      ask("occlsp.setArch", arguments, function(answer)
        say(words(answer))
      end)
      return
    end
    local client = M.client()
    local status = client and M.statuses[client.id] or {}
    vim.ui.select(status.known_architectures or {}, { prompt = "Architecture" }, function(choice)
      if choice then
        ask("occlsp.setArch", { choice }, function(answer)
          say(words(answer))
        end)
      end
    end)
  end,
  Compile = function()
    ask("occlsp.compile", { uri() }, function(answer)
      say(words(answer))
    end)
  end,
  Whatif = function(arguments)
    local kernel = arguments[1]
    if kernel then
      ask("occlsp.whatif", { uri(), kernel }, float)
      return
    end
    require("occlsp.explorer").ask(function(data)
      ask("occlsp.whatif", { uri(), data.kernel }, float)
    end)
  end,
  Explorer = function()
    require("occlsp.explorer").open()
  end,
  Report = function()
    ask("occlsp.showReport", { uri() }, float)
  end,
  ClearCache = function()
    ask("occlsp.clearCache", {}, function(answer)
      say(words(answer))
    end)
  end,
}

--- Defines the :Occlsp commands.
function M.commands()
  for name, run in pairs(M.subcommands) do
    vim.api.nvim_create_user_command("Occlsp" .. name, function(command)
      run(command.fargs)
    end, {
      nargs = (name == "Arch" or name == "Whatif") and "*" or 0,
      desc = "CUDA occupancy: " .. name:lower(),
      complete = name == "Arch" and function()
        local client = M.client()
        return client and (M.statuses[client.id] or {}).known_architectures or {}
      end or nil,
    })
  end
end

return M
