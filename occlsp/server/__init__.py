"""The language server: the only package that knows the protocol."""
