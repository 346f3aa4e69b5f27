"""Launches that come into being where a macro is used: the expanded text is read like any other."""

from __future__ import annotations

from occlsp.source.resolve import FunctionFacts, Origin


def expanded_facts(origin: Origin) -> FunctionFacts:
    """The launches and attribute calls that macros of the file's view expand to in it."""
    return FunctionFacts()
