"""What one file sees: the constants, types, functions, macros and kernels of its includes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from occlsp.source.facts import TemplateParameter
from occlsp.source.fragment import written
from occlsp.source.included import Included, merged, rebased_in
from occlsp.source.lexer import tokenize
from occlsp.source.macros import Definition, Macros, Place
from occlsp.source.namespaces import Directive, Directives, Seen
from occlsp.source.numbers import Number, unknown
from occlsp.source.setting_macros import Setting, setting_macros
from occlsp.source.syntax import Condition, Constant, Define, Function, RawKernel, TypeAlias
from occlsp.source.text import Span

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z_]\w*")


class Callable_(Struct, frozen=True):  # noqa: N801 -- a function that evaluation can call
    """A function with its body's text, where that is short."""

    function: Function
    body: str | None
    returns: str = "auto"
    forwards: int | None = None
    """The parameter that it only calls, with all that follow it: `f(std::forward<A>(a)...)`."""
    calls: tuple[tuple[int, tuple[tuple[str, ...], ...]], ...] = ()
    """The parameters that it only calls with literals: what it calls them with."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The `#if` branches that it stands in."""
        return self.function.conditions


class Specialised(NamedTuple):
    """One specialisation of a class template."""

    names: tuple[str | None, ...]
    """Of its own parameters."""
    arguments: tuple[str, ...]
    """What it is of: those stand in there."""


@dataclass(slots=True)
class FileIndex:
    """The declarations of one file by name: small, and without the file's text."""

    path: str
    defines: dict[str, list[Define]]
    constants: dict[str, list[Constant]]
    functions: dict[str, list[Callable_]]
    aliases: dict[str, list[TypeAlias]]
    kernels: dict[str, list[RawKernel]]
    directives: Directives
    bases: dict[str, str]
    """Class → its base clause."""
    all_constants: tuple[Constant, ...]
    mentions: frozenset[str] = frozenset()
    """Names that launches, attribute calls and explicit instantiations use as kernels'."""
    defined_kernels: frozenset[str] = frozenset()
    dynamic_users: frozenset[str] = frozenset()
    """Functions and classes that declare `extern __shared__`, directly or by a call."""
    launching_macros: frozenset[str] = frozenset()
    """Macros whose own body launches a kernel or sets an attribute."""
    kernel_macros: frozenset[str] = frozenset()
    """Macros with parameters whose own body defines a kernel."""
    class_templates: dict[str, tuple[TemplateParameter, ...]] = field(default_factory=dict)
    rebased: frozenset[str] = frozenset()
    """Classes of which there are several with different bases: specialisations, mostly."""
    specialised: dict[str, list[Specialised]] = field(default_factory=dict)
    """Class template → its specialisations."""
    sets_attributes: bool = False
    macro_sets_attributes: bool = False
    _naming: dict[str, set[str]] | None = None
    _setting: Setting | None = None
    made_of: dict[str, tuple[str, ...]] | None = field(default=None, compare=False)
    """Word → the names that are declared by it here; None until somebody asks."""
    _exports: bytes | None = field(default=None, compare=False)
    token: object = field(default=None, compare=False)
    """Stands for the index in the steps of later ones."""
    steps: tuple[tuple[object, frozenset[str]], ...] = field(default=(), compare=False)
    """Of an edited file: earlier indexes, with the names of all that may have changed since."""

    def take_macros(self, other: FileIndex) -> None:
        """What is known of the bodies of another index's macros, which are the same here."""
        self._naming, self._setting = other._naming, other._setting

    def macros_naming(self, word: str) -> Collection[str]:
        """The macros of this file whose bodies name a word."""
        if self._naming is None:
            self._naming = {}
            for name, defines in self.defines.items():
                for define in defines:
                    for other in _NAME.findall(define.body.text):
                        self._naming.setdefault(other, set()).add(name)
        return self._naming.get(word, ())

    def setting(self) -> Setting:
        """The macros of this file that set variables."""
        if self._setting is None:
            items = (item for defines in self.defines.values() for item in defines)
            self._setting = setting_macros(items)
        return self._setting

    def exports(self) -> bytes:
        """Digest of what others see of this file: changed when their facts may change."""
        if self._exports is None:
            self._exports = self._digest()
        return self._exports

    def _digest(self) -> bytes:
        parts: list[str] = []
        for items in self.defines.values():
            for d in items:
                parts += (d.name, repr(d.parameters), d.body.text, str(d.undefined), *_texts(d))
        for constant in self.all_constants:
            value = constant.value.text if constant.value else ""
            parts += (constant.name, *constant.scope, constant.type, value, *_texts(constant))
        for name, found in self.functions.items():
            for item in found:
                if item.forwards is not None or item.calls:
                    parts += (name, repr((item.forwards, item.calls)))
                if item.body is not None:
                    function = item.function
                    heads = (function.listed_code, *function.template_heads)
                    parts += (function.qualified_name, item.body, item.returns)
                    parts += (*map(written, heads), *_texts(item), str(function.is_constexpr))
        for aliases in self.aliases.values():
            for alias in aliases:
                parts += (alias.name, *alias.scope, alias.target)
        parts += (*sorted(self.kernels), *sorted(self.dynamic_users))
        parts += sorted(map(repr, self.directives.everywhere))
        parts += (*self.bases, *self.bases.values(), *sorted(self.rebased))
        for name, parameters in self.class_templates.items():
            parts += (name, *[f"{p.kind} {p.name} {p.default}" for p in parameters])
        parts += (repr(self.specialised),) if self.specialised else ()
        digest = blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16)
        return digest.digest()


