"""`#if` around the `else` of an `if`, and launches in branches that are not compiled."""

from __future__ import annotations

import pytest

from occlsp.source.workspace import Workspace

Blocks = list[set[int] | None]


def blocks(body: str) -> Blocks:
    """The x of the blocks of each launch."""
    source = f"__global__ void k(int *p) {{}}\nvoid f(int n) {{\n{body}\n}}\n"
    workspace = Workspace("/", reader=None)
    workspace.update("/a.cu", source.encode())
    values = [one.block.values for one in workspace.facts("/a.cu").launches]
    return [None if value is None else {x for x, _, _ in value} for value in values]


CHAIN = """
  int b = 32;
  if (n == 1) { b = 64; k<<<1, b>>>(0); }
  else if (n == 2) { b = 128; }
#if CONDITION
  else if (n == 3) { b = 256; k<<<1, b>>>(0); }
  else { b = 512; }
ELSE#endif
  k<<<2, b>>>(0);
"""
OPEN = "__has_include(<odd.h>)"  # a machine's matter: either may be


@pytest.mark.parametrize(
    ("condition", "otherwise", "last"),
    [
        ("1", "", {64, 128, 256, 512}),
        ("0", "", {32, 64, 128}),
        ("0", "#else\n  else { b = 1024; }\n", {64, 128, 1024}),
        (OPEN, "", {32, 64, 128, 256, 512}),
        (OPEN, "#else\n  else { b = 1024; }\n", {64, 128, 256, 512, 1024}),
        (OPEN, "#else\n", {32, 64, 128, 256, 512}),
    ],
)
def test_the_else_that_is_compiled_is_the_one(
    condition: str, otherwise: str, last: set[int]
) -> None:
    body = CHAIN.replace("CONDITION", condition).replace("ELSE", otherwise)
    found = blocks(body)
    assert (found[0], found[-1]) == ({64}, last)


def test_what_is_not_compiled_is_read_as_if_it_were() -> None:
    body = CHAIN.replace("CONDITION", "0 > 1").replace("ELSE", "")
    assert blocks(body) == [{64}, {256}, {32, 64, 128}]


def test_each_branch_that_may_be_compiled_is_followed() -> None:
    body = CHAIN.replace("CONDITION", OPEN).replace("ELSE", "")
    assert blocks(body) == [{64}, {256}, {32, 64, 128, 256, 512}]


def test_an_else_may_be_of_the_if_that_is_compiled_or_of_the_one_before() -> None:
    body = CHAIN.replace("CONDITION", OPEN).replace("ELSE", "")
    body = body.replace("  else { b = 512; }\n", "").replace("#endif\n", "#endif\n  else b = 8;\n")
    assert blocks(body) == [{64}, {256}, {64, 128, 256, 8}]


def test_a_branch_may_close_the_block_before_it() -> None:
    body = f"""
  int b = 32;
  if (n == 1) {{ b = 64;
#if {OPEN}
  }} else if (n == 3) {{ b = 256;
    k<<<1, b>>>(0);
#endif
  }} else {{ b = 512; k<<<1, b>>>(0); }}
  k<<<2, b>>>(0);
"""
    assert blocks(body) == [{256}, {512}, {64, 256, 512}]


def test_an_else_whose_if_is_not_certain_leaves_all_unknown() -> None:
    body = CHAIN.replace("CONDITION", OPEN).replace("ELSE", "")
    body = body.replace("#endif\n", "#endif\n  else b = 8;\n")
    assert blocks(body) == [None, None, None]


@pytest.mark.parametrize(
    ("inside", "is_"),
    [
        ("k<<<n / b, b>>>(0);", {32}),  # what was known in front is
        ("int g = n / b; k<<<g, b>>>(0);", {32}),
        ("k<<<n, b>>>(0);\nuse(n && b, a * b, n == b);", {32}),
        ("int b = 64; k<<<1, b>>>(0);", {64}),
        ("int g, b; k<<<1, b>>>(0);", None),
        ("b *= 2; k<<<1, b>>>(0);", {64}),
        ("++b; k<<<1, b>>>(0);", {33}),
        ("int g = 1, b(64); k<<<1, b>>>(0);", {64}),
        ("set(&b); k<<<1, b>>>(0);", None),
    ],
)
def test_a_launch_that_is_not_compiled(inside: str, is_: set[int] | None) -> None:
    found = blocks(f"int b = 32;\n#if 0 > 1\n{inside}\n#endif\nk<<<1, b>>>(0);")
    assert found == [is_, {32}]


def test_each_branch_sees_its_own_values() -> None:
    body = """
#if A > 1
    int b = 64;
    k<<<1, b>>>(0);
#elif B > 1
    int b = 128;
  #ifdef C
    b = 2 * b;
    k<<<1, b>>>(0);
  #endif
    k<<<1, b>>>(0);
#else
    int b = 32;
    k<<<1, b>>>(0);
#endif
    k<<<1, b>>>(0);
"""
    assert blocks(body) == [{64}, {256}, {128}, {32}, {32}]


@pytest.mark.parametrize(
    ("declared", "is_"),
    [("cudaLaunchConfig_t c;", {96}), ("cudaLaunchConfig_t c; prepare(&c);", None)],
)
def test_a_configuration_that_only_some_paths_build(declared: str, is_: set[int] | None) -> None:
    body = "if (n) { c.gridDim = n; c.blockDim = 96; }\nif (n) cudaLaunchKernelEx(&c, k, nullptr);"
    assert blocks(f"{declared}\n{body}") == [is_]
