"""Stands in for the back end of this name: see `hooks`."""

from __future__ import annotations

from hooks import get_requires_for_build_wheel, prepare_metadata_for_build_wheel

__all__ = ["get_requires_for_build_wheel", "prepare_metadata_for_build_wheel"]
