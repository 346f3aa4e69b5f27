-- For `vim.lsp.enable("occlsp")`, Neovim 0.11 and later.

---@type vim.lsp.Config
return {
  cmd = { "occlsp", "serve" },
  filetypes = { "cuda", "cpp", "c" },
  capabilities = { experimental = { occlspStatus = true } },
  root_markers = { "occlsp.toml", "compile_commands.json", ".git" },
}
