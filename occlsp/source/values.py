"""What an expression can evaluate to: integers, reals, `dim3`s, kernels, places."""

from __future__ import annotations

from msgspec import Struct

from occlsp.source import expressions as ast
from occlsp.source.facts import Definition
from occlsp.source.numbers import UINT, Number, extent, join, known, unknown

MAX_ALTERNATIVES = 16


class Real(Struct, frozen=True):
    """A floating-point number that is known."""

    value: float
    bits: int = 64


class Dim(Struct, frozen=True):
    """A `dim3`: one of several triples of numbers."""

    alternatives: tuple[tuple[Number, Number, Number], ...]
    definition: Definition | None = None
    written: int = 3
    """How many components the source gives."""

    def defined(self, definition: Definition | None) -> Dim:
        """The same, as `definition` makes it."""
        return Dim(self.alternatives, definition, self.written)


class KernelName(Struct, frozen=True):
    """A kernel as an expression names it."""

    name: str
    arguments: tuple[str, ...] | None = None


class Kernels(Struct, frozen=True):
    """A pointer to one of some kernels."""

    names: tuple[KernelName, ...]


class Place(Struct, frozen=True):
    """The address of a local variable, or a name for it: `&config`, `config.attrs = attrs`."""

    key: str


class Lambda(Struct, frozen=True):
    """A local lambda: its parameters and its body, evaluated where it is called."""

    parameters: tuple[tuple[str, str], ...]
    """(type, name)."""
    body: str


Abstract = Number | Real | Dim | Kernels | Place | Lambda

ONE = known(1, UINT)


def to_number(value: Abstract | None, why: str = "not an integer") -> Number:
    """The value as an integer."""
    if isinstance(value, Number):
        return value
    if isinstance(value, Dim):
        return unknown("a dim3 is no integer")
    return unknown(why)


def to_dim(value: Abstract | None, why: str = "not known") -> Dim:
    """The value as a `dim3`: an integer is its x."""
    if isinstance(value, Dim):
        return value
    number = to_number(value, why)
    if number.is_nothing:  # it may be a dim3 itself
        return Dim(((number, number, number),))
    return _along_x(number)


def dim_of(node: ast.Node, value: Abstract | None) -> Dim:
    """The value of an expression as a `dim3`: arithmetic makes an integer, whatever it is of."""
    if isinstance(node, ast.Binary) and isinstance(value, Number):
        return _along_x(value)
    return to_dim(value)


def _along_x(number: Number) -> Dim:
    return Dim(((extent(number), ONE, ONE),), number.definition, written=1)


def unknown_dim(why: str) -> Dim:
    """A `dim3` of which nothing is known."""
    nothing = unknown(why, UINT)
    return Dim(((nothing, nothing, nothing),))


def join_values(left: Abstract | None, right: Abstract | None, why: str) -> Abstract:
    """What it is where it is one on some path and the other on another."""
    if left is None or right is None:
        return unknown(why)
    if left == right:
        return left
    if isinstance(left, Number) and isinstance(right, Number):
        return join(left, right)
    if isinstance(left, Kernels) and isinstance(right, Kernels):
        names = tuple(dict.fromkeys(left.names + right.names))
        return Kernels(names) if len(names) <= MAX_ALTERNATIVES else unknown("many kernels")
    if isinstance(left, Dim) or isinstance(right, Dim):
        return join_dims(to_dim(left), to_dim(right))
    return unknown(why)


def join_dims(left: Dim, right: Dim) -> Dim:
    """Either of two `dim3`s."""
    alternatives = tuple(dict.fromkeys(left.alternatives + right.alternatives))
    if len(alternatives) > MAX_ALTERNATIVES:
        merged = alternatives[0]
        for other in alternatives[1:]:
            merged = tuple(join(a, b) for a, b in zip(merged, other, strict=True))  # type: ignore[assignment]
        alternatives = (merged,)
    same = left.definition if left.definition == right.definition else None
    return Dim(alternatives, same, max(left.written, right.written))


def component(value: Dim, name: str) -> Number:
    """`value.x`, `.y` or `.z`."""
    return components(value)["xyz".index(name)]


def components(value: Dim) -> tuple[Number, Number, Number]:
    """`value.x`, `.y` and `.z`."""
    x, y, z = value.alternatives[0]
    for others in value.alternatives[1:]:
        x, y, z = join(x, others[0]), join(y, others[1]), join(z, others[2])
    return x, y, z


def with_component(value: Dim, name: str, number: Number) -> Dim:
    """`value` after `value.x = number`."""
    index = "xyz".index(name)
    changed = []
    for alternative in value.alternatives:
        parts = list(alternative)
        parts[index] = extent(number)
        changed.append((parts[0], parts[1], parts[2]))
    return Dim(tuple(dict.fromkeys(changed)), None, max(value.written, index + 1))


def defined_at(value: Abstract, definition: Definition | None) -> Abstract:
    """The value with the place that makes it, where it has none of its own."""
    if isinstance(value, Number | Dim) and value.definition is None and definition is not None:
        if isinstance(value, Number):
            return value.defined(definition, value.linear)
        return value.defined(definition)
    return value
