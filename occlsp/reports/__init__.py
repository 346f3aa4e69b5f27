"""Compiled code and compiler output to facts: what each entry costs, and where it was read."""
