"""The source of a fused kernel, for pairs of simple pointwise kernels.

The second's statements follow the first's in one scope; what the first wrote and the second reads
is held in a variable, and stored once at the end where anything reads it later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from occlsp.analysis.advice.kernel_body import Access, Parameter
from occlsp.analysis.advice.neighbours import Pair, Side
from occlsp.analysis.advice.pointwise import Shape, guard_of, shape_of

_WORD = re.compile(r"[A-Za-z_]\w*")
ANONYMOUS = "(anonymous namespace)"


class NotSimple(ValueError):
    """Why a pair's source is not written, in words."""


class FusedSource(Struct, frozen=True):
    """A kernel to append to the file that launches the pair."""

    name: str
    text: str
    arguments: tuple[str, ...]
    """What it is launched with, in the order of its parameters."""


def fused_source(pair: Pair) -> FusedSource:
    """The fused kernel's source. Raises `NotSimple`."""
    return _Writer(pair).write()


class _Writer:
    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.first, self.second = pair.first, pair.second
        self.held: dict[tuple[str, str], str] = {}
        """(argument, index) → the variable in place of the element."""

    def write(self) -> FusedSource:
        for number, argument in enumerate(self.pair.intermediates):
            for access in (*self.first.body.of(argument), *self.second.body.of(argument)):
                key = (argument, str(access.index))
                self.held.setdefault(key, f"fused_{number}_{len(self.held)}")
        one, other = self._shape(self.first), self._shape(self.second)
        guards = [
            guard_of(shape, side.body.locals.get)
            for shape, side in zip((one, other), self.pair.sides, strict=True)
        ]
        if guards[0] is None or guards[0] != guards[1]:
            raise NotSimple("their guards or loops are not the same")
        parameters, names = self._parameters()
        declarations = [f"{kind} {name}" for name, (kind, _) in parameters.items()]
        name = f"{self.first.name}_{self.second.name}_fused"
        body = self._body(one, other, names)
        text = f"{self._bounds()}{name}({', '.join(declarations)}) {body}"
        arguments = tuple(argument for _, argument in parameters.values())
        return FusedSource(name, self._in_namespaces(f"__global__ void {text}"), arguments)

    def _shape(self, side: Side) -> Shape:
        text = side.body.text
        for access in sorted(side.body.accesses, key=lambda a: a.start, reverse=True):
            held = self.held.get((access.parameter.argument, str(access.index)))
            if held is not None:
                text = text[: access.start] + held + text[access.end :]
        text = _renamed(text, _template_arguments(side))
        found = shape_of(text)
        if found is None:
            raise NotSimple(f"`{side.name}` is no simple pointwise kernel")
        outside = f"{found.prefix} {found.head}"
        if any(re.search(rf"\b{held}\b", outside) for held in self.held.values()):
            raise NotSimple(f"`{side.name}` touches the intermediate outside of its guard")
        return found

    def _parameters(self) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
        """Type and argument by name, and what the second's parameters are called in the fused
        kernel."""
        taken = set(_WORD.findall(self.first.body.text))
        taken |= {p.name for p in self.first.body.parameters}
        by_argument: dict[tuple[str, str], Parameter] = {}
        declared: dict[str, tuple[str, str]] = {}
        needed = self._needed()
        for parameter in self.first.body.parameters:
            if parameter.argument in needed or not parameter.is_pointer:
                kind = self._type(self.first, parameter)
                declared[parameter.name] = kind, parameter.argument
            by_argument[parameter.argument, self._key(self.first, parameter)] = parameter
        names: dict[str, str] = {}
        for parameter in self.second.body.parameters:
            same = by_argument.get((parameter.argument, self._key(self.second, parameter)))
            if same is not None:
                names[parameter.name] = same.name
                if same.name in declared and "const" not in parameter.type:
                    kind, argument = declared[same.name]
                    declared[same.name] = re.sub(r"\bconst\b\s*", "", kind), argument
                continue
            if parameter.is_pointer and parameter.argument not in needed:
                continue
            name = parameter.name
            while name in taken:
                name += "_2"
            taken.add(name)
            names[parameter.name] = name
            declared[name] = self._type(self.second, parameter), parameter.argument
        return declared, names

    def _needed(self) -> set[str]:
        """Arguments that the fused kernel still reads or writes in memory."""
        needed = set()
        for side in self.pair.sides:
            for access in side.body.accesses:
                argument = access.parameter.argument
                if (argument, str(access.index)) not in self.held:
                    needed.add(argument)
        stored = {a for a, _ in self.held if self._is_stored(a) or self._is_loaded(a)}
        return needed | stored

    def _type(self, side: Side, parameter: Parameter) -> str:
        return _renamed(parameter.type, _template_arguments(side))

    def _key(self, side: Side, parameter: Parameter) -> str:
        """What makes two parameters one: the type without qualifiers."""
        kind = self._type(side, parameter)
        return re.sub(r"\bconst\b|__restrict__|__restrict|\s", "", kind)

    def _body(self, one: Shape, other: Shape, names: Mapping[str, str]) -> str:
        declarations, stores = [], []
        outer = f"{one.prefix} {one.head}"
        for (argument, index), held in self.held.items():
            access = self._place(argument, index, outer)
            kind = _renamed(access.parameter.pointee, _template_arguments(self.first))
            element = self.first.body.text[access.start : access.end]
            start = f" = {element}" if self._is_loaded(argument) else ""
            declarations.append(f"{kind} {held}{start};")
            if self._is_stored(argument):
                stores.append(f"{element} = {held};")
        prefix = _renamed(other.prefix, names)
        if one.kind == "for" and one.variable != other.variable:
            prefix = f"const auto {other.variable} = {one.variable}; {prefix}"
        second = f"{{ {prefix} {_renamed(other.inner, names)} }}"
        inner = " ".join([*declarations, one.inner, second, *stores])
        return f"{{ {one.prefix} {one.opening} {inner} }} }}"

    def _place(self, argument: str, index: str, outer: str) -> Access:
        """An access of the first by which the element can be named where its scope begins."""
        known = set(_WORD.findall(outer)) | {p.name for p in self.first.body.parameters}
        known |= {"threadIdx", "blockIdx", "blockDim", "gridDim", "x", "y", "z"}
        for access in self.first.body.of(argument):
            text = self.first.body.text[access.start : access.end]
            if str(access.index) == index and set(_WORD.findall(text)) <= known:
                return access
        raise NotSimple(f"the index of `{argument}` is made inside of the guard")

    def _is_loaded(self, argument: str) -> bool:
        """The first reads it, or may leave it unwritten."""
        found = self.first.body.of(argument)
        has_branches = re.search(r"\bif\b|\?|\bfor\b", self._inner(self.first)) is not None
        return has_branches or any(access.reads for access in found)

    def _inner(self, side: Side) -> str:
        found = shape_of(side.body.text)
        return found.inner if found is not None else side.body.text

    def _is_stored(self, argument: str) -> bool:
        """Something reads it later: it is not dropped, or the second wrote it anew."""
        rewritten = any(access.writes for access in self.second.body.of(argument))
        return rewritten or argument not in self.pair.dropped

    def _bounds(self) -> str:
        has = any(side.kernel.launch_bounds is not None for side in self.pair.sides)
        return f"__launch_bounds__({self.pair.fused.threads}) " if has else ""

    def _in_namespaces(self, text: str) -> str:
        scopes = [side.kernel.qualified_name.split("::")[:-1] for side in self.pair.sides]
        opening = "".join(
            "namespace { " if part == ANONYMOUS else f"namespace {part} {{ " for part in scopes[0]
        )
        used = "::".join(part for part in scopes[1] if part != ANONYMOUS)
        using = f"using namespace {used}; " if scopes[0] != scopes[1] and used else ""
        return f"{opening}{using}{text}{' }' * len(scopes[0])}\n"


def _template_arguments(side: Side) -> dict[str, str]:
    """What the template parameters stand for at the launch."""
    launch = side.site.launch
    given = launch.template_args_known or launch.template_args
    parameters = side.kernel.template_parameters
    if len(given) < len(parameters):
        raise NotSimple(f"the template arguments of `{side.name}` are deduced")
    if given and launch.template_args_known is None:
        raise NotSimple(f"the template arguments of `{side.name}` depend on a template")
    return {
        parameter.name: argument.strip()
        for parameter, argument in zip(parameters, given, strict=False)
        if parameter.name is not None
    }


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with whole names replaced; members of other things keep theirs."""

    def put(match: re.Match[str]) -> str:
        return names.get(match[0], match[0])

    return re.sub(r"(?<![\w.])(?<!->)[A-Za-z_]\w*", put, text)