def _texts(item: Define | Constant | Callable_) -> list[str]:
    return [condition.text for condition in item.conditions]


def kernel_bindings(parameters: Sequence[TemplateParameter]) -> dict[str, Number]:
    """Template parameters of which no argument is known."""
    return {
        p.name: unknown(f"template parameter {p.name}")
        for p in parameters
        if p.name is not None and p.kind not in ("typename", "class", "template")
    }


class _Names:
    """Declarations in view by name. Macros ask for theirs here, and not in the view, which is made
    anew with each edit: a cycle of references would keep it until garbage is looked for."""

    def __init__(self, included: Included, own: Sequence[FileIndex]) -> None:
        self._included = included
        self._own = own
        self._cached: dict[tuple[str, str], list] = {}  # type: ignore[type-arg]

    def definitions(self, name: str) -> list[Definition]:
        """The definitions of a macro, whether they are active or not."""
        return self.found("defines", name, Definition)

    def found(self, table: str, name: str, make: Callable[..., object]) -> list:  # type: ignore[type-arg]
        """All declarations of a name in a table, each with its path as `make` takes the two."""
        key = (table, name)
        found = self._cached.get(key)
        if found is None:
            found = self._included.found(table, name)
            for index in self._own:
                own = getattr(index, table).get(name)
                if own:
                    found = [*found, *((index.path, item) for item in own)]
            if make is not _pair:
                found = [make(*item) for item in found]
            self._cached[key] = found
        return found


class Asked(Protocol):
    """The files that include one, as they are asked for what it does not declare."""

    def __call__(self, name: str) -> Any:
        """The value of a constant or a macro."""

    def member(self, name: str) -> Any:
        """The value of a member of a class."""


class Asking(Protocol):
    """A file's variables that nothing changes, as they are asked for."""

    def __call__(self, name: str) -> Constant | None:
        """The one of this name."""

    def says(self, name: str) -> tuple[object, ...] | None:
        """What its declaration says."""

    def prototypes(self, name: str) -> tuple[tuple[bool, ...], ...]:
        """Of a function's declarations, whether it may change what it is given."""

    @property
    def answers(self) -> dict[str, tuple[object, ...] | None]:
        """What was answered."""


