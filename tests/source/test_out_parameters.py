"""Functions that set the variables that they are given."""

from __future__ import annotations

from occlsp.source.facts import Launch
from occlsp.source.workspace import Workspace

KERNEL = "__global__ void k(int*) {}\n"
PICK = """
static const unsigned kMost = 256;
void pick(int n, dim3& b) { if (n > 100) b.x = 32; else b.x = 64; b.y = 2; }
void distribute(unsigned n, unsigned& blocks, unsigned& threads) {
  if (n > kMost) { blocks = (n + kMost - 1) / kMost; threads = kMost; }
  else { blocks = 1; threads = n; }
}
"""


def launch(body: str, before: str = PICK) -> Launch:
    """The last launch of a function with this body."""
    made = Workspace(reader=None)
    source = f"{KERNEL}{before}void f(int* p, unsigned n) {{ {body} }}\n"
    made.update("/main.cu", source.encode())
    return made.facts("/main.cu").launches[-1]


def test_any_of_what_its_branches_set() -> None:
    assert launch("dim3 b; pick(n, b); k<<<1, b>>>(p);").block.values == ((32, 2, 1), (64, 2, 1))
    assert launch("dim3 b; pick(7, b); k<<<1, b>>>(p);").block.values == ((64, 2, 1),)


def test_bounds_that_its_branches_leave() -> None:
    found = launch("unsigned x, y; distribute(n, x, y); k<<<x, y>>>(p);").block
    assert (found.values, found.max) == (None, (256, 1, 1))
    twice = "unsigned x, y; distribute(n, x, y); distribute(300, x, y); k<<<x, y>>>(p);"
    assert launch(twice).block.values == ((256, 1, 1),)


def test_a_variable_is_not_taken_for_a_constant_of_its_name() -> None:
    hidden = "const int t = 999;\n" + PICK
    values = launch("int t = 64; dim3 b; pick(t, b); k<<<1, b>>>(p);", hidden).block.values
    assert values is not None and (64, 2, 1) in values


def test_two_calls_do_not_follow_each_other() -> None:
    body = "unsigned x, y, z; distribute(n, x, y); distribute(n / 3, x, z);"
    found = launch(f"{body} if (z == 64) k<<<1, y>>>(p);").block
    assert found.values is None


def test_what_is_not_all_read_is_not_known() -> None:
    early = PICK.replace("b.y = 2;", "if (n == 5) return; b.y = 2;")
    assert launch("dim3 b; pick(n, b); k<<<1, b>>>(p);", early).block.values is None
    two = PICK + "void pick(long n, dim3& b) { b.x = 7; }\n"
    assert launch("dim3 b; pick(n, b); k<<<1, b>>>(p);", two).block.values is None
    same = "unsigned x; distribute(n, x, x); k<<<1, x>>>(p);"
    assert launch(same).block.max != (256, 1, 1)


def test_a_template_that_is_given_its_arguments() -> None:
    fill = "template <int N, class T = int> void fill(int n, dim3& b) { b = dim3(N, sizeof(T)); }\n"
    found = launch("dim3 b; fill<32>(n, b); k<<<1, b>>>(p);", fill.replace(" = int", ""))
    assert found.block.values is None
    assert launch("dim3 b; fill<32, double>(n, b); k<<<1, b>>>(p);", fill).block.values == (
        (32, 8, 1),
    )
