"""Variables that are set where they are declared, and that nothing changes: good as constants.

dim3 blockSize(16, 16);
void draw() { run(blockSize); }

Only where nobody else can change them: they are internal to a unit, or it holds a program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from weakref import ref

from occlsp.source.effects import changes
from occlsp.source.fragment import words
from occlsp.source.kept import Kept
from occlsp.source.known_calls import may_change
from occlsp.source.lexer import tokenize
from occlsp.source.prototypes import Prototypes, named_outside, prototypes
from occlsp.source.syntax import Constant, Expr, FileSyntax
from occlsp.source.text import Span
from occlsp.source.view import View

_DECLARED = re.compile(
    rb"^[ \t]*(?:static\s+)?((?:unsigned\s+)?(?:int|long|short)|unsigned|uint|size_t|dim3)\s+"
    rb"(\w+)\s*(?:=\s*([^;{}]+?)|\(([^;{}]*)\)|\{([^;{}]*)\})\s*;",
    re.M,
)
_BOUND = re.compile(rb"[;{}]")
_BRACE = re.compile(rb"[{}]")
_NAMESPACE = re.compile(rb"\b(?:namespace(?:\s+[\w:]+)?|extern)\s*\Z")
_LONGEST = 4000
"""Bytes of a statement that is looked at."""
_MOST = 1 << 20
"""Bytes of pieces whose declarations are remembered: an edit leaves most of them alone."""

Declarations = tuple[tuple[str, int], ...]
_known: Kept[bytes, Declarations] = Kept(_MOST)
Said = tuple[object, ...] | None
"""What a declaration says, without where it stands; None where there is none that counts."""


class Variables:
    """The variables of one unit that nothing changes, and which were asked for."""

    def __init__(
        self,
        view: View,
        syntax: Callable[[], FileSyntax | None],
        is_shared: Callable[[str], bool],
        is_program: bool,
    ) -> None:
        """`is_program`: the unit is part of one, all of which is in view."""
        self._view = ref(view)  # it holds this: a cycle would keep it until garbage is looked for
        self._syntax = syntax
        self._is_shared = is_shared
        self._is_program = is_program
        self._declared: dict[str, re.Match[bytes]] | None = None
        self._found: dict[str, Constant | None] = {}
        self._prototypes: dict[str, Prototypes] = {}
        self._named: frozenset[bytes] | None = None

    @property
    def answers(self) -> dict[str, Said]:
        """What was answered."""
        found: dict[str, Said] = {name: _said(found) for name, found in self._found.items()}
        return found | {f"{name}()": found for name, found in self._prototypes.items()}

    def says(self, name: str) -> Said:
        """What the declaration of a variable says now, or with `()` those of a function."""
        return self.prototypes(name[:-2]) if name.endswith("()") else _said(self(name))

    def prototypes(self, name: str) -> Prototypes:
        """The declarations of a function that the unit does not define."""
        if name not in self._prototypes:
            syntax = self._syntax()
            if self._named is None and syntax is not None:
                self._named = named_outside(syntax)
            is_named = syntax is not None and name.encode() in (self._named or ())
            self._prototypes[name] = prototypes(syntax, name) if syntax and is_named else ()
        return self._prototypes[name]

    def __call__(self, name: str) -> Constant | None:
        """The variable of this name, if nothing changes it."""
        if name not in self._found:
            syntax = self._syntax()
            declared = self._declarations(syntax).get(name) if syntax is not None else None
            self._found[name] = None
            view = self._view()
            if view and syntax and declared and self._is_own(syntax, declared):
                self._found[name] = _constant(syntax, view, declared)
        return self._found[name]

    def _declarations(self, syntax: FileSyntax) -> dict[str, re.Match[bytes]]:
        """The declarations by name, of members of classes too."""
        if self._declared is None:
            self._declared = {}
            code = syntax.code
            for start, end in _between_functions(syntax):
                for name, place in _declared_in(code[start:end]):
                    match = _DECLARED.match(code, start + place)
                    if match is not None:
                        self._declared.setdefault(name, match)
        return self._declared

    def _is_own(self, syntax: FileSyntax, declared: re.Match[bytes]) -> bool:
        """Whether no other file can change a variable."""
        if b"static" in declared[0]:
            return True
        is_program = self._is_program or any(one.name == "main" for one in syntax.functions)
        return is_program and not self._is_shared(declared[2].decode())


def _between_functions(syntax: FileSyntax) -> Iterator[tuple[int, int]]:
    """The pieces of a file that are in no function: little of most files."""
    last = 0
    for function in syntax.functions:
        if function.span.start > last:
            yield last, function.span.start
        last = max(last, function.span.end)
    yield last, len(syntax.code)


def _declared_in(piece: bytes) -> Declarations:
    """The variables that a piece of a file declares, and where in it."""
    found = _known.get(piece)
    if found is None:
        matches = _DECLARED.finditer(piece)
        found = tuple([(match[2].decode(), match.start()) for match in matches])
        _known.put(piece, found, len(piece))
    return found


def _said(found: Constant | None) -> Said:
    if found is None or found.value is None:
        return None
    return found.type, found.value.text, *(condition.text for condition in found.conditions)


def _constant(syntax: FileSyntax, view: View, match: re.Match[bytes]) -> Constant | None:
    """The variable that is declared there; None where it is a member of a class, or changes."""
    name = match[2].decode()
    if not _is_in_namespace(syntax.code, match.start()):
        return None
    if _changes(syntax, view, name, match.start(2)):
        return None
    value = next(Span(*match.span(i)) for i in (3, 4, 5) if match[i] is not None)
    return Constant(
        name,
        (),
        " ".join(match[1].decode().split()),
        Expr(syntax.code[slice(*value)].decode("latin-1"), value),
        is_constexpr=False,
        conditions=syntax.conditions_at(match.start()),
    )


def _is_in_namespace(code: bytes, offset: int) -> bool:
    """Whether no braces are open at an offset but those of namespaces."""
    opened: list[int] = []
    for brace in _BRACE.finditer(code, 0, offset):
        if brace.group() == b"{":
            opened.append(brace.start())
        elif opened:
            opened.pop()
    return all(_NAMESPACE.search(code, max(0, at - 200), at) for at in opened)


def _changes(syntax: FileSyntax, view: View, name: str, declared: int) -> bool:
    """Whether any statement of the file may change a variable, but for its declaration."""
    code = syntax.code
    if any(name in define.body.text for define in syntax.defines):
        return True
    for start in words(code, name.encode()):
        floor = max(0, start - _LONGEST)
        bounds = list(_BOUND.finditer(code, floor, start))
        end = _BOUND.search(code, start, start + _LONGEST)
        if end is None or (not bounds and floor > 0):
            return True
        statement = code[bounds[-1].end() if bounds else 0 : end.start()].decode("latin-1")
        if syntax.function_at(start) is None and start == declared:
            continue
        if re.search(rf"&\s*\w+\s*[=({{]\s*{name}\b", statement):
            return True  # it has another name
        for change in changes(tokenize(statement), {name}):
            if may_change(change, view):
                return True
    return False
