"""What a condition says of a variable, and of what was computed from it before."""

from __future__ import annotations

from occlsp.source.facts import Launch
from occlsp.source.workspace import Workspace


def launch(body: str) -> Launch:
    workspace = Workspace(reader=None)
    source = f"__global__ void k() {{}}\nvoid f(int n, int m) {{ {body} }}"
    workspace.update("/a.cu", source.encode())
    return workspace.facts("/a.cu").launches[-1]


def blocks(body: str) -> tuple[tuple[int, int, int], ...] | None:
    return launch(body).block.values


class TestComputedBefore:
    def test_a_case_says_what_the_block_is(self) -> None:
        body = "dim3 b(n, 1, 1); switch (n) { case 64: k<<<1, b>>>(); break; }"
        assert blocks(body) == ((64, 1, 1),)

    def test_multiples_follow(self) -> None:
        found = launch(
            "dim3 b(2 * n, 4); int bytes = n * 8 + 16; if (n == 64) k<<<1, b, bytes>>>();"
        )
        assert found.block.values == ((128, 4, 1),)
        assert found.dynamic_smem.values == (528,)

    def test_of_several_values_the_ones_that_fit_are_left(self) -> None:
        body = "int s[] = {32, 64}; int t = s[m]; dim3 b(t); if (t == 32) k<<<1, b>>>();"
        assert blocks(body) == ((32, 1, 1),)

    def test_not_what_was_computed_from_another_value(self) -> None:
        assert blocks("dim3 b(n); n = m; if (n == 64) k<<<1, b>>>();") is None
        assert blocks("dim3 b(n); while (m) { n++; if (n == 64) k<<<1, b>>>(); }") is None

    def test_not_through_a_type_that_holds_less(self) -> None:
        assert blocks("unsigned char c = n; int t = c; if (n == 300) k<<<1, t>>>();") is None

    def test_where_another_condition_bounded_it_before(self) -> None:
        body = "dim3 b(n); if (n < 32 && m) { m = 1; } switch (n) { case 64: k<<<1, b>>>(); }"
        assert blocks(body) == ((64, 1, 1),)

    def test_behind_the_condition_it_is_as_before(self) -> None:
        assert blocks("dim3 b(n); if (n == 64) { m = 1; } k<<<1, b>>>();") is None
