"""CUDA occupancy in the editor: a language server and a command line."""

__version__ = "0.1.0"

HOME = "https://github.com/occlsp/occlsp"
"""The project's page; `#code` on it is what a finding means."""
