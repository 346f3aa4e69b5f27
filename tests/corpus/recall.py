"""Measures what the source analysis finds against the text itself.

    python tests/corpus/recall.py DIRECTORY...      # one repository each
    python tests/corpus/recall.py --misses DIRECTORY...

The other side of the comparison is a lexer of its own, below: it shares no code with
`occlsp.source`. It splits a file into tokens (comments, strings, `#if 0` left out; the body
of every `#define` by itself), takes each `__global__` token (and alias of it) and each
`<<<`, and matches brackets around them.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from occlsp.source.parse import alias_names, parse
from occlsp.source.syntax import RawKernel, RawLaunch

SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".hxx", ".hh", ".inl", ".cpp", ".cc", ".cxx", ".c")
SPLICE = r"(?:\\\r?\n)"
TOKEN = re.compile(
    r"(?P<comment>//(?:[^\n\\]|\\\r?\n|\\.)*|/\*.*?(?:\*/|\Z))"
    r'|(?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\(.*?\)(?P=delimiter)")'
    r'|(?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"?)'
    r"|(?P<number>\.?[0-9](?:'?[0-9A-Za-z_.]|(?<=[eEpP])[+-])*)"
    r"|(?P<character>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*'?)"
    r"|(?P<word>[A-Za-z_$\u0080-\uffff][0-9A-Za-z_$\u0080-\uffff]*)"
    r"|(?P<splice>\\\r?\n)"
    r"|(?P<newline>\n)"
    r"|(?P<sign><<<+|>>>+|->|::|##|&&|\|\||[<>=!+*/&|^%-]=|<<|\S)",
    re.S,
)
ATTRIBUTES = {
    *("__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__"),
    *("__attribute__", "__declspec", "__align__", "alignas", "noexcept", "decltype", "requires"),
}
OPEN = {"(": ")", "[": "]", "{": "}"}
NOT_CALLEES = {"return", "else", "do", "case", "throw", "co_return", "new"}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    offset: int
    path: tuple[tuple[int, int], ...] = ()
    """The `#if` groups and branches that it is in."""


@dataclass
class Lexed:
    code: list[Token] = field(default_factory=list)
    bodies: dict[str, list[list[Token]]] = field(default_factory=dict)


@dataclass
class Wanted:
    """What the text says: a kernel's name or a launch's callee and arguments, by offset."""

    kernels: dict[int, str] = field(default_factory=dict)
    launches: dict[int, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    in_macros: set[int] = field(default_factory=set)
    unread: list[int] = field(default_factory=list)
    """Tokens around which brackets do not match, or no name is found."""


def lex(text: str) -> Lexed:
    result = Lexed()
    path: list[tuple[int, int]] = []
    dead: list[bool] = []
    decided: list[bool] = []
    line: list[Token] | None = None
    at_start = True
    for match in TOKEN.finditer(text):
        kind = match.lastgroup or ""
        kind = "raw" if kind == "delimiter" else kind
        if kind in ("comment", "splice"):
            continue
        if kind == "newline":
            if line is not None:
                directive(line, result, path, dead, decided, text)
                line = None
            at_start = True
            continue
        token = Token(kind, match[0], match.start(), tuple(path))
        if line is not None:
            line.append(token)
        elif at_start and token.text == "#":
            line = [token]
        elif not any(dead):
            result.code.append(token)
        at_start = False
    if line is not None:
        directive(line, result, path, dead, decided, text)
    return result


def directive(
    line: list[Token],
    result: Lexed,
    path: list[tuple[int, int]],
    dead: list[bool],
    decided: list[bool],
    text: str,
) -> None:
    name = line[1].text if len(line) > 1 else ""
    condition = "".join(token.text for token in line[2:]).strip("()")
    false, true = condition in ("0", "false", "!1"), condition in ("1", "true", "!0")
    if name in ("if", "ifdef", "ifndef"):
        path.append((line[0].offset, 0))
        dead.append(name == "if" and false)
        decided.append(name == "if" and true)
    elif name.startswith("el") and path:
        group, branch = path[-1]
        path[-1] = (group, branch + 1)
        dead[-1] = decided[-1] or (name == "elif" and false)
        decided[-1] = decided[-1] or (name == "elif" and true)
    elif name == "endif" and path:
        path.pop()
        dead.pop()
        decided.pop()
    elif name == "define" and len(line) > 2 and not any(dead):
        body = line[3:]
        adjacent = line[2].offset + len(line[2].text)
        if body and body[0].text == "(" and body[0].offset == adjacent:
            closing = match_forward(body, 0)
            body = body[(len(body) if closing is None else closing + 1) :]
        result.bodies.setdefault(line[2].text, []).append(joined(body))


def joined(body: list[Token]) -> list[Token]:
    """`a ## b` as one word, named as in the text."""
    result: list[Token] = []
    for token in body:
        if token.text == "##" and result:
            result[-1] = Token("word", result[-1].text + "##", result[-1].offset, token.path)
        elif result and result[-1].text.endswith("##"):
            result[-1] = Token("word", result[-1].text + token.text, result[-1].offset, token.path)
        else:
            result.append(token)
    return result


def one_path(tokens: list[Token], at: Token) -> list[Token]:
    """The tokens of the branches that `at` is in, and of the first branch of other groups."""
    chosen = dict(at.path)
    return [
        token
        for token in tokens
        if all(chosen.setdefault(group, branch) == branch for group, branch in token.path)
    ]


def match_forward(tokens: list[Token], opening: int) -> int | None:
    stack = []
    for index in range(opening, len(tokens)):
        text = tokens[index].text
        if text in OPEN:
            stack.append(OPEN[text])
        elif text in (")", "]", "}"):
            if not stack or stack.pop() != text:
                return None
            if not stack:
                return index
    return None


def match_backward(tokens: list[Token], closing: int) -> int | None:
    closers = {close: open_ for open_, close in OPEN.items()}
    stack = []
    for index in range(closing, -1, -1):
        text = tokens[index].text
        if text in closers:
            stack.append(closers[text])
        elif text in OPEN:
            if not stack or stack.pop() != text:
                return None
            if not stack:
                return index
    return None


def angle_backward(tokens: list[Token], closing: int) -> int | None:
    depth = 0
    index = closing
    while index >= 0:
        text = tokens[index].text
        if text in (")", "]", "}"):
            opening = match_backward(tokens, index)
            if opening is None:
                return None
            index = opening
        elif re.fullmatch(">+", text):
            depth += len(text)
        elif text == "<" and index and tokens[index - 1].kind == "word":
            depth -= 1
            if depth == 0:
                return index
        elif text in ("{", ";", "("):
            return None
        index -= 1
    return None


def callee(tokens: list[Token], before: int) -> str:
    """The postfix expression whose last token is at `before`, without blanks."""
    index = before
    while index >= 0:
        token = tokens[index]
        if re.fullmatch(">+", token.text):
            opening = angle_backward(tokens, index)
            if opening is None:
                break
            index = opening - 1
            continue
        if token.text in (")", "]"):
            opening = match_backward(tokens, index)
            if opening is None:
                break
            previous = tokens[opening - 1] if opening else None
            index = opening
            is_call = previous is not None and (
                (
                    previous.kind == "word"
                    and previous.text not in {*NOT_CALLEES, "if", "while", "for"}
                )
                or previous.text in ("]", ">")
            )
            if token.text == ")" and not is_call:
                break
            index = opening - 1
            continue
        if token.kind != "word" or token.text in NOT_CALLEES:
            index += 1
            break
        if index and tokens[index - 1].text in ("::", ".", "->"):
            scoped = index > 1 and (
                (tokens[index - 2].kind == "word" and tokens[index - 2].text not in NOT_CALLEES)
                or tokens[index - 2].text in (">", ")", "]")
            )
            if scoped and not (tokens[index - 2].text == ")" and tokens[index - 1].text == "::"):
                index -= 2
                continue
            index -= 1 if tokens[index - 1].text == "::" else 0
        break
    return "".join(token.text for token in tokens[max(index, 0) : before + 1])


def arguments(tokens: list[Token]) -> tuple[str, ...]:
    """The texts between the commas that stand outside of brackets and templates."""
    if not tokens:
        return ()
    parts = [""]
    index = 0
    while index < len(tokens):
        text = tokens[index].text
        end = index
        if text in OPEN:
            end = match_forward(tokens, index) or index
        elif text == "<" and index and tokens[index - 1].kind == "word":
            end = template_end(tokens, index) or index
        if text == "," and end == index:
            parts.append("")
        else:
            parts[-1] += "".join(token.text for token in tokens[index : end + 1])
        index = end + 1
    return tuple(parts)


def template_end(tokens: list[Token], opening: int) -> int | None:
    depth = 0
    index = opening
    while index < len(tokens):
        text = tokens[index].text
        if text in OPEN:
            closing = match_forward(tokens, index)
            if closing is None:
                return None
            index = closing
        elif text == "<":
            depth += 1
        elif re.fullmatch(">+", text):
            depth -= len(text)
            if depth <= 0:
                following = tokens[index + 1].text if index + 1 < len(tokens) else ","
                return index if following in ("(", "::", ",", "{", ")", ">", "*", "&") else None
        elif text in ("&&", "||", ";", ")", "]", "}"):
            return None
        index += 1
    return None


def launch(tokens: list[Token], index: int) -> tuple[str, tuple[str, ...]] | None:
    """Callee and configuration of the launch whose `<<<` is at `index`."""
    at = tokens[index]
    low, high = max(0, index - 400), min(len(tokens), index + 3000)
    window = one_path(tokens[low:high], at)
    index = window.index(at)
    name = callee(window, index - 1)
    position = index + 1
    while position < len(window):
        text = window[position].text
        if text in OPEN:
            closing = match_forward(window, position)
            if closing is None:
                return None
            position = closing
        elif text.startswith(">>>"):
            inside = window[index + 1 : position]
            if len(text) > 3:
                inside.append(Token("sign", text[3:], window[position].offset))
            return (name, arguments(inside)) if name else None
        elif text in (";", ")", "]", "}"):
            return None
        position += 1
    return None


def kernel_name(tokens: list[Token], index: int, aliases: set[str]) -> tuple[str, int] | None:
    """The name in the declaration around the `__global__` at `index`, and its offset."""
    at = tokens[index]
    window = one_path(tokens[index : index + 2000], at)
    groups: list[tuple[int, int]] = []
    position = 1
    while position < len(window):
        text = window[position].text
        if text in (";", "{", ":", "=") and groups:
            break
        if text in (";", "{", "}"):
            return None
        if text == "template" or (text == "__global__" and groups):
            break
        if text == "<" and window[position - 1].kind == "word":
            position = template_end(window, position) or angle_forward(window, position)
        elif text == "(":
            closing = match_forward(window, position)
            if closing is None:
                return None
            if window[position - 1].text not in ATTRIBUTES | {"*"} | {"]"}:
                groups.append((position, closing))
            position = closing
        position += 1
    if not groups:
        return None
    return chosen_name(window, groups, aliases)


def chosen_name(
    window: list[Token], groups: list[tuple[int, int]], aliases: set[str]
) -> tuple[str, int] | None:
    first = groups[0]
    if window[0].text in aliases and first[0] == 1 and len(groups) > 1:
        if groups[1][0] == first[1] + 1:  # GLOBAL(name)(int* p)
            return "".join(t.text for t in window[2 : first[1]]), window[2].offset
        groups = groups[1:]
    for number, (opening, closing) in enumerate(groups):
        name = window[opening - 1]
        if name.text == ">":
            left = angle_backward(window, opening - 1)
            name = window[(left or 1) - 1]
        is_last = number + 1 == len(groups)
        if not is_last and groups[number + 1][0] == closing + 1:  # NAME(k, _v)(int* p)
            text = "".join(t.text for t in window[opening - 1 : closing + 1])
            return text, name.offset
        is_macro = re.fullmatch("_*[A-Z][A-Z0-9_]+", name.text) is not None
        if is_last or not is_macro:
            if not is_last and not is_macro:
                following = window[groups[number + 1][0] - 1].text
                if not re.fullmatch("_*[A-Z][A-Z0-9_]+", following):
                    continue
            return name.text, name.offset
    return None


def angle_forward(tokens: list[Token], opening: int) -> int:
    depth = 0
    for index in range(opening, len(tokens)):
        text = tokens[index].text
        depth += (text == "<") - (len(text) if re.fullmatch(">+", text) else 0)
        if depth <= 0:
            return index
    return opening


def wanted(lexed: Lexed, aliases: set[str]) -> Wanted:
    result = Wanted()
    scan(lexed.code, aliases, result)
    for name, bodies in lexed.bodies.items():
        for body in bodies:
            before = {*result.kernels, *result.launches}
            scan(body, set() if name in aliases else aliases, result, in_alias=name in aliases)
            result.in_macros |= {*result.kernels, *result.launches} - before
    return result


def scan(tokens: list[Token], aliases: set[str], result: Wanted, *, in_alias: bool = False) -> None:
    for index, token in enumerate(tokens):
        if token.text == "<<<" and index:
            found = launch(tokens, index)
            if found is not None:
                result.launches[token.offset] = found
            else:
                result.unread.append(token.offset)
        elif (token.text == "__global__" or token.text in aliases) and not in_alias:
            kernel = kernel_name(tokens, index, {*aliases, "__global__"} - {"__global__"})
            if kernel is not None:
                result.kernels[kernel[1]] = kernel[0]
            else:
                result.unread.append(token.offset)


def files(root: Path) -> Iterator[Path]:
    for directory, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(directory, name)
            if name.endswith(SUFFIXES) and not path.is_symlink():
                yield path


@dataclass
class Row:
    """The counts of one repository."""

    name: str
    files: int = 0
    kernels: int = 0
    kernels_found: int = 0
    kernels_invented: int = 0
    launches: int = 0
    launches_found: int = 0
    launches_invented: int = 0
    in_macros: int = 0
    in_macros_found: int = 0
    unread: int = 0
    """Tokens that the lexer of this file makes no kernel or launch of; not counted above."""
    notes: list[str] = field(default_factory=list)


def compact(text: str) -> str:
    return re.sub(r"\s+|\\\n", "", text)


def workspace_aliases(texts: dict[Path, bytes]) -> frozenset[str]:
    """The alias macros of all files of a repository, as its workspace would know them."""
    known: frozenset[str] = frozenset()
    for text in texts.values():
        if b"__global__" in text and b"define" in text:
            known |= alias_names(parse(text))
    return known


def measure(root: Path, name: str | None = None) -> Row:
    row = Row(name or root.name)
    texts = {}
    for path in files(root):
        text = path.read_bytes()
        if b"__global__" in text or b"<<<" in text:
            texts[path] = text
    aliases = workspace_aliases(texts)
    for path in files(root) if aliases else ():
        if path not in texts:
            text = path.read_bytes()
            if any(alias.encode() in text for alias in aliases):
                texts[path] = text
    for path, text in texts.items():
        compare(row, path.relative_to(root), text, aliases)
    return row


def compare(row: Row, path: Path, text: bytes, aliases: frozenset[str]) -> None:
    row.files += 1
    # Latin 1 keeps one character a byte, so that offsets are byte offsets.
    want = wanted(lex(text.decode("latin-1")), set(aliases))
    syntax = parse(text, aliases=aliases)
    got_kernels = {k.name_span.start: k for k in syntax.kernels if not is_macro_made(k)}
    for offset, name in want.kernels.items():
        row.kernels += 1
        kernel = got_kernels.pop(offset, None)
        found = kernel is not None and compact(kernel.name) == compact(name)
        row.kernels_found += found
        count_macro(row, offset in want.in_macros, kernel is not None and bool(kernel.in_macro))
        if not found:
            note(row, path, text, offset, f"kernel {name}", kernel and kernel.name)
    for offset, kernel in got_kernels.items():
        if is_other_branch(kernel, want):
            continue
        row.kernels_invented += 1
        note(row, path, text, offset, "no kernel", kernel.name)
    got_launches: dict[int, list[RawLaunch]] = {}
    for launch_ in syntax.launches:
        if launch_.api == "<<<>>>":
            got_launches.setdefault(launch_.span.start, []).append(launch_)
    for offset, expected in want.launches.items():
        row.launches += 1
        candidates = got_launches.pop(offset, [])
        forms = [
            (compact(c.callee.text), tuple(compact(e.text) for e in c.config)) for c in candidates
        ]
        found = (compact(expected[0]), tuple(map(compact, expected[1]))) in forms
        row.launches_found += found
        count_macro(row, offset in want.in_macros, any(c.in_macro for c in candidates))
        if not found:
            note(row, path, text, offset, f"launch {expected}", forms)
    for offset in want.unread:
        row.unread += 1
        note(row, path, text, offset, "nothing that we can read", got_launches.get(offset))
    for offset, candidates in got_launches.items():
        row.launches_invented += 1
        note(row, path, text, offset, "no launch", candidates[0].callee.text)


def is_macro_made(kernel: RawKernel) -> bool:
    return kernel.from_macro is not None and "(" not in kernel.name and kernel.body is None


def is_other_branch(kernel: RawKernel, want: Wanted) -> bool:
    """Whether it is a kernel that is wanted, its name written again in another `#if` branch."""
    return bool(kernel.conditions) and any(
        name == kernel.name and kernel.span.start <= offset < kernel.span.end
        for offset, name in want.kernels.items()
    )


def count_macro(row: Row, expected: bool, found: bool) -> None:
    row.in_macros += expected
    row.in_macros_found += expected and found


def note(row: Row, path: Path, text: bytes, offset: int, expected: str, got: object) -> None:
    line = text.count(b"\n", 0, offset) + 1
    row.notes.append(f"{row.name}/{path}:{line}: the text says {expected}, we say {got}")


def table(rows: list[Row]) -> str:
    total = Row("all")
    for row in rows:
        for name in ("files", "kernels", "kernels_found", "kernels_invented", "launches"):
            setattr(total, name, getattr(total, name) + getattr(row, name))
        for name in (
            "launches_found",
            "launches_invented",
            "in_macros",
            "in_macros_found",
            "unread",
        ):
            setattr(total, name, getattr(total, name) + getattr(row, name))
    lines = [
        "| repository | files | kernels | found | invented | launches | found | invented "
        "| in macros | found | unread |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines.extend(
        f"| {row.name} | {row.files} | {row.kernels} | {share(row.kernels_found, row.kernels)}"
        f" | {row.kernels_invented} | {row.launches}"
        f" | {share(row.launches_found, row.launches)} | {row.launches_invented}"
        f" | {row.in_macros} | {share(row.in_macros_found, row.in_macros)} | {row.unread} |"
        for row in [*rows, total]
    )
    return "\n".join(lines)


def share(part: int, whole: int) -> str:
    return "–" if not whole else f"{100 * part / whole:.2f} %"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("roots", nargs="+", type=Path)
    parser.add_argument("--misses", action="store_true", help="list every difference")
    options = parser.parse_args()
    rows = [measure(root) for root in options.roots]
    print(table(rows))
    if options.misses:
        for row in rows:
            print(*row.notes, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
