"""What is kept of one file by name: the index that others see. Of an edited file only what the
edit may have changed is read again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from occlsp.source import types
from occlsp.source.brackets import match_angle, split
from occlsp.source.dynamic_users import dynamic_users
from occlsp.source.facts import TemplateParameter
from occlsp.source.fragment import matches
from occlsp.source.lambda_calls import handed_on
from occlsp.source.namespaces import directives
from occlsp.source.parameters import template_parameters
from occlsp.source.passing import forwarded
from occlsp.source.stepping import Since
from occlsp.source.syntax import Define, FileSyntax, Function
from occlsp.source.view import Callable_, FileIndex, Specialised

MAX_FUNCTION = 3_000
"""Bytes of a constexpr function's body that is kept to be evaluated in calls."""
MAX_PLAIN_FUNCTION = 1_000
"""The same for other functions."""
NOT_VALUES = frozenset(
    (
        *("void", "float", "double", "cudaError_t", "CUresult"),
        *("std::string", "string", "half", "__half"),
    )
)
"""Return types of functions whose results are no sizes."""

_BASE_CLAUSE = rb"\s+(\w+)\b(?:\s*<[^<>{};]*>)?\s*(?:final\s*)?:(?!:)\s*([^{};]+)\{"
_BASES = [(word, re.compile(word + _BASE_CLAUSE)) for word in (b"struct", b"class")]


def index_file(path: str, syntax: FileSyntax, since: Since | None = None) -> FileIndex:
    """The index of one file; `since` tells what it was before an edit."""
    masked = syntax.masked or syntax.text
    functions: dict[str, list[Callable_]] = {}
    front, behind = since.callables(syntax.functions) if since is not None else ([], [])
    first_behind = len(syntax.functions) - len(behind)
    for number, function in enumerate(syntax.functions):
        if number < len(front):
            made = front[number]
        elif number >= first_behind:
            one = behind[number - first_behind]
            made = Callable_(function, one.body, one.returns, one.forwards, one.calls)
        else:
            made = _callable(function, masked)
        functions.setdefault(function.name, []).append(made)
    old = since.index if since is not None else None
    if old and since and not since.says(masked, since.syntax.masked, b"struct", b"class"):
        bases, rebased = old.bases, old.rebased
    else:
        bases, rebased = _bases(masked)
    if old and since and not since.says(syntax.code, since.syntax.code, b"template"):
        class_templates, specialised = old.class_templates, old.specialised
    else:
        class_templates, specialised = _class_templates(syntax.code)
    index = FileIndex(
        path,
        _by_name(syntax.defines),
        _by_name(syntax.constants),
        functions,
        _by_name([alias for alias in syntax.aliases if alias.function is None]),
        _by_name(syntax.kernels),
        directives(masked, syntax.functions),
        bases,
        syntax.constants,
        _mentions(syntax),
        frozenset(kernel.name for kernel in syntax.kernels if kernel.body is not None),
        dynamic_users(syntax, since.syntax if since is not None else None),
        frozenset(
            [launch.in_macro for launch in syntax.launches if launch.in_macro]
            + [call.in_macro for call in syntax.calls if call.in_macro and "FuncSet" in call.name]
        ),
        frozenset(d.name for d in syntax.defines if d.parameters and _defines_kernel(d)),
        class_templates,
        rebased,
        specialised,
        any("FuncSet" in call.name for call in syntax.calls),
        any("FuncSet" in call.name and call.in_macro is not None for call in syntax.calls),
        steps=since.steps() if since is not None else (),
    )
    if since is not None and since.step.same_macros:
        index.take_macros(since.index)
    return index


def _callable(function: Function, masked: bytes) -> Callable_:
    body = _evaluable(function, masked)
    returns = "auto"
    if body is not None:
        head = masked[function.span.start : function.body.start].decode("latin-1")
        returns = _returned(head, function.name)
        if _is_virtual(masked, head, function.name):
            body = None
    if returns in NOT_VALUES and (body is None or "return" in body):
        body = None
    called = forwarded(function, masked), handed_on(function, masked)
    return Callable_(function, body, returns, *called)


def _is_virtual(masked: bytes, head: str, name: str) -> bool:
    """Whether a function with this head is another one for objects of some classes."""
    is_said = any(word in head for word in _VIRTUAL_WORDS) and _VIRTUAL.search(head) is not None
    return is_said or name.encode() in _virtual_functions(masked)


_VIRTUAL = re.compile(r"\bvirtual\b|\b(?:override|final)\s*\Z")
_VIRTUAL_WORDS = ("virtual", "override", "final")
_DECLARED = re.compile(rb"\bvirtual\b[^;{}()]*?(\w+)\s*\(")


@lru_cache(maxsize=4)
def _virtual_functions(masked: bytes) -> frozenset[bytes]:
    return frozenset(_DECLARED.findall(masked)) if b"virtual" in masked else frozenset()


_NAME = re.compile(r"[A-Za-z_]\w*")
_WORD_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"


def called_names(syntax: FileSyntax) -> set[bytes]:
    """The functions that a file may call: words before `(` or `<`."""
    pieces = syntax.code.replace(b"<", b"(").split(b"(")
    pieces.pop()
    found = {bare[len(bare.rstrip(_WORD_BYTES)) :] for bare in map(bytes.rstrip, pieces)}
    found -= {b"", b"if", b"for", b"int", b"while", b"switch", b"return", b"sizeof", b"include"}
    return {name for name in found if not name[:1].isdigit()}


