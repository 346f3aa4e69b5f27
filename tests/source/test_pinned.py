"""What conditions say of expressions whose variables are not known."""

from __future__ import annotations

import pytest

from occlsp.source.facts import Launch
from occlsp.source.workspace import Workspace

KERNEL = "#define SIZE 64\n__global__ void k(int*) {}\nvoid go();\n"
READ = "const long c = t->ne[0]; long h = t->ne[1];"


def launch(body: str) -> Launch:
    """The last launch of a function with this body."""
    made = Workspace(reader=None)
    source = f"{KERNEL}void f(int* p, Tensor* t) {{ {READ} {body} }}\n"
    made.update("/main.cu", source.encode())
    return made.facts("/main.cu").launches[-1]


@pytest.mark.parametrize(
    "body",
    [
        "if (c / h == SIZE) k<<<1, c / h>>>(p);",
        "if (SIZE == (c / h) && p) k<<<1, c/h>>>(p);",
        "if (c / h != 64) return; k<<<1, c / h>>>(p);",
        "if (c / h == 32) { dim3 block(2 * (c / h)); k<<<1, block>>>(p); }",
        "switch (c / h) { case 64: k<<<1, c / h>>>(p); }",
        "if (c / h == 64) { while (t->more()) { go(); k<<<1, c / h>>>(p); } }",
        "if (c % h == 64) { if (p) go(); k<<<1, c % h>>>(p); }",
    ],
)
def test_an_expression_that_a_condition_is_about(body: str) -> None:
    assert launch(body).block.values == ((64, 1, 1),)


@pytest.mark.parametrize(
    "body",
    [
        "if (c / h == 64) go(); else k<<<1, c / h>>>(p);",
        "if (c / h == 64) go(); k<<<1, c / h>>>(p);",
        "if (c / h == 64 || p) k<<<1, c / h>>>(p);",
        "if (c / h == 64) { h = t->ne[2]; k<<<1, c / h>>>(p); }",
        "if (c / h == 64) { h /= 2; k<<<1, c / h>>>(p); }",
        "if (c / h == 64) { read(&h); k<<<1, c / h>>>(p); }",
        "if (c / h == 64) { while (t->more()) { k<<<1, c / h>>>(p); h = t->ne[2]; } }",
        "if (c / h == 64) { if (p) h = t->ne[2]; k<<<1, c / h>>>(p); }",
        "if (c / h == 64) { long h = t->ne[2]; k<<<1, c / h>>>(p); }",
        "if (c / t->ne[1] == 64) { t->next(); k<<<1, c / t->ne[1]>>>(p); }",
        "if (h / c == 64) k<<<1, c / h>>>(p);",
        "switch (c / h) { case 64: go(); break; default: k<<<1, c / h>>>(p); }",
    ],
)
def test_what_may_be_another_value(body: str) -> None:
    assert launch(body).block.values is None
