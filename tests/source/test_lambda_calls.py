"""What calls give for the parameters of local lambdas that launch."""

from __future__ import annotations

import pytest

from occlsp.source.workspace import Workspace

KERNEL = "template <int N> __global__ void k(int* p) {}\n"
DISPATCH = """
template <class Launch> void dispatch(Launch&& launch, int threads) {
    switch (threads) {
        case 64: return launch(std::integral_constant<int, 64>{});
        case 128: return launch(std::integral_constant<int, 128>{});
        default: abort();
    }
}
"""
GENERIC = """
void run(int* p, int threads) {
    auto launch = [&](auto one) {
        constexpr int kThreads = one.value;
        k<kThreads><<<1, kThreads, one.value * 4>>>(p);
    };
    dispatch(launch, threads);
}
"""
PLAIN = """
void run(int* p, bool small) {
    auto launch = [&](int threads, unsigned blocks) { k<1><<<blocks, threads>>>(p); };
    if (small) launch(32, 8);
    else launch(64, 16);
    {};
}
"""


def workspace(source: str, **files: str) -> Workspace:
    """A workspace with `main.cu`; others are named by keyword (`run_cuh="…"` is run.cuh)."""
    made = Workspace("/", reader=None)
    for name, text in files.items():
        made.update("/" + name.replace("_", "."), text.encode())
    made.update("/main.cu", source.encode())
    return made


def blocks(made: Workspace) -> list[int] | None:
    values = made.facts("/main.cu").launches[0].block.values
    return None if values is None else [x for x, _, _ in values]


def test_of_a_template_that_it_is_handed_to() -> None:
    made = workspace(KERNEL + DISPATCH + GENERIC)
    assert blocks(made) == [64, 128]
    assert made.facts("/main.cu").launches[0].dynamic_smem.values == (256, 512)


def test_of_a_template_in_a_header() -> None:
    made = workspace('#include "d.cuh"\n' + KERNEL + GENERIC, d_cuh=DISPATCH)
    assert blocks(made) == [64, 128]
    made.update("/d.cuh", DISPATCH.replace("128", "256").encode())
    assert blocks(made) == [64, 256]


def test_calls_in_its_function() -> None:
    made = workspace(KERNEL + PLAIN.replace("{};", ""))
    assert blocks(made) == [32, 64]
    assert made.facts("/main.cu").launches[0].grid.values == ((8, 1, 1), (16, 1, 1))


def test_edits_are_seen() -> None:
    source = KERNEL + DISPATCH + GENERIC
    made = workspace(source)
    assert blocks(made) == [64, 128]
    made.update("/main.cu", source.replace("128", "96").encode())
    assert blocks(made) == [64, 96]
    made.update("/main.cu", source.replace("int, 128>{}", "int, 128>{}, 1").encode())
    assert blocks(made) is None
    made.update("/main.cu", source.replace("dispatch(launch, t", "other(launch, t").encode())
    assert blocks(made) is None
    made.update("/main.cu", source.encode())
    assert blocks(made) == [64, 128]
    plain = KERNEL + PLAIN.replace("{};", "")
    made.update("/main.cu", plain.encode())
    assert blocks(made) == [32, 64]
    made.update("/main.cu", plain.replace("launch(64", "launch(96").encode())
    assert blocks(made) == [32, 96]


@pytest.mark.parametrize(
    "other",
    [
        "launch(threads(), 1);",
        "keep(launch);",
        "auto again = launch;",
        "std::thread(launch, 64, 1).join();",
        "GO;",
    ],
)
def test_another_use_makes_it_unknown(other: str) -> None:
    define = "#define GO launch(512, 1)\n"
    assert blocks(workspace(define + KERNEL + PLAIN.replace("{};", other))) is None


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("default: abort();", "default: return keep(launch);"),
        ("default: abort();", "default: return launch(threads);"),
        ("default: abort();", "\n#ifdef LARGE\ncase 3: return launch(3);\n#endif\n"),
        ("case 128", "case 96: return launch(std::integral_constant<long, 96>{}); case 128"),
    ],
)
def test_what_the_template_does_with_it_is_not_known(part: str, other: str) -> None:
    template = DISPATCH.replace(part, other)
    assert blocks(workspace(KERNEL + template + GENERIC)) is None


def test_a_parameter_that_it_changes() -> None:
    source = KERNEL + PLAIN.replace("{};", "").replace("{ k<1>", "{ threads *= 2; k<1>")
    assert blocks(workspace(source)) == [64, 128]
