"""What one file says by itself, before anything is evaluated.

Produced by `occlsp.source.parse`; consumed by `occlsp.source.resolve`. Everything here follows
from the text of one file alone, so that it can be cached by content.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from occlsp.source.brackets import split, strip
from occlsp.source.facts import SourceError, TemplateParameter
from occlsp.source.mask import blank_comments
from occlsp.source.parameters import parameter, template_parameters
from occlsp.source.text import Span

if TYPE_CHECKING:
    from occlsp.source.mentions import Mentions

_DIRECTIVE = re.compile(rb"[\n\r][ \t\f\v]*#")


class Expr(Struct, frozen=True):
    """A piece of source text and where it stands. Comments in it are blanked."""

    text: str
    span: Span


def expression(text: bytes, code: bytes, start: int, end: int) -> Expr:
    """The text between two offsets of a file as an expression, comments blanked."""
    piece = text[start:end]
    clean = code[start:end]
    if piece != clean:
        piece = clean if _DIRECTIVE.search(piece) else blank_comments(piece)
    bare = piece.lstrip()
    if not bare:
        left = strip(code, start, end).start
        return Expr("", Span(left, left))
    left = start + len(piece) - len(bare)
    bare = bare.rstrip()
    return Expr(bare.decode("utf-8", "replace"), Span(left, left + len(bare)))


class Condition(Struct, frozen=True):
    """An enclosing `#if` branch: active where `text` is true (earlier branches negated in it)."""

    text: str
    """A preprocessor expression: "defined(USE_ROCM)", "!(defined(A)) && (B > 2)"."""
    span: Span
    """The directive's line."""
    group: int = -1
    """Offset of the `#if` that opens the group: branches of one group exclude each other."""
    branch: int = 0
    """0 for the `#if` itself, then one more with every `#elif` and `#else`."""


class RawKernel(Struct, frozen=True):
    """A `__global__` function as written."""

    name: str
    name_span: Span
    scope: tuple[str, ...]
    """Enclosing namespaces and classes, outermost first; "" for an anonymous namespace."""
    span: Span
    body: Span | None
    parameters: tuple[str, ...] = ()
    template_parameters: tuple[TemplateParameter, ...] = ()
    template_arguments: tuple[Expr, ...] | None = None
    """Of an explicit specialisation or instantiation."""
    is_template: bool = False
    launch_bounds: tuple[Expr, ...] | None = None
    launch_bounds_span: Span | None = None
    macro_calls: tuple[Expr, ...] = ()
    """Unknown macros in the head (`C10_LAUNCH_BOUNDS_1(256)`, `CUDF_KERNEL`): expanded later."""
    maxnreg: Expr | None = None
    block_size: tuple[Expr, ...] | None = None
    cluster_dims: tuple[Expr, ...] | None = None
    in_macro: str | None = None
    """Name of the `#define` whose body it is written in."""
    from_macro: str | None = None
    conditions: tuple[Condition, ...] = ()


class RawLaunch(Struct, frozen=True):
    """A launch as written."""

    api: str
    span: Span
    callee: Expr
    """What is launched, template arguments included."""
    callee_name: str
    """Without template arguments, `&`, parentheses and casts."""
    template_args: tuple[Expr, ...]
    config: tuple[Expr, ...]
    """Between `<<<` and `>>>`; for API calls, grid, block, shared memory and stream in this order
    where the call has them as arguments."""
    config_span: Span
    arguments: tuple[Expr, ...] = ()
    """The kernel's arguments, or of an API call all arguments as written."""
    statement: Span | None = None
    function: int | None = None
    """Index into `FileSyntax.functions` of the innermost enclosing function."""
    in_macro: str | None = None
    conditions: tuple[Condition, ...] = ()


class RawCall(Struct, frozen=True):
    """A call that the analysis cares about: opt-ins, carveouts, occupancy queries, …"""

    name: str
    span: Span
    arguments: tuple[Expr, ...]
    arguments_span: Span
    statement: Span | None = None
    function: int | None = None
    in_macro: str | None = None
    conditions: tuple[Condition, ...] = ()


class Define(Struct, frozen=True):
    """A `#define`."""

    name: str
    parameters: tuple[str, ...] | None
    """None for an object-like macro; a variadic one ends with "..."."""
    body: Expr
    """Line continuations and comments blanked by spaces, so that offsets hold."""
    conditions: tuple[Condition, ...] = ()
    undefined: bool = False
    """An `#undef`."""


class Include(Struct, frozen=True):
    """An `#include`."""

    target: str
    is_system: bool
    span: Span
    conditions: tuple[Condition, ...] = ()


class Parameter(Struct, frozen=True):
    """A function parameter."""

    type: str
    name: str | None
    default: Expr | None = None


