"""What an integer of the program can be, and C++'s arithmetic on that.

A `Number` is a set of values, or bounds, or unknown with its reason. Arithmetic follows C++: the
usual conversions, the widths of LP64 (Linux, as nvcc uses it), wrapping of unsigned types; a
signed overflow, a division by zero and a shift out of range are unknown, not a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from occlsp.source.facts import Definition
from occlsp.source.linear import Linear, linear
from occlsp.source.together import Together, paired

MAX_SET = 32
"""More values than this are told by their bounds."""


class IntType(Struct, frozen=True, gc=False):
    """An integer type; `bits` 1 is bool."""

    bits: int
    signed: bool

    @property
    def lowest(self) -> int:
        """The smallest value."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        """The largest value."""
        return (1 << (self.bits - self.signed)) - 1


BOOL = IntType(1, signed=False)
INT = IntType(32, signed=True)
UINT = IntType(32, signed=False)
LONG = IntType(64, signed=True)
ULONG = IntType(64, signed=False)


class Number(Struct, frozen=True):
    """What is known of an integer."""

    type: IntType | None = None
    """None: not known (then divisions and wrapping are not known either)."""
    values: tuple[int, ...] | None = None
    low: int | None = None
    high: int | None = None
    why: str | None = None
    definition: Definition | None = None
    linear: tuple[Linear, ...] = ()
    device: bool = False
    """Depends on what the device is: a property or an attribute that was queried."""
    occupancy: bool = False
    """Comes from an occupancy query of the runtime."""
    together: Together | None = None
    """Which of its values goes with which of others that the same calls give."""

    @property
    def value(self) -> int | None:
        """The value where there is one only."""
        return self.values[0] if self.values is not None and len(self.values) == 1 else None

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is known, not even its type: joined with others it stays so."""
        is_bounded = self.values is not None or self.low is not None or self.high is not None
        return self.type is None and not is_bounded and not self.linear

    # The changes that are made most often: `replace` costs several times as much.

    def typed(self, type_: IntType | None) -> Number:
        """The same, of another type."""
        return Number(
            *(type_, self.values, self.low, self.high, self.why, self.definition),
            *(self.linear, self.device, self.occupancy, self.together),
        )

    def defined(self, definition: Definition | None, linear: tuple[Linear, ...]) -> Number:
        """The same, as `definition` makes it."""
        return Number(
            *(self.type, self.values, self.low, self.high, self.why, definition),
            *(linear, self.device, self.occupancy, self.together),
        )

    def asked(self, *, device: bool) -> Number:
        """The same, depending on the device or not."""
        return self if device == self.device else replace(self, device=device)


def known(value: int, type_: IntType = INT, definition: Definition | None = None) -> Number:
    """One value."""
    return Number(type_, (value,), value, value, definition=definition)


def unknown(why: str, type_: IntType | None = None, *, device: bool = False) -> Number:
    """Nothing but the reason. An unsigned type still bounds it from below: that is not told."""
    return Number(type_, why=why, device=device)


def among(
    values: Iterable[int],
    type_: IntType | None,
    why: str | None = None,
    together: Together | None = None,
) -> Number:
    """One of `values`; bounds where there are too many."""
    ordered = tuple(sorted(set(values)))
    if len(ordered) > MAX_SET:
        return Number(type_, None, ordered[0], ordered[-1], why or "many values")
    return Number(type_, ordered, ordered[0], ordered[-1], together=together)


def between(low: int | None, high: int | None, type_: IntType | None, why: str | None) -> Number:
    """Bounds only (either may be absent)."""
    if low is not None and low == high:
        return Number(type_, (low,), low, high)
    return Number(type_, None, low, high, why)


