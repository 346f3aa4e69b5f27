"""Findings as text for people, and for the services that read them."""
