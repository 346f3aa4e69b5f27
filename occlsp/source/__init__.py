"""CUDA source text in, frozen facts with offsets out. Parsing never raises on input."""
