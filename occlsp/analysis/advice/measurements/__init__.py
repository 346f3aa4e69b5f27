"""Measured runs of kernels, read from what profilers and benchmarks write: one module a format."""
