"""CUDA occupancy in the editor: a language server and a command line."""

__version__ = "0.1.0"
