"""Sizes with units, and expressions in the block size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from occlsp.occupancy import BlockExpression, InvalidInput, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("0", 0), ("40960", 40960), ("40KiB", 40960), ("40 KB", 40960), ("40k", 40960)),
        *(("0xA000", 40960), ("1MiB", 1 << 20), (" 48kib ", 49152), ("16B", 16), ("010", 10)),
    ],
)
def test_parse_size(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "KiB", "-1", "1.5k", "4 x", "1e3", "٤", "1_000", "9" * 40])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^static_smem: .* is not a size like 40960 or 40KiB$"):
        parse_size(text, "static_smem")


def test_an_absurd_size() -> None:
    with pytest.raises(InvalidInput, match=r"^size: 4294967296 is absurd"):
        parse_size("4GiB")


@pytest.mark.parametrize(
    ("text", "at_256"),
    [
        ("4*block", 1024),
        ("(block/32)*128", 1024),
        ("block / 7 * 7", 252),
        ("block % 7 + 1", 5),
        ("2 + 3 * 4", 14),
        ("min(block, 64, 2) * 8", 16),
        ("max(block, 1KiB)", 1024),
        ("-block + 300", 44),
        ("16KiB + 2*blockDim.x*4", 18432),
        ("((block + 31) / 32) * 33 * 4", 1056),
        ("-7 / 2 + 3", 0),
        ("-7 % 2 + 1", 0),
    ],
)
def test_expressions(text: str, at_256: int) -> None:
    assert BlockExpression(text)(256) == at_256


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "character 1: a number, `block` or `(` is expected"),
        ("4*blok", "character 3: 'blok' is not known; known are block, min, max"),
        ("4*(block", "character 9: ')' is expected"),
        ("4 4", "character 3: '4' is not expected"),
        ("4 +", "character 4: a number, `block` or `(` is expected"),
        ("__import__('os').system('x')", "character 12: \"'\" is not understood"),
        ("block ** 2", "character 8: a number, `block` or `(` is expected"),
        ("block[0]", "character 6: '[' is not understood"),
        ("lambda: 0", "character 7: ':' is not understood"),
        ("min block", "character 5: '(' is expected"),
        ("(" * 100, "character 51: nested too deeply"),
        ("1" + "+1" * 300, "an expression of 601 characters is too long"),
        ("5GiB", "5368709120 is absurd"),
    ],
)  # fmt: skip
def test_an_expression_that_is_refused_names_the_place(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        BlockExpression(text)
    assert str(caught.value).startswith("dynamic_smem: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("4096 / (block - 256)", "`4096 / (block - 256)` divides by zero at block = 256"),
        ("block - 257", "`block - 257` is -1 bytes at block = 256"),
        ("block * 1GiB", f"`block * 1GiB` is {256 << 30} bytes at block = 256"),
    ],
)
def test_a_value_that_is_no_size(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        BlockExpression(text)(256)
    assert str(caught.value) == f"dynamic_smem: {problem}"


def test_a_long_product_stays_cheap() -> None:
    with pytest.raises(InvalidInput):
        BlockExpression("*".join(["block"] * 80))(1024)


@given(st.text(alphabet="block0123456789+-*/%() ,minaxKiB.\n'[", max_size=60))
def test_any_text_is_a_size_or_a_clear_error(text: str) -> None:
    try:
        size = BlockExpression(text)(256)
    except InvalidInput as error:
        assert str(error).startswith("dynamic_smem: ")
    else:
        assert 0 <= size < 2**31


@given(a=st.integers(0, 1000), b=st.integers(1, 1000), block=st.integers(1, 1024))
def test_arithmetic_is_that_of_c(a: int, b: int, block: int) -> None:
    assert BlockExpression(f"{a}*block/{b} + block%{b}")(block) == a * block // b + block % b
