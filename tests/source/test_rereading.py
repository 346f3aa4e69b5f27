"""What was hidden for a while is not read again, and a brace too many closes no namespace."""

from __future__ import annotations

import pytest

from occlsp.source import rereading
from occlsp.source.parse import Parsed, parse, reparse
from occlsp.source.workspace import Workspace

PATH = "/a.cu"
ONE = "__global__ void k%d(int* p) { p[0] = 1; }\nvoid f%d(int* p) { k%d<<<1, %d>>>(p); }\n"
KERNELS = "".join(ONE % (n, n, n, n) for n in range(1, 300))
FILE = f"namespace n {{\nint a; // here\n{KERNELS}}}\n"


def typed(start: str, keys: str) -> list[str]:
    """The texts as one key after the other is typed at `// here`."""
    return [FILE.replace("// here", start + keys[:end]) for end in range(len(keys) + 1)]


@pytest.mark.parametrize("keys", ["/* note */", "void g() { if (a) { } }", "/*", "{"])
def test_what_comes_back_is_not_read_again(monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    workspace = Workspace(reader=None)
    read: list[int] = []

    def counted(previous: Parsed | None, text: bytes, **more: frozenset[str]) -> Parsed:
        found = reparse(previous, text, **more)
        step = found.step
        start, end = (0, len(text)) if step is None else (step.start, step.end)
        read.append(len(found.mask[start:end].replace(b" ", b"")))
        return found

    monkeypatch.setattr(rereading, "reparse", counted)
    workspace.update(PATH, FILE.encode())
    read.clear()
    texts = [*typed("", keys), FILE]
    for text in texts:
        workspace.update(PATH, text.encode())
        syntax = workspace._files[PATH].syntax
        assert syntax == parse(text.encode())
        workspace.facts(PATH)
    assert sum(size > rereading.NEARBY for size in read) <= 1
    assert len(workspace.facts(PATH).kernels) == 299


def test_an_error_is_still_there_where_nobody_asked_in_between() -> None:
    workspace = Workspace(reader=None)
    texts = ["void f() {", "void f() { ", "void f() {"]
    workspace.update(PATH, texts[0].encode())
    errors = workspace.facts(PATH).errors
    for text in texts[1:]:
        workspace.update(PATH, text.encode())
    assert errors
    assert workspace.facts(PATH).errors == errors


@pytest.mark.parametrize(
    "rest",
    [
        "for (;;) { a = 1; }\n",
        "return;\n",
        "p->x = 1; if (p) p++;\n",
        "++a;\n",
        "else { a = 2; }\n",
    ],
)
def test_a_function_that_is_closed_too_early_closes_no_namespace(rest: str) -> None:
    text = f"namespace n {{\nvoid f(int* p) {{\n}}\n{rest}}}\n__global__ void k() {{}}\n}}\nint b;"
    (kernel,) = parse(text.encode()).kernels
    assert kernel.scope == ("n",)
    balanced = text.replace("{\n}\n" + rest, "{\n" + rest)
    assert [one.scope for one in parse(balanced.encode()).kernels] == [("n",)]


@pytest.mark.parametrize(
    "text",
    [
        "namespace n { void f() try { } catch (int e) { } }\n",
        "namespace n { struct { int a; } both[] = {{1}}; }\n",
        "namespace n { DEFINE_OP(add); int a = 1; }\n",
        "namespace n { int x[2] = {1, 2}; void f() { if (x[0]) { return; } } }\n",
    ],
)
def test_a_namespace_that_holds_declarations_alone_ends_with_its_brace(text: str) -> None:
    (kernel,) = parse(f"{text}__global__ void k() {{}}\n".encode()).kernels
    assert kernel.scope == ()


@pytest.mark.parametrize("typed", ["f(", "if (a", "g(1, (2)"])
def test_a_bracket_that_is_not_closed_takes_no_declaration_with_it(typed: str) -> None:
    text = f"void a() {{}}\n{typed}\ntemplate <int N> void b(int n) {{}}\nvoid c() {{}}\n"
    assert [one.name for one in parse(text.encode()).functions] == ["a", "b", "c"]