def join(left: Number, right: Number) -> Number:
    """What it is where it is either: on one path `left`, on another `right`."""
    if left == right:
        return left
    type_ = left.type if left.type == right.type else None
    device = left.device or right.device
    occupancy = left.occupancy or right.occupancy
    linear = tuple(item for item in left.linear if item in right.linear)
    if left.values is not None and right.values is not None:
        joined = among(left.values + right.values, type_)
        same = left.definition if left.definition == right.definition else None
        return replace(joined, definition=same, device=device, linear=linear, occupancy=occupancy)
    low = None if left.low is None or right.low is None else min(left.low, right.low)
    high = None if left.high is None or right.high is None else max(left.high, right.high)
    joined = between(low, high, type_, left.why or right.why)
    return replace(joined, device=device, linear=linear, occupancy=occupancy)


def convert(number: Number, type_: IntType | None) -> Number:
    """The value as an integer of `type_` (an assignment or a cast)."""
    if type_ is None or number.type == type_:
        return number
    if type_ == BOOL:
        return truth(number)
    fits = _fits(number, type_)
    if number.values is not None:
        if fits:
            return number.typed(type_)
        values = [wrap(value, type_) for value in number.values]
        return among(values, type_).asked(device=number.device)
    if fits and number.low is not None and number.high is not None:
        return number.typed(type_)
    if number.low is None and number.high is None:
        # What a narrow type holds is no multiple of the wide value any more.
        kept = number.linear if type_.bits >= 32 else ()
        return replace(number, type=type_, linear=kept)
    # A bound holds after the conversion only where nothing can wrap below or above it.
    source = number.type
    low_ok = number.low is not None and number.low >= 0
    within = source is not None and source.highest <= type_.highest
    if source is not None and not source.signed:
        low_ok = True
    high = number.high if number.high is not None and (low_ok or type_.signed) else None
    if high is not None and high > type_.highest:
        high = None
    low = number.low if within and number.low is not None and number.low >= type_.lowest else None
    return replace(number, type=type_, low=low, high=high)


def extent(number: Number) -> Number:
    """The value as a dimension of a block or grid, which is unsigned.

    An upper bound stays where a signed value may be negative: such a launch cannot be meant.
    """
    converted = convert(number, UINT)
    if number.values is not None or number.high is None or converted.high is not None:
        return converted
    return replace(converted, high=number.high) if 0 <= number.high <= UINT.highest else converted


def truth(number: Number) -> Number:
    """The value as bool."""
    if number.values is not None:
        return among([int(v != 0) for v in number.values], BOOL).asked(device=number.device)
    if number.low is not None and number.low > 0:
        return known(1, BOOL).asked(device=number.device)
    return among((0, 1), BOOL).asked(device=number.device)


def wrap(value: int, type_: IntType) -> int:
    """`value` modulo the width of `type_`."""
    if type_ == BOOL:
        return int(value != 0)
    value &= (1 << type_.bits) - 1
    return value - (1 << type_.bits) if type_.signed and value > type_.highest else value


def _fits(number: Number, type_: IntType) -> bool:
    return (
        number.low is not None
        and number.high is not None
        and number.low >= type_.lowest
        and number.high <= type_.highest
    )


def promoted(type_: IntType | None) -> IntType | None:
    """Integer promotion: what is narrower than int becomes int."""
    return INT if type_ is not None and type_.bits < 32 else type_


@lru_cache(maxsize=512)
def common(left: IntType | None, right: IntType | None) -> IntType | None:
    """The type of a binary operation: C++'s usual arithmetic conversions."""
    left, right = promoted(left), promoted(right)
    if left is None or right is None:
        return None
    if left == right:
        return left
    if left.signed == right.signed:
        return left if left.bits > right.bits else right
    unsigned, signed = (right, left) if left.signed else (left, right)
    return signed if signed.bits > unsigned.bits else unsigned


