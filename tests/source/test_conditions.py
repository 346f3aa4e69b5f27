"""What a condition says of a variable, and of what was computed from it before."""

from __future__ import annotations

from occlsp.source.facts import Launch
from occlsp.source.workspace import Workspace


def launch(body: str, parameters: str = "int n, int m") -> Launch:
    workspace = Workspace(reader=None)
    source = f"__global__ void k() {{}}\nvoid f({parameters}) {{ {body} }}"
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

    def test_through_a_type_that_holds_less(self) -> None:
        body = "unsigned char c = n; int t = c; if (n == 300) k<<<1, t>>>();"
        assert blocks(body) == ((300 & 255, 1, 1),)
        assert blocks(body.replace("n == 300", "n <= 300")) is None

    def test_where_another_condition_bounded_it_before(self) -> None:
        body = "dim3 b(n); if (n < 32 && m) { m = 1; } switch (n) { case 64: k<<<1, b>>>(); }"
        assert blocks(body) == ((64, 1, 1),)

    def test_behind_the_condition_it_is_as_before(self) -> None:
        assert blocks("dim3 b(n); if (n == 64) { m = 1; } k<<<1, b>>>();") is None

    def test_parts_follow(self) -> None:
        assert blocks("dim3 b(n / 4); switch (n) { case 130: k<<<1, b>>>(); }") == ((32, 1, 1),)
        assert blocks("int t = n * 2; dim3 b(t / 3); if (n == 50) k<<<1, b>>>();") == ((33, 1, 1),)
        assert blocks("int t = n / 4 * 4; if (n == 130) k<<<1, t>>>();") == ((128, 1, 1),)


class TestBounds:
    ROUNDED = "k<<<1, (n / 2 + 31) / 32 * 32>>>();"

    def most(self, condition: str, body: str = ROUNDED, parameters: str = "int n") -> int | None:
        """The largest x of a block where a condition holds."""
        most = launch(f"if ({condition}) {body}", parameters).block.max
        return None if most is None else most[0]

    def test_of_an_expression_are_its_variable_s(self) -> None:
        assert self.most("n <= 2000") == 1024
        assert self.most("n / 2 <= 1000") == 1024
        assert self.most("n - 1 < 100") == 64
        assert self.most("n / 2 <= 1000 || n == 7") is None

    def test_what_is_unsigned_may_have_wrapped(self) -> None:
        assert self.most("n - 1 < 100", "k<<<1, n>>>();", "unsigned n") == 100
        assert self.most("n + 1 < 100", "k<<<1, n>>>();", "unsigned n") is None
        assert self.most("n * 2 < 100", "k<<<1, n>>>();", "unsigned n") is None

    def test_a_block_that_is_cut_to_what_there_is(self) -> None:
        cut = "dim3 b(256); if (n < b.x) b.x = n; k<<<1, b>>>();"
        assert self.most("true", cut) == 256
        assert self.most("true", cut.replace("n < b.x", "n > b.x")) is None

    def test_of_a_part_of_a_block(self) -> None:
        cut = "dim3 b(n); if (b.x > 512) b.x = 512; k<<<1, b>>>();"
        assert self.most("true", cut) == 512
        assert self.most("true", "dim3 b(n); if (b.x <= 128) k<<<1, b>>>();") == 128
        assert self.most("true", "dim3 b(n); if (b.y <= 128) k<<<1, b>>>();") is None
        chosen = "dim3 b(m ? 64 : 256, 2); if (b.x > 128) k<<<1, b>>>();"
        assert launch(chosen).block.values == ((256, 2, 1),)

    def test_behind_a_loop_its_condition_does_not_hold(self) -> None:
        for loop in (
            "while (n > 512) n /= 2;",
            "while (n > 512 || m) { n /= 2; }",
            "do { n /= 2; } while (n > 512);",
        ):
            assert self.most("true", f"{loop} k<<<1, n>>>();") == 512, loop
        for loop in (
            "while (n > 512) { n /= 2; if (m) break; }",  # or it does
            "while (n > 512 && m) n /= 2;",
            "#define STOP_IF(x) if (x) break\nwhile (n > 512) { n /= 2; STOP_IF(m); }",
        ):
            assert self.most("true", f"\n{loop} k<<<1, n>>>();") is None, loop

    def test_what_was_computed_before_is_bounded_with_it(self) -> None:
        assert self.most("n < 300", "k<<<1, t>>>();", "int n, int t") is None
        found = launch("int t = (n + 2) / 2; if (n < 300) k<<<1, t>>>();")
        assert found.block.max == (150, 1, 1)
