"""The occupancy model: pure integers in, frozen data out."""
