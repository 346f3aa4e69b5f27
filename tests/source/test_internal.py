"""Functions that nobody can call but who is in view."""

from __future__ import annotations

import pytest

from occlsp.source.facts import Launch
from occlsp.source.workspace import Workspace

KERNEL = "__global__ void k(int*) {}\n"
RUN = "void run(int n) { k<<<1, n>>>(nullptr); }"
CALLS = "void small() { Test t; t.run(64); }\nvoid large() { Test t; t.run(128); }\n"
BOTH = ((64, 1, 1), (128, 1, 1))


def launch(source: str, path: str = "/test.cu") -> Launch:
    made = Workspace(reader=None)
    made.update(path, f"{KERNEL}{source}".encode())
    return made.facts(path).launches[0]


@pytest.mark.parametrize(
    "declared",
    [
        f"struct Test {{ {RUN} }};\n",
        f"class Test final {{ public: {RUN} }};\n",
        f"class Test {{ public: void run(int n); }};\n{RUN.replace('run', 'Test::run', 1)}\n",
        f"namespace {{ struct Test {{ {RUN} }}; }}\n",
    ],
)
def test_members_of_a_class_that_a_unit_declares(declared: str) -> None:
    assert launch(declared + CALLS).block.values == BOTH


def test_a_static_function_of_a_namespace() -> None:
    inside = f"namespace own {{ static {RUN} void f() {{ run(64); run(128); }} }}"
    assert launch(inside).block.values == BOTH
    others = inside.replace("static ", "")
    assert launch(others).block.values is None


@pytest.mark.parametrize(
    "declared",
    [
        f"struct Test : Base {{ {RUN} }};\n",
        f"namespace {{ struct Test : Base {{ {RUN} }}; }}\n",
        f"template <class T> struct Of : Base {{ {RUN} }};\nusing Test = Of<int>;\n",
        RUN.replace("run", "Test::run") + "\n",
    ],
)
def test_others_may_call_what_they_see_of_a_class(declared: str) -> None:
    assert launch(declared + CALLS).block.values is None


def test_a_header_is_seen_by_others() -> None:
    declared = f"struct Test {{ {RUN} }};\n"
    assert launch(declared + CALLS, "/test.cuh").block.values is None
