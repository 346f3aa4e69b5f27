--- The occupancy explorer as text in a floating window.

local M = {}

local WIDTH = 40
local BAR = "█"
local HALF = "▌"

local function request(client, parameters, show)
  client:request("occlsp/explorer", parameters, function(problem, data)
    if problem then
      vim.notify("occlsp: " .. problem.message, vim.log.levels.ERROR)
    elseif not data or data == vim.NIL then
      vim.notify("occlsp: no kernel at the cursor")
    else
      show(data)
    end
  end, vim.api.nvim_get_current_buf())
end

--- Asks for the kernel at the cursor and hands the answer to `show`.
---@param show fun(data: table, client: vim.lsp.Client, parameters: table)
function M.ask(show)
  local client = require("occlsp").client()
  if not client then
    vim.notify("occlsp: no server for this buffer", vim.log.levels.WARN)
    return
  end
  local parameters = vim.lsp.util.make_position_params(0, client.offset_encoding)
  request(client, parameters, function(data)
    show(data, client, parameters)
  end)
end

local function bar(share)
  local halves = math.floor(share * WIDTH * 2 + 0.5)
  local text = BAR:rep(math.floor(halves / 2)) .. (halves % 2 == 1 and HALF or "")
  return text .. (" "):rep(WIDTH - math.ceil(halves / 2))
end

local function percent(share)
  return ("%5.1f%%"):format(share * 100)
end

--- The lines of one architecture, and which block size each line stands for.
---@param arch table
---@param blocks table<integer, integer> filled: line number → block size
---@param lines string[] filled
local function chart(arch, blocks, lines)
  local point = arch.point
  local mark = arch.estimated and "est. " or (arch.stale and "~" or "")
  lines[#lines + 1] = ("%s  %s%s, %d blocks per SM, limited by %s"):format(
    arch.arch,
    mark,
    vim.trim(percent(point.occupancy)),
    point.blocks_per_sm,
    (point.limiter:gsub("_", " "))
  )
  lines[#lines + 1] = ""
  lines[#lines + 1] = "threads per block"
  for _, pair in ipairs(arch.block_curve) do
    local block, share = pair[1], pair[2]
    if block % 64 == 0 or block == point.block or block == 32 then
      local here = block == point.block and "◀" or ""
      lines[#lines + 1] = ("%6d %s %s %s"):format(block, bar(share), percent(share), here)
      blocks[#lines] = block
    end
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "limits (blocks per SM)"
  local binding = {}
  for _, name in ipairs(point.limiters) do
    binding[name] = true
  end
  for _, name in ipairs({ "warps", "blocks", "registers", "shared_memory", "barriers" }) do
    local limit = point.limits[name]
    if limit and limit ~= vim.NIL then
      local note = binding[name] and "  binds" or ""
      lines[#lines + 1] = ("  %-15s %4d%s"):format(name:gsub("_", " "), limit, note)
    end
  end
  for _, lever in ipairs(arch.levers) do
    lines[#lines + 1] = "  " .. lever
  end
  lines[#lines + 1] = "  " .. arch.source
end

--- The whole text of the window.
---@param data table
---@return string[] lines
---@return table<integer, integer> blocks line number → block size
function M.render(data)
  local lines, blocks = {}, {}
  local name = data.instance ~= vim.NIL and data.instance or data.kernel
  lines[1] = name
  if #data.architectures == 0 then
    lines[2] = data.why ~= vim.NIL and data.why or "no numbers yet"
  end
  for _, arch in ipairs(data.architectures) do
    lines[#lines + 1] = ""
    chart(arch, blocks, lines)
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "<CR> use this block size   q close"
  return lines, blocks
end

--- Uses a block size: the server is asked for the edit, since it may be one that gains nothing.
local function apply(client, parameters, block)
  local asked = vim.tbl_extend("force", parameters, { override = { block = block } })
  request(client, asked, function(data)
    for _, fix in ipairs(data.fixes) do
      if fix.block == block then
        if fix.disabled ~= vim.NIL and fix.disabled then
          vim.notify("occlsp: " .. fix.disabled)
        else
          vim.lsp.util.apply_workspace_edit(fix.edit, client.offset_encoding)
          vim.notify("occlsp: " .. fix.title)
        end
        return
      end
    end
    vim.notify(("occlsp: no edit is offered for %d threads"):format(block))
  end)
end

--- Opens the window for the kernel at the cursor.
function M.open()
  M.ask(function(data, client, parameters)
    local lines, blocks = M.render(data)
    local width = 0
    for _, line in ipairs(lines) do
      width = math.max(width, vim.fn.strdisplaywidth(line))
    end
    local buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    vim.bo[buffer].modifiable = false
    vim.bo[buffer].bufhidden = "wipe"
    vim.bo[buffer].filetype = "occlsp-explorer"
    local window = vim.api.nvim_open_win(buffer, true, {
      relative = "editor",
      style = "minimal",
      border = "rounded",
      title = " Occupancy ",
      width = math.min(width, vim.o.columns - 4),
      height = math.min(#lines, vim.o.lines - 4),
      row = 1,
      col = math.max(0, vim.o.columns - width - 4),
    })
    local function close()
      if vim.api.nvim_win_is_valid(window) then
        vim.api.nvim_win_close(window, true)
      end
    end
    for line, block in pairs(blocks) do
      if data.architectures[1] and block == data.architectures[1].point.block then
        vim.api.nvim_win_set_cursor(window, { line, 0 })
        break
      end
    end
    vim.keymap.set("n", "q", close, { buffer = buffer, nowait = true })
    vim.keymap.set("n", "<Esc>", close, { buffer = buffer, nowait = true })
    vim.keymap.set("n", "<CR>", function()
      local block = blocks[vim.api.nvim_win_get_cursor(window)[1]]
      close()
      if block then
        apply(client, parameters, block)
      end
    end, { buffer = buffer, nowait = true })
  end)
end

return M
