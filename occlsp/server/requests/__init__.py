"""One thin module a request: positions in, analysis, protocol types out."""