_CLASS = re.compile(
    rb"template\s*<([^;{}]*)>\s*(?:struct|class)\s+(?:alignas\s*\([^()]*\)\s*)?(\w+)\b\s*([:{;<])"
)

_SPECIALS = [(word, re.compile(word + rb"\s+(\w+)\s*<")) for word in (b"struct", b"class")]


def _class_templates(
    code: bytes,
) -> tuple[dict[str, tuple[TemplateParameter, ...]], dict[str, list[Specialised]]]:
    """Class template → its parameters, and its partial specialisations. A template that is only
    declared is one where it has some."""
    declared: dict[str, tuple[TemplateParameter, ...]] = {}
    specialised: dict[str, list[Specialised]] = {}
    special: set[bytes] | None = None
    for match in matches(_CLASS, b"template", code):
        name, parameters = match[2].decode(), match.span(1)
        if match[3] == b"<":
            closing = match_angle(code, match.end() - 1, len(code))
            own = template_parameters(code, *parameters)
            if closing is not None and own:
                names = tuple([parameter.name for parameter in own])
                parts = split(code, match.end(), closing)
                arguments = tuple([code[slice(*part)].decode("latin-1") for part in parts])
                specialised.setdefault(name, []).append(Specialised(names, arguments))
            continue
        if match[3] == b";":
            special = _named_with_arguments(code) if special is None else special
            if name in declared or match[2] not in special:
                continue
        declared[name] = template_parameters(code, *parameters)
    return declared, specialised


def _named_with_arguments(code: bytes) -> set[bytes]:
    """The classes that a text specialises, or seems to."""
    found = [matches(pattern, word, code) for word, pattern in _SPECIALS]
    return {match[1] for some in found for match in some}


def _bases(masked: bytes) -> tuple[dict[str, str], frozenset[str]]:
    """Class → its base clause, and those of which there are several with different ones."""
    found: dict[str, str] = {}
    several: set[str] = set()
    for word, pattern in _BASES:
        for match in matches(pattern, word, masked):
            name, clause = match[1].decode("latin-1"), match[2].decode("latin-1").strip()
            if found.get(name, clause) != clause:
                several.add(name)
            found[name] = clause
    return found, frozenset(several)


def _defines_kernel(define: Define) -> bool:
    return "__global__" in define.body.text and "{" in define.body.text


def _mentions(syntax: FileSyntax) -> frozenset[str]:
    """Names that may be kernels' where something is launched, set or instantiated."""
    names = {launch.callee_name.rsplit("::", 1)[-1].strip() for launch in syntax.launches}
    for call in syntax.calls:
        if call.arguments:
            names.update(_NAME.findall(call.arguments[0].text))
    names.update(kernel.name for kernel in syntax.kernels)
    callees: dict[int, list[str]] = {}
    for launch in syntax.launches:
        if launch.function is not None and launch.callee_name.isidentifier():
            callees.setdefault(launch.function, []).append(launch.callee_name)
    for index, found in callees.items():
        body = syntax.masked[syntax.functions[index].body.start : syntax.functions[index].body.end]
        if any(body.count(name.encode()) > found.count(name) for name in set(found)):
            names |= _pointers(body)
    return frozenset(names)


@lru_cache(maxsize=64)
def _pointers(body: bytes) -> frozenset[str]:
    """Names that a body gives to something, as it gives a kernel to a pointer."""
    return frozenset(m.decode().strip(" &\t\r\n") for m in _POINTER.findall(body))


_POINTER = re.compile(rb"(?<=[=&?:,(])\s*&?\s*\b[A-Za-z_]\w*(?=\s*[<;,:)])")


def _evaluable(function: Function, masked: bytes) -> str | None:
    """The body of a function that may make a number, where it is short."""
    start, end = function.body.start, function.body.end
    limit = MAX_FUNCTION if function.is_constexpr else MAX_PLAIN_FUNCTION
    if end - start > limit or function.in_macro is not None or function.name == "main":
        return None
    body = masked[start:end]
    if b"<<<" in body:
        return None
    if b"return" not in body:
        head = masked[function.span.start : start]
        if b"&" not in head or _SETS.search(head) is None:
            return None
    return body.decode("latin-1")


_SETS = re.compile(rb"\b(?:dim3|u?int|unsigned|size_t|u?int(?:32|64)_t)\s*&\s*\w")
"""A parameter that a function may set to a size."""
_ATTRIBUTES = re.compile(
    r"\b(?:__host__|__device__|__forceinline__|__inline__|__noinline__|friend)\b"
)


def _returned(head: str, name: str) -> str:
    """The return type of a function with this head; "auto" where it is not plain to see."""
    position = head.rfind(name, 0, head.find("(", head.find(name)) + 1)
    return "auto" if position < 0 else _type_before(head[:position])


@lru_cache(maxsize=1024)  # a file's functions begin with the same few words
def _type_before(before: str) -> str:
    if ">" in before:
        before = before[before.rindex(">") + 1 :] or "auto"
    before = re.sub(r"[\w:<>]+::\s*$", "", before)
    text = types.plain(_ATTRIBUTES.sub(" ", before))
    text = text if re.fullmatch(r"[\w: ]+", text) else "auto"
    return f"{text}&" if types.is_reference(before) else text


def _by_name(items: Sequence[object]) -> dict[str, list]:  # type: ignore[type-arg]
    found: dict[str, list] = {}  # type: ignore[type-arg]
    for item in items:
        found.setdefault(item.name, []).append(item)  # type: ignore[attr-defined]
    return found
