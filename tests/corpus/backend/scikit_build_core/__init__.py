"""Stands in for the package of this name: see `hooks`."""
