if vim.g.loaded_occlsp then
  return
end
vim.g.loaded_occlsp = true

require("occlsp").commands()
