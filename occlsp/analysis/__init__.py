"""Joins occupancy, source and reports into findings, hints, hovers and fixes, as plain data."""
