"""Fuzzes the source analysis: seeded, so that a failure can be seen again.

    python tests/fuzz/fuzz_parse.py                       # full size, on the cases of the tests
    python tests/fuzz/fuzz_parse.py --corpus DIRECTORY    # full size, on real files
    python tests/fuzz/fuzz_parse.py --edits 1 --files 0 --seed 4711

`edits`: a text is edited at random, as an editor does it, in all three position encodings;
after each edit the incremental parse must equal the full one. `files`: real files are mutated;
none may raise, take longer than a second, or give facts that are not in the text. `shapes`:
what breaks parsers: deep nesting, very long lines, brackets that nobody closes.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from occlsp.source.affected import changed_names
from occlsp.source.indexing import index_file
from occlsp.source.parse import Parsed, parse, reparse
from occlsp.source.stepping import Since
from occlsp.source.syntax import FileSyntax
from occlsp.source.text import LineIndex, PositionEncoding
from occlsp.source.view import FileIndex

PATH = "/a.cu"
CASES = Path(__file__).parent.parent / "source" / "cases"
SUFFIXES = {".cu", ".cuh"}
LIMIT_S = 1.0
PIECES = [
    *("{", "}", "(", ")", "<", ">", "[", "]", ";", ",", "<<<", ">>>", "::", "->", "=", "#", "\\"),
    *(
        "/*",
        "*/",
        "//",
        '"',
        "'",
        'R"x(',
        ')x"',
        "\n",
        "\r\n",
        "\r",
        "\f",
        "\x85",
        "\u2028",
        "\\\n",
    ),
    *("#if 0\n", "\n#if A\n", "\n#elif B\n", "\n#else\n", "\n#endif\n", "#ifndef G\n#define G\n"),
    *("#define K __global__\n", "#define N 4\n", "\n#define L(k) k<<<1, \\\n2>>>()\n", "K ", "\t"),
    *("__global__ ", "template <int N> ", "void ", "k", "namespace n {", "struct S {", "enum {"),
    *("__launch_bounds__(256) ", "static constexpr int T = 3;", "using T = int;", 'extern "C" {'),
    *("__global__ void k(int* p) { }\n", "void f() { k<<<1, 2>>>(p); }\n", "return ", "é", "😀"),
    *("\udc80", "__shared__ float s[4];", "cudaLaunchKernel(k, 1, 2, a, 0, s);", "operator<", "0"),
]


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class Fault(AssertionError):
    """Something that must not be, with what shows it."""

    def __init__(self, message: str, text: bytes) -> None:
        super().__init__(message)
        self.text = text


def seeds(corpus: Path | None) -> list[bytes]:
    roots = [CASES] if corpus is None else [corpus]
    paths = sorted(path for root in roots for path in root.rglob("*") if path.suffix in SUFFIXES)
    return [text for text in (path.read_bytes() for path in paths if path.is_file()) if text]


def edit(text: bytes, random_: random.Random, encoding: PositionEncoding) -> bytes:
    """One change, its range found by positions as a client would send them."""
    index = LineIndex(text)
    start = random_.randrange(len(text) + 1)
    length = random_.choice((0, 0, 0, 1, 1, 2, 5, 20, 200))
    places = sorted((start, min(start + length, len(text))))
    places = [place - (text[place - 1 : place + 1] == b"\r\n") for place in places]
    positions = [index.position(place, encoding) for place in places]
    left, right = (index.offset(line, character, encoding) for line, character in positions)
    if encoding == "utf-8" and [left, right] != places:
        raise Fault(f"offsets {places} came back as {left, right}", text)
    new = "".join(random_.choice(PIECES) for _ in range(random_.choice((0, 1, 1, 2, 4))))
    return text[: min(left, right)] + encode(new) + text[max(left, right) :]


def check_edits(texts: list[bytes], seed: int, edits: int = 6) -> None:
    """One stream of edits."""
    random_ = random.Random(f"edits {seed}")
    encoding = get_args(PositionEncoding)[seed % 3]
    text = excerpt(random_.choice(texts), random_)
    parsed = reparse(None, text)
    index = index_file(PATH, parsed.syntax)
    for number in range(edits):
        text = edit(text, random_, encoding)
        previous, parsed = parsed, reparse(parsed, text)
        if parsed.syntax != (full := parse(text)):
            raise Fault(f"stream {seed}, edit {number}: {differences(parsed.syntax, full)}", text)
        if parsed is not previous:
            before, index = index, check_index(index, previous, parsed, full)
            if changed_names(before, index) != changed_names(before, index_file(PATH, full)):
                raise Fault(f"stream {seed}, edit {number}: other names changed", text)


def check_index(index: FileIndex, previous: Parsed, parsed: Parsed, full: FileSyntax) -> FileIndex:
    """The index after an edit, which is that of a full parse."""
    since = Since(index, previous.syntax, parsed.step) if parsed.step is not None else None
    stepped = index_file(PATH, parsed.syntax, since)
    if stepped != index_file(PATH, full):
        raise Fault("the index after an edit is another than that of a full parse", full.text)
    return stepped


def excerpt(text: bytes, random_: random.Random, most: int = 4000) -> bytes:
    start = random_.randrange(max(len(text) - most, 0) + 1)
    return text[start : start + most]


def differences(left: FileSyntax, right: FileSyntax) -> str:
    names = [
        name for name in left.__slots__ if getattr(left, name, None) != getattr(right, name, None)
    ]
    return f"{', '.join(names)} of the incremental parse differ"


def mutate(text: bytes, random_: random.Random) -> bytes:
    for _ in range(random_.randint(1, 6)):
        a, b = sorted(random_.randrange(len(text) + 1) for _ in range(2))
        kind = random_.randrange(6)
        if kind == 0:
            b = min(b, a + random_.choice((1, 3, 30, 300)))
            text = text[:a] + text[b:]
        elif kind == 1:
            text = text[:a] + encode(random_.choice(PIECES)) + text[a:]
        elif kind == 2:
            piece = text[a : min(b, a + 300)]
            text = text[:b] + piece * random_.choice((1, 2, 20)) + text[b:]
        elif kind == 3:
            text = text[:a] + bytes([random_.randrange(256)]) + text[a + 1 :]
        elif kind == 4:
            text = text[:a] if random_.random() < 0.3 else text[: a + 1] + text[a:]
        else:
            text = text.replace(*random_.choice(((b"\n", b"\r\n"), (b"}", b""), (b")", b" "))), 3)
    return text


def check_file(text: bytes, name: str) -> float:
    """Parses within the limit, and what is found is in the text; the processor's seconds that
    it took."""
    before = time.process_time()
    syntax = parse(text)
    took = time.process_time() - before
    if took > LIMIT_S:
        raise Fault(f"{name}: {took:.2f} s for {len(text)} bytes", text)
    for problem in problems(syntax):
        raise Fault(f"{name}: {problem}", text)
    return took


def problems(syntax: FileSyntax) -> Iterator[str]:
    """What facts say that the text does not."""
    text = syntax.text
    if not len(text) == len(syntax.masked) == len(syntax.code):
        yield "the blanked texts have another length"
    for kernel in syntax.kernels:
        written = text[kernel.name_span.start : kernel.name_span.end].decode("utf-8", "replace")
        if kernel.from_macro is None and "".join(written.split()) != "".join(kernel.name.split()):
            yield f"kernel {kernel.name!r} is not at its place: {written!r}"
        if not kernel.span.start <= kernel.name_span.start <= kernel.span.end <= len(text):
            yield f"kernel {kernel.name!r} is outside of its span"
        if kernel.body is not None and text[kernel.body.start] != 0x7B:
            yield f"the body of {kernel.name!r} does not begin with a brace"
    for launch in syntax.launches:
        token = text[launch.span.start : launch.span.end]
        if token != (b"<<<" if launch.api == "<<<>>>" else launch.api.encode()):
            yield f"a launch of {launch.callee_name!r} is not at its token"
        if launch.function is not None:
            function = syntax.functions[launch.function].span
            if not function.start <= launch.span.start < function.end:
                yield f"a launch of {launch.callee_name!r} is not in its function"
    for index, constant in enumerate(syntax.constants):
        if constant.previous is not None and constant.previous != index - 1:
            yield f"enumerator {constant.name!r} follows none"


def shapes() -> Iterator[tuple[str, bytes]]:
    """Texts that make parsers slow."""
    many = 100_000
    openers = (
        b"(",
        b"{",
        b"[",
        b"<",
        b"f(",
        b"a<",
        b"template <",
        b"#if 1\n",
        b"k<<<",
        b"/*",
        b'"',
    )
    for opener in openers:
        yield f"{opener!r} 100,000 times", opener * many
        yield f"{opener!r} in a body", b"void f() { " + opener * many
        yield f"{opener!r} in a launch", b"void f() { k<<<" + opener * many + b">>>(); }"
        yield f"{opener!r} in a kernel head", b"__global__ void k(" + opener * many
    for word in (
        *(
            b"__global__ ",
            b"k<<<1, 2>>>(p); ",
            b"__global__ void k(",
            b"__shared__ ",
            b"using a = b;",
        ),
        *(
            b'R"x(',
            b'R"(a)" ',
            b"1'",
            b"\\\n",
            b"#",
            b"\n#",
            b"\n#else",
            b"x{} ",
            b"f({}, ",
            b"::a",
        ),
        *(
            b"cudaLaunchKernel(",
            b"cudaFuncSetAttribute(k, ",
            b"const int a = 1, ",
            b"enum { A, ",
            b">",
        ),
    ):
        yield f"{word!r} 20,000 times", word * 20_000
        yield f"{word!r} 20,000 times in a body", b"void f() { " + word * 20_000
    yield "a line of 10 MB, one word", b"a" * 10_000_000
    yield "a line of 10 MB, blanks", b" " * 10_000_000
    yield "a line of 10 MB, a string", b'const char* s = "' + b"a" * 10_000_000 + b'";'
    yield "a line of 10 MB, an array", b"const int a[] = {" + b"0x12, " * 1_666_666 + b"};"
    yield "a line of 10 MB, statements", b"void f() { " + b"a = b + c(d); " * 714_285 + b"}"
    yield "a line of 10 MB, #", b"# " * 5_000_000
    yield "a comment of 100 KB in a macro", b"#define L(k) /*" + b"a" * many + b"*/ k<<<1, 2>>>()"
    yield "nested #if, 20,000 deep", b"\n#if A\n" * 20_000
    yield (
        "a kernel head with 2,000 branches",
        (
            b"__global__ void k("
            + b"\n#if A\nint a,\n#else\nint b,\n#endif\n" * 2_000
            + b"int c) {}"
        ),
    )
    yield (
        "a launch with 2,000 branches",
        (b"void f() { k<<<1, 2" + b"\n#if A\n, 1\n#else\n, 2\n#endif\n" * 2_000 + b">>>(); }"),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edits", type=int, default=10_000, help="streams of edits")
    parser.add_argument("--files", type=int, default=20_000, help="mutated files")
    parser.add_argument("--no-shapes", action="store_true")
    parser.add_argument("--seed", type=int, default=0, help="where the numbering starts")
    parser.add_argument("--corpus", type=Path, help="real files instead of the tests' cases")
    options = parser.parse_args()
    texts = seeds(options.corpus)
    try:
        for number in range(options.seed, options.seed + options.edits):
            check_edits(texts, number)
        print(f"{options.edits} streams of edits: the incremental parse equals the full one")
        worst = 0.0
        for number in range(options.seed, options.seed + options.files):
            random_ = random.Random(f"files {number}")
            text = mutate(random_.choice(texts), random_)
            worst = max(worst, check_file(text, f"file {number}"))
        print(f"{options.files} mutated files: none raised; the slowest took {worst:.3f} s")
        for name, text in () if options.no_shapes else shapes():
            took = check_file(text, name)
            if took > LIMIT_S / 4:
                print(f"  {took:.2f} s  {name}")
        print("shapes: none took longer than a second")
    except Fault as fault:
        shown = Path(tempfile.gettempdir(), "occlsp-fault.cu")
        shown.write_bytes(fault.text)
        print(f"fault: {fault}; the text is in {shown}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
