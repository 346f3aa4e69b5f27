"""Whether a kernel has opted into more than 48 KiB of shared memory when a launch comes.

Opting in counts per instantiation and is sticky: a call in any function may have come before.
So only two things are known to fail: no call in the workspace can be for this instantiation, or
the last call before the launch, in the same function and on every path, asks for too little.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from occlsp.analysis.sources import AttributeSite, KernelSite, LaunchSite, Sources
from occlsp.source.facts import Kernel, Launch
from occlsp.source.text import Span


class Verdict(Struct, frozen=True):
    """Whether a kernel is opted in: "may" (a call does it, or may), "none" (no call can), "limited"
    (to `limit` bytes)."""

    state: Literal["may", "none", "limited"]
    limit: int | None = None
    site: AttributeSite | None = None
    """The call that limits."""

    @property
    def is_opted_in(self) -> bool:
        """Whether the 48 KiB rule is off, as far as anybody can tell."""
        return self.state != "none"


MAY = Verdict("may")
NONE = Verdict("none")


def verdict(sources: Sources, site: LaunchSite, kernel: KernelSite) -> Verdict:
    """What the calls in view do for `kernel` at a launch."""
    launch = site.launch
    calls = [
        call
        for call in sources.attributes_of(kernel.kernel.name)
        if call.attribute.attribute == "max_dynamic_smem" and not call.attribute.inactive
    ]
    for_it = [call for call in calls if _may_be_for(call, launch, kernel.kernel)]
    last = _last_before(sources, site, for_it)
    if last is not None and last.attribute.value.value is not None:
        return Verdict("limited", max(0, last.attribute.value.value), last)
    if for_it or any(
        facts is not None and facts.macros_may_set_attributes
        for facts in (sources.facts(site.path), sources.facts(kernel.path))
    ):
        return MAY
    return NONE


def _may_be_for(call: AttributeSite, launch: Launch, kernel: Kernel) -> bool:
    if call.attribute.kernel is None or not kernel.is_template:
        return True
    ours, theirs = launch.template_args_known, call.attribute.template_args_known
    if ours is None or theirs is None or len(ours) != len(theirs):
        return True
    return [_plain(arg) for arg in ours] == [_plain(arg) for arg in theirs]


def _plain(argument: str) -> str:
    return re.sub(r"\s+", "", argument)


def _last_before(
    sources: Sources, site: LaunchSite, calls: list[AttributeSite]
) -> AttributeSite | None:
    """The last call before the launch in its function, if it is made on every path to it."""
    launch = site.launch
    before = [
        call
        for call in calls
        if call.path == site.path
        and call.attribute.function is not None
        and call.attribute.function == launch.function
        and launch.function_span is not None
        and launch.function_span.start <= call.attribute.span.start < launch.span.start
    ]
    last = max(before, key=lambda call: call.attribute.span.start, default=None)
    if last is None or last.attribute.kernel is None or not _is_surely_it(last, launch):
        return None
    if last.attribute.guarded or last.attribute.in_macro or launch.in_macro:
        return None
    file = sources.file(site.path)
    if file is None:
        return None
    return last if is_always_before(file.masked, last.attribute.span, launch.span) else None


def _is_surely_it(call: AttributeSite, launch: Launch) -> bool:
    attribute = call.attribute
    if attribute.template_args == launch.template_args:
        return True
    known = attribute.template_args_known
    return known is not None and known == launch.template_args_known


_CONDITIONAL = re.compile(rb"\b(if|else|for|while|case|default|switch|return)\b|\?|&&|\|\||#")
_NESTING = {ord("{"): 1, ord("}"): -1}


def is_always_before(text: bytes, first: Span, second: Span) -> bool:
    """Whether control that reaches `second` has passed `first`, by the nesting of braces.

    `text` has its comments and literals blanked. Loops and jumps backwards are not looked at:
    the answer is for straight code, anything else is False.
    """
    depth = 0
    for byte in text[first.end : second.start]:
        depth += _NESTING.get(byte, 0)
        if depth < 0:
            return False
    head = text[: first.start]
    start = max(head.rfind(b";"), head.rfind(b"{"), head.rfind(b"}")) + 1
    return _CONDITIONAL.search(head[start:]) is None
