"""What a kernel's body does to the memory that its pointers lead to, read from its text.

Read from the source with comments blanked, for one launch: arguments stand for parameters. What
is not understood is a pointer that escapes, or an index that is nobody's own; nothing is guessed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from occlsp.analysis.advice.indexing import GRID_STRIDE, NotAnIndex, Polynomial, polynomial
from occlsp.source.brackets import match_parenthesis, split
from occlsp.source.facts import Kernel, Launch

_WORD = re.compile(r"[A-Za-z_]\w*")
_DECLARED = re.compile(
    r"(?<![\w.>])(?!(?:return|else|goto|case|new|delete|using|typedef|throw)\b)"
    r"[A-Za-z_]\w*(?:\s*::\s*\w+)*(?:\s*<[^;<>{}()]*>)?(?:\s+[A-Za-z_]\w*)*\s*[\s&]\s*"
    r"(?P<name>[A-Za-z_]\w*)\s*=(?!=)\s*"
)
_FOR = re.compile(r"\bfor\s*\(")
_LOOP_MACRO = re.compile(
    r"\bCUDA_(?:1D_)?KERNEL_LOOP(?:_T|_TYPE)?\s*\(\s*(\w+)\s*,\s*([^(),;]+)(?:,\s*([\w ]+))?\)"
)
"""Caffe's, and PyTorch's and Detectron's after it."""
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|else|elif)\b", re.M)
_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma\b[^\n]*", re.M)
_OPERATOR = re.compile(r"(?<![-+*/=<>&|(,\[{;?:])\s*(?:[*/]|[-+](?![-+>]))(?!=)|[-+*/]=")
_CALL = re.compile(r"\b(?!if\b|for\b|while\b|switch\b|sizeof\b|return\b)[A-Za-z_]\w*\s*\(")
_ADDRESS = re.compile(r"(?<![\w)\]&])\s*&\s*\(*\s*$|\b[A-Z][A-Z0-9_]*\s*\(\s*$")
"""An address taken, or a macro that may take it (`FLOAT4(x[i])`)."""
_PURE = re.compile(
    r"if|for|while|switch|return|sizeof|(?:static|reinterpret|const)_cast|float|double|int|bool|half"
    r"|unsigned|size_t|char|__ldg|__\w+2\w+|(?:__)?f?(?:exp|exp2|exp10|log|log2|log10|log1p|sqrt|rsqrt"
    r"|cbrt|abs|max|min|pow|sin|cos|tan|tanh|erf|fma|floor|ceil|round|mod|dividef?)[fli]?"
)
"""What takes its arguments by value."""
SIZES = {
    **dict.fromkeys(("char", "bool", "int8_t", "uint8_t"), 1),
    **dict.fromkeys(("short", "half", "__half", "bfloat16", "__nv_bfloat16", "nv_bfloat16"), 2),
    **dict.fromkeys(("int16_t", "uint16_t"), 2),
    **dict.fromkeys(("int", "unsigned", "float", "int32_t", "uint32_t", "half2", "__half2"), 4),
    **dict.fromkeys(("double", "long long", "int64_t", "uint64_t", "size_t", "float2", "int2"), 8),
    **dict.fromkeys(("float4", "int4", "uint4", "double2"), 16),
}
UNKNOWN_SIZE = 4


class Parameter(Struct, frozen=True):
    """One parameter of a kernel at a launch."""

    type: str
    name: str
    argument: str
    """As the launch writes it, without blanks."""

    @property
    def is_pointer(self) -> bool:
        """One level of it."""
        return self.type.count("*") == 1

    @property
    def pointee(self) -> str:
        """The type of the elements, without qualifiers."""
        bare = re.sub(r"\b(?:const|volatile|__restrict__|__restrict|restrict)\b|\*", " ", self.type)
        return " ".join(bare.split())

    @property
    def size(self) -> int:
        """Bytes of an element; a type that is not known counts as four."""
        name = self.pointee.removeprefix("unsigned ").removeprefix("signed ").strip()
        return SIZES.get(name or "int", UNKNOWN_SIZE)


class Access(Struct, frozen=True):
    """One subscripted use of a pointer parameter."""

    parameter: Parameter
    index: Polynomial | None
    """None: not understood."""
    reads: bool
    writes: bool
    start: int
    """Offsets in the body's text: of the name, and past the bracket."""
    end: int
    may_write: bool = False
    """It is handed to a function that may take it by reference."""


class Body(Struct, frozen=True):
    """A kernel's body at one launch."""

    text: str
    """From brace to brace, the well-known loop macros written out."""
    parameters: tuple[Parameter, ...]
    accesses: tuple[Access, ...]
    escaping: frozenset[str]
    """Arguments of pointers that are used in a way that is not understood."""
    operations: int
    """Arithmetic operators and calls, as they are written."""
    locals: dict[str, Polynomial] = field(default_factory=dict)

    def of(self, argument: str) -> tuple[Access, ...]:
        """The accesses through one argument."""
        return tuple(a for a in self.accesses if a.parameter.argument == argument)

    @property
    def pointers(self) -> tuple[Parameter, ...]:
        """The pointer parameters."""
        return tuple(parameter for parameter in self.parameters if "*" in parameter.type)