class Nobody:
    """For a file that no other includes, or whose variables are not looked for."""

    answers: dict[str, tuple[object, ...] | None]

    def __init__(self) -> None:
        self.answers = {}

    def __call__(self, name: str) -> None: ...

    def says(self, name: str) -> None: ...

    def prototypes(self, name: str) -> tuple[()]:
        return ()

    def member(self, name: str) -> None: ...


class View:
    """The indexes that a file sees, in the order of inclusion, its own last."""

    def __init__(
        self,
        path: str,
        indexes: Sequence[FileIndex],
        predefined: dict[str, str],
        workspace_kernels: Callable[[str], bool] = lambda name: False,
        included: Included | None = None,
        outside: Asked | None = None,
    ) -> None:
        self.path = path
        self.outside = outside or Nobody()
        self.variables: Asking = Nobody()
        """What a name that is not in view means to the files that include this one."""
        self.indexes = tuple(indexes)
        self.included = included or Included(self.indexes[:-1])
        self._names = _Names(self.included, self.indexes[-1:])
        self.macros = Macros(self._names.definitions, predefined)
        self.is_workspace_kernel = workspace_kernels
        self.evaluating: set[tuple[str, int]] = set()
        self.constant_values: dict[object, Any] = {}
        """What constants are, by their place and the template arguments in view there."""
        self.called: dict[object, Any] = {}
        """What functions return, by what they are called with."""
        self.meant: dict[object, list[tuple[str, Any]]] = {}
        """Declarations by the name, its qualifiers and the scope that it stands in."""
        self.beside: dict[object, Any] = {}
        """What aliases stand for, and name of their own scopes."""
        self.spelled: dict[str, list[tuple[bytes, list[str]]]] = {}
        """What macros and constants say, as fingerprints have it."""
        self._cached: dict[tuple[str, str], list] = {}  # type: ignore[type-arg]
        self._seen: dict[frozenset[Directive], Seen] = {}

    def values_among(self, names: Set[str]) -> Set[str]:
        """Those of some names that are a macro's or a constant's in view."""
        found = names & self.included.value_names
        for index in self.indexes[-1:]:
            found |= names & index.defines.keys() | names & index.constants.keys()
        return found

    def seen(self, at: Place) -> Seen:
        """What `using` makes visible at a place."""
        inside = self._directives_inside.get(at.path, ())
        if inside:
            near = frozenset(one for span, one in inside if span.start <= at.offset < span.end)
            if near:
                if near not in self._seen:
                    self._seen[near] = Seen(self._seen_everywhere.directives, near)
                return self._seen[near]
        return self._seen_everywhere

    @cached_property
    def _seen_everywhere(self) -> Seen:
        own = (index.directives.everywhere for index in self.indexes[-1:])
        return Seen(self.included.directives.union(*own))

    @cached_property
    def _directives_inside(self) -> dict[str, Sequence[tuple[Span, Directive]]]:
        own = {i.path: i.directives.inside for i in self.indexes[-1:] if i.directives.inside}
        return {**self.included.directives_inside, **own}

    def defines(self, name: str) -> list[Definition]:
        """The definitions of a macro in view, whether they are active or not."""
        return self._names.definitions(name)

    @cached_property
    def setting(self) -> Setting:
        """The macros that set variables."""
        return self.included.setting.joined(i.setting() for i in self.indexes[-1:])

    def constants(self, name: str) -> list[tuple[str, Constant]]:
        """Constants and enumerators of this name that some branch of `#if` declares."""
        return self._active("constants", name)

    def functions(self, name: str) -> list[tuple[str, Callable_]]:
        """Functions of this name that some branch of `#if` defines."""
        return self._active("functions", name)

    def aliases(self, name: str) -> list[tuple[str, TypeAlias]]:
        """Type aliases of this name."""
        return self._names.found("aliases", name, _pair)

    def kernels(self, name: str) -> list[tuple[str, RawKernel]]:
        """Kernels of this name in view."""
        return self._names.found("kernels", name, _pair)

    def is_kernel(self, name: str) -> bool:
        """Whether a kernel of this (last) name is in view or in the workspace."""
        return bool(self.kernels(name)) or self.is_workspace_kernel(name)

    @cached_property
    def bases(self) -> dict[str, str]:
        """Class → its base clause: of several classes of a name, the last one's."""
        return merged([self.included.bases, *(index.bases for index in self.indexes[-1:])])

    def base_clause(self, name: str) -> str | None:
        """The bases of a class; None where it has none, or there are several with others."""
        return None if name in self._rebased else self.bases.get(name)

    @cached_property
    def _rebased(self) -> frozenset[str]:
        own = [(index.bases, index.rebased) for index in self.indexes[-1:]]
        return rebased_in([(self.included.bases, self.included.rebased), *own])

    def specialised(self, name: str) -> list[Specialised]:
        """The specialisations of a class template in view."""
        return [one for _, one in self._names.found("specialised", name, _pair)]

    def _active(self, table: str, name: str) -> list:  # type: ignore[type-arg]
        key = (f"active {table}", name)
        found = self._cached.get(key)
        if found is None:
            found = [
                (path, item)
                for path, item in self._names.found(table, name, _pair)
                if not item.conditions or self.macros.active(item.conditions, path) is not False
            ]
            self._cached[key] = found
        return found

    def forwarder(self, name: str) -> int | None:
        """The parameter that all functions of a name only call with what follows it, if so."""
        found = {item.forwards for _, item in self.functions(name)}
        return found.pop() if len(found) == 1 else None

    @cached_property
    def class_templates(self) -> dict[str, tuple[TemplateParameter, ...]]:
        """Class template → its parameters: of several of a name, the last one's."""
        own = [index.class_templates for index in self.indexes[-1:]]
        return merged([self.included.class_templates, *own])

    @cached_property
    def launching_macros(self) -> frozenset[str]:
        """The macros whose expansion launches a kernel or sets an attribute."""
        own = (index.launching_macros for index in self.indexes[-1:])
        found = set(self.included.launching_macros.union(*own))
        pending = list(found)
        while pending:
            word = pending.pop()
            for index in self.indexes:
                for name in index.macros_naming(word):
                    if name not in found:
                        found.add(name)
                        pending.append(name)
        return frozenset(found)

    @property
    def kernel_macros(self) -> frozenset[str]:
        """The macros that define kernels."""
        return self.included.kernel_macros.union(*(i.kernel_macros for i in self.indexes[-1:]))

    def index_of(self, path: str) -> FileIndex | None:
        """The index of a file in view."""
        return next((index for index in self.indexes if index.path == path), None)


