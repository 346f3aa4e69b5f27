"""An edit that changes nothing but where things stand: all facts of the file are moved at once.

Most keystrokes are of this kind: a comment, a statement of a function that launches nothing, one
whose names decide nothing. What is looked up function by function after other edits costs several
times as much where functions call each other.
"""

from __future__ import annotations

from occlsp.source.harmless import harmless_words, idle_words, parameters_of
from occlsp.source.ignores import ignores
from occlsp.source.incremental import Edit
from occlsp.source.kernel_facts import kernel_facts
from occlsp.source.local_facts import LocalFacts
from occlsp.source.passing import callables
from occlsp.source.reuse import Earlier, Reuse
from occlsp.source.shared_memory import SharedMemory, users_in_view
from occlsp.source.syntax import FileSyntax, Function
from occlsp.source.text import Span
from occlsp.source.view import View

_LISTS = ("functions", "launches", "calls", "kernels", "defines", "aliases", "shared", "includes")
_NEVER = frozenset(("__shared__", "main"))
"""Names that say more of a function than what it calls."""


def moved_facts(path: str, syntax: FileSyntax, view: View, reuse: Reuse) -> LocalFacts | None:
    """The facts of a file after an edit that touched none of them, or that took back the one before
    it; None where it may have."""
    for earlier in reuse.readings():
        found = _moved(earlier, path, syntax, view, reuse)
        if found is not None:
            earlier.before.waited = 0
            return found
    return None


def _moved(
    earlier: Earlier, path: str, syntax: FileSyntax, view: View, reuse: Reuse
) -> LocalFacts | None:
    told = earlier.before.told
    if told is None or earlier.affected or not earlier.is_same_beside:
        return None
    if told.asks_callers and earlier.before.others != reuse.others():
        return None
    old = earlier.before.syntax
    if any(len(getattr(old, name)) != len(getattr(syntax, name)) for name in _LISTS):
        return None
    if {one.span for one in old.functions} != {earlier.old_span(f.span) for f in syntax.functions}:
        return None
    if len(told.kernels) != len(syntax.kernels) or not _is_harmless(earlier, syntax, view, reuse):
        return None
    move = earlier.move
    move.is_lost = False
    kernels, bounds = [], {}
    for number, (raw, (_, kernel)) in enumerate(zip(syntax.kernels, told.kernels, strict=True)):
        if earlier.is_inside(raw.span):
            shared = SharedMemory(path, syntax, view, users_in_view(view))
            kernels.append((raw, kernel_facts(raw, path, syntax, view, shared)))
            continue
        kernels.append((raw, move.kernel(kernel)))
        if number in told.bounds:
            arguments, instances = told.bounds[number]
            bounds[number] = arguments, tuple(map(move.instance, instances))
    facts = LocalFacts(
        tuple(kernels),
        tuple(move.launches(told.launches)),
        tuple(move.attributes(told.attributes)),
        ignores(syntax.text),
        told.macros_may_set_attributes,
        told.asks_callers,
        memory=earlier.before,
        kernel_names={**told.kernel_names, **reuse.memory.kernel_names},
        bounds=bounds,
        beside=told.beside,
        places=told.places,
    )
    return None if move.is_lost else facts


def _is_harmless(earlier: Earlier, syntax: FileSyntax, view: View, reuse: Reuse) -> bool:
    """Whether an edit changes no statement that says anything of launches or calls."""
    before = earlier.before
    around = [function for function in syntax.functions if earlier.is_inside(function.span)]
    if not around:
        edit = earlier.edit
        is_between = not _is_told(before.syntax.masked, edit.start)
        return is_between and _is_layout(before.syntax.masked, syntax.masked, edit)
    names = before.asked.names.union(view.indexes[-1].kernels, reuse.launching, _NEVER)
    return all(_leaves_alone(earlier, function, names) for function in around)


def _leaves_alone(earlier: Earlier, function: Function, names: frozenset[str]) -> bool:
    """Whether an edit of a function changes nothing that is known of it, nor of what it calls."""
    before, edit = earlier.before, earlier.edit
    span, body = earlier.old_span(function.span), function.body
    old, new = before.syntax.masked, earlier.now.syntax.masked
    bodies = Span(body.start, body.end - edit.delta), body
    facts, calls = before.functions.get(span, ()), before.calls.get(span, ())
    if not calls and body.start in before.asked.bodies:
        return False
    if not facts and not calls:
        words = idle_words(old, new, *bodies, edit)
        return words is not None and words.isdisjoint(names.union(callables(function)))
    deciding = frozenset().union(*(kept.names for kept in (*facts, *calls)))
    names = names.union(*(kept.wanted for kept in calls))
    parameters = parameters_of(function)
    return harmless_words(old, new, *bodies, edit, deciding, names, parameters) is not None


def _is_told(text: bytes, place: int) -> bool:
    """Whether a place may be in what is told as it is laid out: it is in brackets, as a launch's
    arguments are, or in the head of a kernel."""
    start = max(text.rfind(mark, 0, place) for mark in (b";", b"{", b"}"))
    before = text[start + 1 : place]
    return before.count(b"(") != before.count(b")") or b"<<<" in before or b"__global__" in before


def _is_layout(old: bytes, new: bytes, edit: Edit) -> bool:
    """Whether the lines around an edit say the same before and after it, and are no directives."""
    was = _lines(old, edit.start, edit.old_end)
    now = _lines(new, edit.start, edit.new_end)
    return was == now and not any(b"#" in line or b"\\" in line for line in was)


def _lines(text: bytes, start: int, end: int) -> list[bytes]:
    """The lines that a piece of text is in, with the one before them, however they are laid out."""
    first = text.rfind(b"\n", 0, max(text.rfind(b"\n", 0, start), 0)) + 1
    last = text.find(b"\n", end)
    lines = text[first : len(text) if last < 0 else last].splitlines()
    return [b" ".join(words) for line in lines if (words := line.split())]