def read_body(masked: bytes, kernel: Kernel, launch: Launch) -> Body | None:
    """The body of a kernel at a launch; None where its text cannot be followed."""
    arguments = launch.arguments
    if kernel.body is None or kernel.from_macro is not None or kernel.in_macro:
        return None
    text = masked[kernel.body.start : kernel.body.end].decode("latin-1")
    if _CONDITIONAL.search(text):
        return None
    text = _PRAGMA.sub(lambda match: " " * len(match[0]), text)
    text = _LOOP_MACRO.sub(_loop_of, text)
    parameters = tuple(_parameters(masked, kernel, launch))
    if len(parameters) != len(arguments) or len(kernel.parameters) != len(arguments):
        return None
    names = _Names(text, parameters, dict(_template(kernel, launch)))
    accesses: list[Access] = []
    escaping: set[str] = set()
    for parameter in parameters:
        if "*" not in parameter.type:
            continue
        for match in re.finditer(rf"(?<![\w.]){parameter.name}(?!\w)", text):
            access = _access(text, match, parameter, names) if parameter.is_pointer else None
            if access is None:
                escaping.add(parameter.argument)
            else:
                accesses.append(access)
    return Body(
        text,
        parameters,
        tuple(accesses),
        frozenset(escaping),
        _operations(text, names),
        names.known,
    )


def _loop_of(match: re.Match[str]) -> str:
    """What the well-known macros for a loop over the grid stand for."""
    name, bound, kind = match[1], match[2].strip(), (match[3] or "int").strip()
    return (
        f"for ({kind} {name} = blockIdx.x * blockDim.x + threadIdx.x; {name} < ({bound}); "
        f"{name} += blockDim.x * gridDim.x)"
    )


def _template(kernel: Kernel, launch: Launch) -> Iterator[tuple[str, str]]:
    """What the template parameters that are values stand for, as the launch writes it."""
    for number, parameter in enumerate(kernel.template_parameters):
        if parameter.name is not None and parameter.kind not in ("typename", "template"):
            given = (launch.template_args_known or launch.template_args)[number : number + 1]
            text = given[0] if given else parameter.default or f"local {parameter.name}"
            yield parameter.name, re.sub(r"\s+", "", text) if given else text


def _parameters(masked: bytes, kernel: Kernel, launch: Launch) -> Iterator[Parameter]:
    assert kernel.body is not None
    arguments = launch.arguments
    types = {
        parameter.name: argument.strip()
        for parameter, argument in zip(
            kernel.template_parameters,
            launch.template_args_known or launch.template_args,
            strict=False,
        )
        if parameter.name is not None
    }
    opening = masked.find(b"(", kernel.name_span.end, kernel.body.start)
    closing = match_parenthesis(masked, opening, kernel.body.start) if opening >= 0 else None
    if closing is None:
        return
    for span, argument in zip(split(masked, opening + 1, closing), arguments, strict=False):
        written = masked[span.start : span.end].decode("latin-1").partition("=")[0].strip()
        words = list(_WORD.finditer(written))
        if words:
            name = words[-1]
            kind = written[: name.start()].strip() + (" *" if "[" in written[name.end() :] else "")
            kind = _WORD.sub(lambda match: types.get(match[0], match[0]), kind)
            yield Parameter(kind, name[0], re.sub(r"\s+", "", argument))


