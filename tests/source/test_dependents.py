"""Variables that follow from one that a `case` or an `==` makes known."""

from __future__ import annotations

import pytest

from occlsp.source.workspace import Workspace

SOURCE = """
#define GROW() warps *= 2
#define DOUBLE(x) x = 2 * x
#define FILL(x) fill(&x)
template <int L> __global__ void k(int *p) { *p = L; }
int ask(int n);
void take(int &n);
void show(int n) {}
void run(int n, int rows) {
  int e = ask(n);
  const int next = 1 << e;
  int warp = next < 32 ? next : 32;
  int warps = 128 / warp;
  dim3 threads(warp, warps);
  BEFORE
  switch (e) {
    case 3: k<3><<<rows, threads>>>(0); break;
    case 4:
    case 5: k<5><<<rows, threads>>>(0); break;
    default: k<0><<<rows, threads>>>(0); break;
  }
  if (e == 6) k<6><<<rows, threads>>>(0);
  k<7><<<rows, threads>>>(0);
}
"""

Blocks = list[set[tuple[int, int, int]] | None]
ALL: Blocks = [{(8, 16, 1)}, {(16, 8, 1), (32, 4, 1)}, None, {(32, 4, 1)}, None]
NONE: Blocks = [None] * 5


def blocks(before: str) -> Blocks:
    workspace = Workspace("/", reader=None)
    workspace.update("/a.cu", SOURCE.replace("BEFORE", before).encode())
    values = [one.block.values for one in workspace.facts("/a.cu").launches]
    return [None if value is None else set(value) for value in values]


@pytest.mark.parametrize("before", ["", "show(e);", "show(warps);", "rows = 2 * rows;"])
def test_what_follows_from_it_is_known(before: str) -> None:
    assert blocks(before) == ALL


@pytest.mark.parametrize(
    "before",
    [
        "e = e + 1;",  # no longer what the block was made of
        "take(e);",
        "int *p = &e; *p = 4;",
        "if (n > 9) warps = 4;",
        "for (int i = 0; i < n; ++i) warp = 2 * warp;",
        "GROW();",
        "DOUBLE(warps);",
        "FILL(e);",
        "threads = dim3(n);",
        "threads.x = n;",
        "{ int e = 3; int warp = e; }",  # which of the two is meant is not looked at
    ],
)
def test_what_is_set_again_does_not_follow(before: str) -> None:
    assert blocks(before) == NONE
