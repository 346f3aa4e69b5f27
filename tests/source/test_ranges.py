"""Sizes that a loop runs over: `for (int size : sizes)`."""

from __future__ import annotations

import pytest

from occlsp.source.workspace import Workspace

HEAD = """
__global__ void k(int *p) {}
static void launch(int n, int size) { k<<<n, size>>>(0); }
"""


def blocks(body: str) -> list[set[int] | None]:
    """The x of the blocks of the launches, that of `launch` first."""
    workspace = Workspace("/", reader=None)
    workspace.update("/a.cu", f"{HEAD}void run(int n) {{\n{body}\n}}\n".encode())
    values = [one.block.values for one in workspace.facts("/a.cu").launches]
    return [None if value is None else {x for x, _, _ in value} for value in values]


@pytest.mark.parametrize(
    ("loop", "is_"),
    [
        ("int sizes[] = {64, 128}; for (int b : sizes)", {64, 128}),
        ("int sizes[] = {64, 128}; for (const auto &b : sizes)", {64, 128}),
        ("for (int b : {32, 96})", {32, 96}),
        ("int sizes[] = {64, n}; for (int b : sizes)", None),
        ("int sizes[] = {64, 128}; for (int &b : sizes) b = n; for (int b : sizes)", None),
        ("int sizes[] = {64, 128}; fill(sizes); sizes[1] = n; for (int b : sizes)", None),
        ("for (int b : others)", None),
    ],
)
def test_any_of_the_elements(loop: str, is_: set[int] | None) -> None:
    assert blocks(f"{loop} {{ k<<<n, b>>>(0); }}") == [None, is_]
    assert blocks(f"{loop} {{ launch(n, b); }}") == [is_]
    assert blocks(f"{loop} {{ b = 2 * b + n; k<<<n, b>>>(0); }}") == [None, None]