class NotKnown(Exception):
    """An operation without a defined result."""


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise NotKnown("divides by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - right * _divide(left, right)


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": _remainder,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def binary(op: str, left: Number, right: Number) -> Number:
    """`left op right`."""
    device = left.device or right.device
    if op in ("&&", "||"):
        result = _logical(op, truth(left), truth(right))
    elif op in _COMPARISONS:
        result = _compare(op, left, right)
    elif op in ("<<", ">>"):
        result = _shift(op, left, right)
    elif op in _OPERATIONS:
        result = _arithmetic(op, left, right)
    else:
        result = unknown(f"operator {op} is not evaluated")
    return result.asked(device=device)


def _arithmetic(op: str, left: Number, right: Number) -> Number:
    type_ = common(left.type, right.type)
    if left.values is not None and right.values is not None:
        if type_ is None and (op in "/%" or min(*left.values, *right.values, 0) < 0):
            return unknown("the type is not known")
        if len(left.values) * len(right.values) > MAX_SET * MAX_SET:
            return unknown("many values", type_)
        try:
            values, together = paired(
                left,
                right,
                lambda a, b: _result(_OPERATIONS[op](_as(a, type_), _as(b, type_)), type_),
            )
        except NotKnown as reason:
            return unknown(str(reason), type_)
        found = among(values, type_, together=together)
        return found.defined(None, linear(op, left, right))
    bounds = _bounds(op, left, right, type_)
    why = left.why or right.why or "not known"
    if bounds == (None, None):
        return Number(type_, why=why, linear=linear(op, left, right))
    return between(*bounds, type_, why).defined(None, linear(op, left, right))


def _as(value: int, type_: IntType | None) -> int:
    return value if type_ is None else wrap(value, type_)


def _result(value: int, type_: IntType | None) -> int:
    if type_ is None:
        if not 0 <= value < 1 << 31:
            raise NotKnown("the type is not known")
        return value
    if type_.lowest <= value <= type_.highest:
        return value
    if type_.signed:
        raise NotKnown("overflows")
    return wrap(value, type_)


def _bounds(
    op: str, left: Number, right: Number, type_: IntType | None
) -> tuple[int | None, int | None]:
    """Bounds of `left op right` where one is not a set: for non-negative operands only, but for
    an upper bound that a constant keeps."""
    if left.low is None or right.low is None or left.low < 0 or right.low < 0:
        kept = _upper(op, left, right.value, type_)
        if kept is not None:
            return None, kept
        if op == "%" and type_ is not None and right.value is not None and right.value > 0:
            # Of a signed dividend the remainder may be negative.
            return (None if type_.signed else 0), right.value - 1
        if op == "&" and right.value is not None and right.value >= 0 and type_ is not None:
            return 0, right.value
        if op == "&" and left.value is not None and left.value >= 0 and type_ is not None:
            return 0, left.value
        return None, None
    limit = type_.highest if type_ is not None else None
    low: int | None
    high: int | None
    match op:
        case "+" | "*":
            low = _OPERATIONS[op](left.low, right.low)
            high = (
                None
                if left.high is None or right.high is None
                else _OPERATIONS[op](left.high, right.high)
            )
        case "/" if right.low > 0:
            low = None if right.high is None else left.low // right.high
            high = None if left.high is None else left.high // right.low
        case "%" if right.high is not None and right.low > 0:
            low, high = 0, right.high - 1
        case "&":
            highs = [bound for bound in (left.high, right.high) if bound is not None]
            low, high = 0, min(highs) if highs else None
        case _:
            return None, None
    if limit is None or high is None or high > limit:
        # It may wrap: then nothing bounds it from below either.
        return (None, None) if op in "+*" else (low, high)
    return low, high


def _upper(op: str, left: Number, by: int | None, type_: IntType | None) -> int | None:
    """The upper bound of `left op by`, where left may be negative: what is signed does not wrap."""
    if type_ is None or not type_.signed or left.high is None or by is None:
        return None
    if op not in "+-*/" or (op in "*/" and by <= 0):
        return None
    high = _OPERATIONS[op](left.high, by)
    return high if type_.lowest <= high <= type_.highest else None


def _compare(op: str, left: Number, right: Number) -> Number:
    type_ = common(left.type, right.type)
    compare = _COMPARISONS[op]
    if left.values is not None and right.values is not None:
        if type_ is None and min(*left.values, *right.values) < 0:
            return among((0, 1), BOOL)
        pairs, together = paired(
            left, right, lambda a, b: int(compare(_as(a, type_), _as(b, type_)))
        )
        return among(pairs, BOOL, together=together)
    if left.low is not None and right.high is not None and left.low > right.high >= 0:
        return known(int(op in (">", ">=", "!=")), BOOL)
    if left.high is not None and right.low is not None and 0 <= left.high < right.low:
        bounded = left.low is not None and left.low >= 0
        if bounded or (type_ is not None and type_.signed):
            return known(int(op in ("<", "<=", "!=")), BOOL)
    return among((0, 1), BOOL)


def _logical(op: str, left: Number, right: Number) -> Number:
    if op == "&&":
        if left.value == 0 or right.value == 0:
            return known(0, BOOL)
        return known(1, BOOL) if left.value == 1 and right.value == 1 else among((0, 1), BOOL)
    if left.value == 1 or right.value == 1:
        return known(1, BOOL)
    return known(0, BOOL) if left.value == 0 and right.value == 0 else among((0, 1), BOOL)


def _shift(op: str, left: Number, right: Number) -> Number:
    type_ = promoted(left.type)
    if left.values is None or right.values is None:
        return Number(type_, why=left.why or right.why or "not known")
    if type_ is None:
        return unknown("the type is not known")
    values = set()
    for value in left.values:
        for count in right.values:
            if not 0 <= count < type_.bits:
                return unknown("shifts out of range", type_)
            moved = value << count if op == "<<" else value >> count
            if op == "<<" and type_.signed and not type_.lowest <= moved <= type_.highest:
                return unknown("overflows", type_)
            values.add(wrap(moved, type_))
    result = among(values, type_)
    if op == "<<" and right.value is not None:
        scale = known(1 << right.value, type_)
        return replace(result, linear=linear("*", left, scale))
    return result


def unary(op: str, number: Number) -> Number:
    """`op number` for + - ~ !."""
    if op == "!":
        value = truth(number)
        if value.value is None:
            return value
        return known(1 - value.value, BOOL).asked(device=number.device)
    type_ = promoted(number.type)
    if op == "+" or number.values is None:
        if op == "+":
            return number.typed(type_)
        return unknown(number.why or "not known", type_, device=number.device)
    if type_ is None:
        return unknown("the type is not known")
    try:
        values = [_result(-v if op == "-" else _as(~v, type_), type_) for v in number.values]
    except NotKnown as reason:
        return unknown(str(reason), type_)
    return among(values, type_).asked(device=number.device)


def minimum(left: Number, right: Number) -> Number:
    """`std::min(left, right)`: a bound where one operand has one."""
    return _extreme(left, right, largest=False)


def maximum(left: Number, right: Number) -> Number:
    """`std::max(left, right)`."""
    return _extreme(left, right, largest=True)


def _extreme(left: Number, right: Number, *, largest: bool) -> Number:
    choose: Callable[[int, int], int] = max if largest else min
    type_ = common(left.type, right.type)
    device = left.device or right.device
    if left.values is not None and right.values is not None:
        values, together = paired(left, right, lambda a, b: choose(_as(a, type_), _as(b, type_)))
        return among(values, type_, together=together).asked(device=device)
    why = left.why or right.why or "not known"
    both_low = [n.low for n in (left, right) if n.low is not None]
    both_high = [n.high for n in (left, right) if n.high is not None]
    low: int | None
    high: int | None
    if largest:
        low = max(both_low) if both_low else None
        high = max(both_high) if len(both_high) == 2 else None
    else:
        low = min(both_low) if len(both_low) == 2 else None
        high = min(both_high) if both_high else None
    return between(low, high, type_, why).asked(device=device)