class _Names:
    """What the names of a body stand for in an index."""

    def __init__(
        self, text: str, parameters: Sequence[Parameter], template: Mapping[str, str]
    ) -> None:
        self.known: dict[str, Polynomial] = {
            name: Polynomial.factor(f"template {argument}") for name, argument in template.items()
        }
        self._text = text
        self._parameters = {parameter.name for parameter in parameters}
        for parameter in parameters:
            if "*" not in parameter.type:
                self.known[parameter.name] = self._argument(parameter)
        declared = Counter(match["name"] for match in _DECLARED.finditer(text))
        for match in _DECLARED.finditer(text):
            name = match["name"]
            value = _until(text, match.end())
            if name in self.known or value is None or self._is_changed(name, match.end()):
                self.known[name] = Polynomial.factor(f"local {name}")
                continue
            try:
                self.known[name] = polynomial(value, self.known.get)
            except NotAnIndex:
                self.known[name] = Polynomial.factor(f"local {name}")
        for match in _FOR.finditer(text):
            self._loop(match, declared)

    def _argument(self, parameter: Parameter) -> Polynomial:
        if self._is_changed(parameter.name, 0):
            return Polynomial.factor(f"local {parameter.name}")
        try:
            # A name of the host is no name of the kernel.
            return polynomial(parameter.argument, lambda name: Polynomial.factor(f"host {name}"))
        except NotAnIndex:
            return Polynomial.factor(f"host ({parameter.argument})")

    def _is_changed(self, name: str, start: int) -> bool:
        pattern = (
            rf"(?<![\w.]){name}\s*(?:=(?!=)|[-+*/%&|^]=|<<=|>>=|\+\+|--)|(?:\+\+|--)\s*{name}(?!\w)"
            rf"|(?<!&)&\s*{name}(?!\w)"
        )
        return re.search(pattern, self._text[start:]) is not None

    def _loop(self, match: re.Match[str], declared: Mapping[str, int]) -> None:
        """A loop from the thread's own index in steps of the whole grid visits its own alone."""
        opening = match.end() - 1
        closing = _closing(self._text, opening)
        parts = self._text[opening + 1 : closing].split(";") if closing is not None else []
        if len(parts) != 3 or "=" not in parts[0]:
            return
        first, _, start = parts[0].partition("=")
        words = _WORD.findall(first)
        if not words:
            return
        name = words[-1]
        self.known[name] = Polynomial.factor(f"local {name}")
        step = re.fullmatch(rf"\s*{name}\s*\+=\s*(.+)", parts[2].strip(), re.S)
        is_one = declared[name] == 1 and name not in self._parameters
        if step is None or not is_one or self._is_changed(name, closing or 0):
            return
        try:
            begin = polynomial(start, self.known.get)
            by = polynomial(step[1], self.known.get)
            bound = re.fullmatch(rf"\s*{name}\s*(<=?)([^=].*)", parts[1], re.S)
            until = f"@{bound[1]}{polynomial(bound[2], self.known.get)}" if bound else None
        except NotAnIndex:
            return
        if begin == _THREAD and by == _GRID and until is not None:
            self.known[name] = Polynomial.factor(f"{GRID_STRIDE} {until}")


def _plain(text: str) -> Polynomial:
    return polynomial(text, lambda name: None)


_THREAD = _plain("blockIdx.x*blockDim.x + threadIdx.x")
_GRID = _plain("blockDim.x*gridDim.x")


def _access(text: str, match: re.Match[str], parameter: Parameter, names: _Names) -> Access | None:
    """The use of a pointer at a place, if it is `name[index]` and its address goes nowhere."""
    bracket = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
    closing = _closing(text, bracket) if text[bracket : bracket + 1] == "[" else None
    if closing is None:
        return None
    before = text[: match.start()].rstrip()
    if _ADDRESS.search(before):
        return None
    after = text[closing + 1 :].lstrip()[:3]
    if after.startswith("["):
        return None
    is_stepped = after[:2] in ("++", "--") or before.endswith(("++", "--"))
    is_written = after.startswith("=") and not after.startswith("==")
    is_both = is_stepped or re.match(r"[-+*/%&|^]=|<<=|>>=", after) is not None
    part = re.match(r"\s*\.\s*\w+\s*(=(?!=)|[-+*/]=)", text[closing + 1 :]) is not None
    try:
        index = polynomial(text[bracket + 1 : closing], names.known.get)
    except NotAnIndex:
        index = None
    return Access(
        parameter,
        index,
        reads=not is_written or part,
        writes=is_written or is_both or part,
        start=match.start(),
        end=closing + 1,
        may_write=_is_handed_on(before, text[closing + 1 :]),
    )


def _is_handed_on(before: str, after: str) -> bool:
    """The element is a whole argument of a call to what is not known to leave it alone."""
    if not re.match(r"\s*[,)]", after) or not before.endswith(("(", ",")):
        return False
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        depth += (before[at] == ")") - (before[at] == "(")
        if depth < 0:
            callee = re.search(r"([A-Za-z_]\w*)(?:<[^;{}]*>)?\s*$", before[:at])
            return callee is not None and not _PURE.fullmatch(callee[1])
        if before[at] in ";{}":
            return False
    return False


def _closing(text: str, opening: int) -> int | None:
    """The bracket that closes the one at `opening`."""
    closes = {"(": ")", "[": "]", "{": "}"}[text[opening]]
    depth = 0
    for at in range(opening, len(text)):
        if text[at] == text[opening]:
            depth += 1
        elif text[at] == closes:
            depth -= 1
            if depth == 0:
                return at
    return None


def _until(text: str, start: int) -> str | None:
    """An initialiser: up to the `;` or `,` outside of brackets."""
    depth = 0
    for at in range(start, len(text)):
        char = text[at]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth < 0:
                return None
        elif char in ";," and depth == 0:
            return text[start:at]
    return None


def _operations(text: str, names: _Names) -> int:
    """Operators and calls outside of brackets, of conditions and of what makes an index."""
    bare = re.sub(r"\[[^\[\]]*\]", "[]", text)
    bare = re.sub(r"\b(?:if|for|while)\s*\([^{;]*?\)\s*(?=[{\w])", " ", bare)
    kept = [
        part
        for part in re.split(r"[;{}]", bare)
        if not re.search(r"threadIdx|blockIdx|gridDim|blockDim", part)
    ]
    joined = ";".join(kept)
    return len(_OPERATOR.findall(joined)) + len(_CALL.findall(joined))
