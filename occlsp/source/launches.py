"""Launches in every form, and the calls that set a kernel's attributes or ask for its occupancy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from occlsp.source.brackets import match_angle, skip_blanks
from occlsp.source.callees import callee_before, callee_name
from occlsp.source.fragment import Fragment, occurrences
from occlsp.source.syntax import Expr, RawCall, RawLaunch
from occlsp.source.text import IDENTIFIER, Span

_CONFIG = re.compile(rb">{3,}|[({\[;]")
_WORD = re.compile(IDENTIFIER)
_PREFIX = re.compile(rb"(?<![0-9A-Za-z_])(?:cuda|cu|hip|hipModule|hipExt)\Z")
_STATEMENT_BORDER = (b";", b"{", b"}")
_LABEL = re.compile(
    rb"\s*(?:else\b|do\b|case\b[^;{}?]*?(?<!:):(?!:)|default\s*:|" + IDENTIFIER + rb"\s*:(?!:))"
)
_WORD_BEFORE = re.compile(IDENTIFIER + rb"\Z")
_CLASS_BEFORE = re.compile(rb"(" + IDENTIFIER + rb")\s*::\s*(?:" + IDENTIFIER + rb"\s*::\s*)*\Z")
_MAY_PRECEDE_CALL = frozenset((b"return", b"else", b"do", b"co_return", b"co_await", b"throw"))
_FARTHEST = 16384


class Api(NamedTuple):
    """Which arguments of a launching function hold what; -1: none does."""

    callee: int
    config: tuple[int | tuple[int, int, int], ...] = ()
    arguments: int = -1


_RUNTIME = Api(0, (1, 2, 4, 5), 3)
_DRIVER = Api(0, ((1, 2, 3), (4, 5, 6), 7, 8), 9)
LAUNCH_APIS = {
    "cudaLaunchKernel": _RUNTIME,
    "cudaLaunchKernel_ptsz": _RUNTIME,
    "cudaLaunchCooperativeKernel": _RUNTIME,
    "cudaLaunchCooperativeKernel_ptsz": _RUNTIME,
    "cudaLaunchKernelEx": Api(1),
    "cudaLaunchKernelExC": Api(1),
    "cudaLaunchKernelExC_ptsz": Api(1),
    "cudaLaunchCooperativeKernelMultiDevice": Api(0),
    "cuLaunchKernel": _DRIVER,
    "cuLaunchKernel_ptsz": _DRIVER,
    "cuLaunchCooperativeKernel": _DRIVER,
    "cuLaunchCooperativeKernelMultiDevice": Api(0),
    "cuLaunchKernelEx": Api(1),
    "hipLaunchKernelGGL": Api(0, (1, 2, 3, 4)),
    "hipLaunchKernel": _RUNTIME,
    "hipLaunchCooperativeKernel": _RUNTIME,
    "hipLaunchKernelExC": Api(1),
    "hipExtLaunchKernelGGL": Api(0, (1, 2, 3, 4)),
    "hipModuleLaunchKernel": _DRIVER,
    "hipExtModuleLaunchKernel": _DRIVER,
}


def chevrons(code: bytes, start: int, end: int) -> Iterator[int]:
    """Offsets of the `<<<` in `code[start:end]`."""
    for offset in occurrences(code, b"<<<", start, end):
        if code[offset - 1 : offset] != b"<" and code[offset + 3 : offset + 4] != b"<":
            yield offset


def api_names(code: bytes, start: int, end: int) -> list[Span]:
    """The names of launching, attribute and occupancy functions in `code[start:end]`."""
    found = set()
    for word in (b"Launch", b"FuncSet", b"Occupancy"):
        for offset in occurrences(code, word, start, end):
            prefix = _PREFIX.search(code, max(offset - 12, 0), offset)
            if prefix is not None:
                name = _WORD.match(code, prefix.start(), end)
                assert name is not None
                found.add(Span(*name.span()))
    return sorted(found)


def chevron_launch(fragment: Fragment, token: int, function: int | None = None) -> RawLaunch | None:
    """The launch, in `function`, whose `<<<` is at `token`; None where it is none."""
    callee = callee_before(fragment, token)
    end = _config_end(fragment, token + 3)
    if callee is None or end is None:
        return None
    opening = skip_blanks(fragment.code, end, fragment.end)
    closing = None
    if opening < fragment.end and fragment.code[opening] == 0x28:
        closing = fragment.closed(opening)
    name, template_args = callee_name(fragment, callee)
    return RawLaunch(
        api="<<<>>>",
        span=Span(token, token + 3),
        callee=fragment.expression(callee.start, callee.end),
        callee_name=fragment.words(name.start, name.end),
        template_args=tuple(fragment.expression(one.start, one.end) for one in template_args),
        config=fragment.expressions(token + 3, end - 3),
        config_span=Span(token, end),
        arguments=() if closing is None else fragment.expressions(opening + 1, closing),
        statement=statement_around(fragment, callee.start, end if closing is None else closing + 1),
        function=function,
    )


def _config_end(fragment: Fragment, position: int) -> int | None:
    """After the `>>>` that closes the configuration that begins at `position`."""
    code = fragment.code
    following = code.find(b"<<<", position, fragment.end)
    limit = min(fragment.end, position + _FARTHEST, fragment.end if following < 0 else following)
    while True:
        match = _CONFIG.search(code, position, limit)
        if match is None or match[0] == b";":
            return None
        if match[0][0] == 0x3E:
            return match.end()
        closing = fragment.closed(match.start())
        if closing is None:
            return None
        position = closing + 1


def call_at(fragment: Fragment, name: Span, function: int | None = None) -> RawCall | None:
    """The call, in `function`, of what is named at `name`; None where it is declared there, or
    only named."""
    code = fragment.code
    opening = skip_blanks(code, name.end, fragment.end)
    if opening < fragment.end and code[opening] == 0x3C:
        angle = match_angle(code, opening, min(fragment.end, opening + 4096))
        opening = fragment.end if angle is None else skip_blanks(code, angle + 1, fragment.end)
    if opening >= fragment.end or code[opening] != 0x28:
        return None
    closing = fragment.closed(opening)
    if closing is None or _is_declared(fragment, name.start):
        return None
    return RawCall(
        name=code[name.start : name.end].decode("utf-8", "replace"),
        span=name,
        arguments=fragment.expressions(opening + 1, closing),
        arguments_span=Span(opening + 1, closing),
        statement=statement_around(fragment, name.start, closing + 1),
        function=function,
    )


def _is_declared(fragment: Fragment, offset: int) -> bool:
    """Whether a type stands in front of a name that a parenthesis follows."""
    before = fragment.text_before(offset)
    if fragment.code.endswith(b"::", fragment.start, before):
        class_ = _CLASS_BEFORE.search(fragment.code, max(fragment.start, before - 256), before)
        if class_ is not None and class_[1] not in _MAY_PRECEDE_CALL:
            before = fragment.text_before(class_.start())  # `Result Driver::cuLaunchKernel(`
    word = _WORD_BEFORE.search(fragment.code, max(fragment.start, before - 64), before)
    return word is not None and word[0] not in _MAY_PRECEDE_CALL


def launch_of_call(fragment: Fragment, call: RawCall) -> RawLaunch | None:
    """The launch that a call of a launching function makes."""
    api = LAUNCH_APIS.get(call.name)
    if api is None or len(call.arguments) <= api.callee:
        return None
    callee = call.arguments[api.callee]
    name, template_args = callee_name(fragment, callee.span)
    return RawLaunch(
        api=call.name,
        span=call.span,
        callee=callee,
        callee_name=fragment.words(name.start, name.end),
        template_args=tuple(fragment.expression(one.start, one.end) for one in template_args),
        config=_config(api, call.arguments),
        config_span=call.arguments_span,
        arguments=call.arguments,
        statement=call.statement,
        function=call.function,
        conditions=call.conditions,
    )


def _config(api: Api, arguments: tuple[Expr, ...]) -> tuple[Expr, ...]:
    config: list[Expr] = []
    for index in api.config:
        if isinstance(index, int):
            if index >= len(arguments):
                break
            config.append(arguments[index])
            continue
        if index[-1] >= len(arguments):
            break
        x, y, z = (arguments[one] for one in index)
        text = f"dim3({x.text}, {y.text}, {z.text})"
        config.append(Expr(text, Span(x.span.start, z.span.end)))
    return tuple(config)


def statement_around(fragment: Fragment, start: int, end: int) -> Span:
    """The statement that holds `code[start:end]`, labels and `else` left out."""
    code = fragment.code
    low = max(fragment.start, start - _FARTHEST)
    border = start
    for _ in range(8):
        border = max(code.rfind(mark, low, border) for mark in _STATEMENT_BORDER)
        if border < 0:
            break
        if code[border] != 0x3B or code.count(b")", border, start) <= code.count(
            b"(", border, start
        ):
            break
    first = max(border + 1, low)
    while (label := _LABEL.match(code, first, start)) is not None:
        first = label.end()
    semicolon = code.find(b";", end, min(fragment.end, end + _FARTHEST))
    return Span(skip_blanks(code, first, end), end if semicolon < 0 else semicolon + 1)
