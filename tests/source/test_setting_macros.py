"""Macros that declare or set what a launch is made of."""

from __future__ import annotations

import pytest

from occlsp.source.workspace import Workspace

MACROS = """
#define CONFIGURE(blocks, threads, stream)                             \\
  cudaLaunchConfig_t cfg = {blocks, threads, 0, stream, NULL, 0};      \\
  cudaLaunchAttribute attribute[2];                                    \\
  attribute[0].id = cudaLaunchAttributeCooperative;                    \\
  cfg.attrs = attribute;                                               \\
  cfg.numAttrs = 1;
#define GRID_AND_BLOCK dim3 grid(8), block(16, 4)
#define DOUBLE() block.x = block.x * 2
#define NOTHING(x) check(x)
#if CUDART_VERSION >= 12000
#define ATTRIBUTE attribute[1].id = cudaLaunchAttributePriority;
#else
#define ATTRIBUTE
#endif
#define WITH_ATTRIBUTE(blocks, threads) \\
  cudaLaunchConfig_t cfg = {blocks, threads, 0, 0, NULL, 0};       \\
  cudaLaunchAttribute attribute[2] = {};                               \\
  ATTRIBUTE                                                            \\
  cfg.attrs = attribute;
#define LOOPED(n) do { int block = n; use(block); } while (0)
#define LAUNCH(N) if (n == N) { CHECK(cudaLaunchKernelExC(&cfg, (void *)k<N>, args)); }
template <int N> __global__ void k(int *p) { *p = N; }
"""


def blocks(*bodies: str) -> list[tuple[int, int, int] | None]:
    """The one block of each launch in the last of some bodies, each an edit of the one before."""
    workspace = Workspace("/", reader=None)
    for body in bodies:
        source = f"{MACROS}void f(int n, void **args, cudaStream_t s) {{\n{body}\n}}\n"
        workspace.update("/a.cu", source.encode())
    launches = [one for one in workspace.facts("/a.cu").launches if not one.in_macro]
    return [None if (v := one.block.values) is None else v[0] for one in launches]


@pytest.mark.parametrize(
    ("body", "is_"),
    [
        ("CONFIGURE(n, 256, s);\ncudaLaunchKernelExC(&cfg, (void *)k<1>, args);", (256, 1, 1)),
        ("int w = 3;\nCONFIGURE(n, w * 32, s);\nLAUNCH(4)", (96, 1, 1)),
        ("WITH_ATTRIBUTE(n, 64);\nLAUNCH(4)", (64, 1, 1)),
        ("GRID_AND_BLOCK;\nk<1><<<grid, block>>>(0);", (16, 4, 1)),
        ("GRID_AND_BLOCK;\nDOUBLE();\nk<1><<<grid, block>>>(0);", (32, 4, 1)),
        ("int block = 32;\nLOOPED(n);\nk<1><<<1, block>>>(0);", (32, 1, 1)),
        ("int block = 32;\nNOTHING(block);\nk<1><<<1, block>>>(0);", (32, 1, 1)),
    ],
)
def test_what_a_macro_declares_or_sets_is_known(body: str, is_: tuple[int, int, int]) -> None:
    assert blocks(body) == [is_]


def test_what_a_macro_may_set_otherwise_is_not_known() -> None:
    body = "int block = 32;\nSET(n);\nk<1><<<1, block>>>(0);"
    for macro in ("block = n", "if (n) { block = n; }", "block += n"):
        source = f"#define SET(n) {macro}\n{MACROS}void f(int n) {{\n{body}\n}}\n"
        workspace = Workspace("/", reader=None)
        workspace.update("/a.cu", source.encode())
        (launch,) = [one for one in workspace.facts("/a.cu").launches if not one.in_macro]
        assert launch.block.values is None, macro


def test_an_edit_of_a_use_is_an_edit_of_what_it_sets() -> None:
    body = "GRID_AND_BLOCK;\n\nk<1><<<grid, block>>>(0);"
    doubled = "GRID_AND_BLOCK;\nDOUBLE();\nk<1><<<grid, block>>>(0);"
    assert blocks(body, doubled) == [(32, 4, 1)]
    assert blocks(doubled, body) == [(16, 4, 1)]
    first = "CONFIGURE(n, 256, s);\nLAUNCH(4)"
    assert blocks(first, first.replace("256", "128")) == [(128, 1, 1)]
    assert blocks(first, first.replace("CONFIGURE(n, 256, s)", "WITH_ATTRIBUTE(n, 512)")) == [
        (512, 1, 1)
    ]
