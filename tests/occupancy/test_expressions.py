"""The language of space files and sizes: names, functions, comparisons, and errors with a place."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

import pytest

from occlsp.occupancy import InvalidInput
from occlsp.occupancy.expressions import NoValue, parse_comparison, parse_expression

VALUES = {"elements": 1000, "block_x": 256, "items": 3}
NAMES = {name: itemgetter(name) for name in VALUES}


def value(text: str) -> int:
    return parse_expression(text, NAMES, "model.registers")(VALUES)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        *(("24 + 4*items", 36), ("ceil_div(elements, block_x*items)", 2)),
        *(("ceil_div(1024, 256)", 4), ("ceil_div(1025, 256)", 5), ("round_up(1, 128)", 128)),
        *(("round_up(256, 128)", 256), ("log2(1)", 0), ("log2(1024)", 10), ("log2(1023)", 9)),
        *(("min(items, block_x, 2)", 2), ("max(items)", 3), ("2*(block_x - 6) % 7", 3)),
    ],
)
def test_names_and_functions(text: str, result: int) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        *(("block_x*items <= 768", True), ("block_x*items < 768", False)),
        *(("items >= 3", True), ("items > 3", False), ("items == 3", True), ("items != 3", False)),
    ],
)
def test_comparisons(text: str, holds: bool) -> None:
    assert parse_comparison(text, NAMES, "constraints")(VALUES) is holds


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("24 + item", "character 6: 'item' is not known; known are elements, block_x, items, min, "
         "max, ceil_div, round_up, log2"),
        ("ceil_div(elements)", "character 1: ceil_div takes 2 values, not 1"),
        ("1 + log2(2, 3)", "character 5: log2 takes one value, not 2"),
        ("items = 3", "character 7: '=' is not understood"),
        ("items <= 3", "character 7: '<=' is not expected"),
        ("", "character 1: a number, `elements` or `(` is expected"),
    ],
)  # fmt: skip
def test_an_error_names_field_expression_and_place(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        value(text)
    assert str(caught.value) == f"model.registers: `{text}`, {problem}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("items", "character 6: a comparison like <= is expected"),
        ("items <= 3 <= 4", "character 12: '<=' is not expected"),
    ],
)
def test_a_constraint_is_one_comparison(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        parse_comparison(text, NAMES, "constraints")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        *(("1 / (items - 3)", "divides by zero"), ("1 % (items - 3)", "divides by zero")),
        *(("ceil_div(1, items - 3)", "divides by zero"), ("log2(0)", "takes the logarithm of 0")),
    ],
)
def test_what_has_no_value(text: str, problem: str) -> None:
    with pytest.raises(NoValue, match=problem):
        value(text)


def test_names_are_looked_up_in_whatever_holds_them() -> None:
    names: Mapping[str, itemgetter[tuple[int, ...]]] = {"a": itemgetter(0), "b": itemgetter(1)}
    assert parse_expression("a*b", names, "x")((6, 7)) == 42