def _pair(path: str, item: object) -> tuple[str, object]:
    return path, item


@lru_cache(maxsize=1024)
def parts(name: str) -> tuple[tuple[str, tuple[str, ...] | None], ...]:
    """`a::b<c>::d` as (part, template arguments) each."""
    if name.isidentifier():
        return ((name, None),)
    tokens = tokenize(name)
    found: list[tuple[str, tuple[str, ...] | None]] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.kind != "name":
            index += 1
            continue
        index += 1
        arguments = None
        if index < len(tokens) and tokens[index].text == "<":
            from occlsp.source.type_syntax import template_arguments

            read = template_arguments(tokens, index)
            if read is not None:
                arguments, index = read
        found.append((token.text, arguments))
    return tuple(found)


@lru_cache(maxsize=1024)
def scope_names(qualified: str) -> tuple[str, ...]:
    """The namespaces, classes and name of a qualified name, anonymous namespaces left out."""
    return tuple(part for part, _ in parts(qualified.replace("(anonymous namespace)", "")))


def only_return(body: str) -> str | None:
    """The expression of a body that is nothing but one `return`."""
    match = re.fullmatch(r"\s*\{\s*(?:static_assert\s*\([^;]*;\s*)*return\b([^;]*);\s*\}\s*", body)
    return match[1] if match else None
