"""Python 3.10 has no `demangle`: libstdc++ reads the names there, and they come out the same."""

from __future__ import annotations

import sys

import pytest

from occlsp.reports import names

MANGLED = [
    "_Z4tilePf",
    "_ZN2wx4ringILi512EdEEvPT0_PKS1_i",
    "_Z5scaleIfLi4EEvPKT_PS0_S0_i",
    "_ZN12_GLOBAL__N_14anonEPi",
    "plainc",
]


@pytest.mark.parametrize("mangled", MANGLED)
def test_the_same_name_and_parts(mangled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> tuple[str, names.ParsedName]:
        names.demangle.cache_clear()
        names.parse_name.cache_clear()
        return names.demangle(mangled), names.parse_name(mangled)

    usual = read()
    monkeypatch.setitem(sys.modules, "demangle", None)
    assert read() == usual
    names.demangle.cache_clear()
    names.parse_name.cache_clear()