class _Lists:
    """What is read of a function's head once it is asked for."""

    __slots__ = ("_parameters", "_template_parameters")
    _parameters: tuple[Parameter, ...]
    _template_parameters: tuple[TemplateParameter, ...]
    listed: Span
    listed_text: bytes
    listed_code: bytes
    template_heads: tuple[bytes, ...]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What it is given."""
        try:
            return self._parameters
        except AttributeError:
            self._parameters = tuple(self._read_parameters())
            return self._parameters

    @property
    def template_parameters(self) -> tuple[TemplateParameter, ...]:
        """Those of all its template heads, outermost first."""
        try:
            return self._template_parameters
        except AttributeError:
            found = [template_parameters(head, 0, len(head)) for head in self.template_heads]
            self._template_parameters = tuple([one for some in found for one in some])
            return self._template_parameters

    def take_lists(self, other: _Lists) -> None:
        """What was read of the same head at another place, but where that tells of the place."""
        template = getattr(other, "_template_parameters", None)
        if template is not None:
            self._template_parameters = template
        parameters = getattr(other, "_parameters", None)
        if parameters is not None and all(one.default is None for one in parameters):
            self._parameters = parameters

    def _read_parameters(self) -> Iterator[Parameter]:
        text, code, base = self.listed_text, self.listed_code, self.listed.start
        for part in split(code, 0, len(code), declares=True):
            kind, name, default = parameter(code, part)
            value = None
            if default is not None:
                value = expression(text, code, *default)
                value = Expr(value.text, Span(value.span.start + base, value.span.end + base))
            yield Parameter(kind, name, value)


class Function(_Lists, Struct):
    """A function definition (host, device or kernel), lambdas not included.

    Its parameters are read where they are asked for: those of most functions never are.
    """

    name: str
    qualified_name: str
    span: Span
    body: Span
    listed: Span
    """Between the parentheses of its parameters."""
    listed_text: bytes
    listed_code: bytes
    """The same with comments, literals and other `#if` branches blanked."""
    template_heads: tuple[bytes, ...] = ()
    """Between the angles of each."""
    is_template: bool = False
    is_constexpr: bool = False
    in_macro: str | None = None
    conditions: tuple[Condition, ...] = ()


class Constant(Struct, frozen=True):
    """A constant at namespace or class scope, or an enumerator."""

    name: str
    scope: tuple[str, ...]
    """Namespaces and classes, outermost first; a class template by its name."""
    type: str
    value: Expr | None
    """None: an enumerator with no initialiser (one more than the last)."""
    is_constexpr: bool
    template_parameters: tuple[TemplateParameter, ...] = ()
    """Of the class or variable template that it is a member of."""
    previous: int | None = None
    """For enumerators: index into `constants` of the one before."""
    conditions: tuple[Condition, ...] = ()


class TypeAlias(Struct, frozen=True):
    """`using T = …`, `typedef … T`, at any scope."""

    name: str
    scope: tuple[str, ...]
    target: str
    template_parameters: tuple[TemplateParameter, ...] = ()
    span: Span = Span(0, 0)
    function: int | None = None
    """Index into `FileSyntax.functions` where it is local to a function."""


class RawShared(Struct, frozen=True):
    """A variable declared `__shared__`, one for each declarator."""

    name: str
    type: str
    """As written, without `__shared__`, `extern`, `static` and alignment."""
    extents: tuple[Expr, ...]
    """The array's dimensions; an empty text for `[]`."""
    is_extern: bool
    alignment: Expr | None
    span: Span
    function: int | None = None
    in_macro: str | None = None
    conditions: tuple[Condition, ...] = ()


class _Searched:
    """What was looked for in a file's text."""

    __slots__ = ("_mentions",)
    _mentions: Mentions | None

    @property
    def mentions(self) -> Mentions | None:
        """Where the names stand that use dynamic shared memory; None where nobody looked."""
        return getattr(self, "_mentions", None)

    @mentions.setter
    def mentions(self, found: Mentions) -> None:
        self._mentions = found


class FileSyntax(_Searched, Struct):
    """All of one file."""

    text: bytes
    kernels: tuple[RawKernel, ...] = ()
    launches: tuple[RawLaunch, ...] = ()
    calls: tuple[RawCall, ...] = ()
    defines: tuple[Define, ...] = ()
    includes: tuple[Include, ...] = ()
    functions: tuple[Function, ...] = ()
    constants: tuple[Constant, ...] = ()
    aliases: tuple[TypeAlias, ...] = ()
    errors: tuple[SourceError, ...] = ()
    masked: bytes = b""
    """`text` with comments, strings, characters and what an `#if 0` hides blanked by spaces of the
    same length, line ends in them included: what searches and the expression lexer read."""
    code: bytes = b""
    """`masked` with the directives blanked too, bodies of `#define` included."""
    shared: tuple[RawShared, ...] = ()
    condition_starts: tuple[int, ...] = (0,)
    """Where the enclosing `#if` branches change, ascending: `conditions_at` reads it."""
    condition_sets: tuple[tuple[Condition, ...], ...] = ((),)
    """What holds from the offset of the same index in `condition_starts` on."""

    def conditions_at(self, offset: int) -> tuple[Condition, ...]:
        """The `#if` branches around an offset, outermost first, without the include guard."""
        return self.condition_sets[bisect_right(self.condition_starts, offset) - 1]

    def function_at(self, offset: int) -> int | None:
        """Index of the innermost function whose head or body holds `offset`; None outside."""
        index = bisect_right(self.functions, offset, key=lambda function: function.span.start) - 1
        for candidate in range(index, max(index - 8, -1), -1):
            if offset < self.functions[candidate].span.end:
                return candidate
        return None
