"""Where the values of a file are defined in others, and where that is after those were edited.

What others see of a file (`FileIndex.exports`) does not tell of places: a line that is typed above
a constant changes no fact of who includes it but this one, and a fix would edit the wrong text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, structs

from occlsp.source.facts import Definition, Value, Value3
from occlsp.source.incremental import Edit
from occlsp.source.moving import Move
from occlsp.source.reuse import K, Memory
from occlsp.source.text import Span
from occlsp.source.view import FileIndex

if TYPE_CHECKING:
    from occlsp.source.entries import Entry
    from occlsp.source.local_facts import LocalFacts


class Anchor(NamedTuple):
    """The value of a constant, or the body of a macro, that definitions stand in."""

    macro: str | None
    number: int
    """Among the macros of this name, or among all constants."""
    span: Span

    def now(self, index: FileIndex) -> Span | None:
        """Where it is in another state of the file."""
        items = index.all_constants if self.macro is None else index.defines.get(self.macro, ())
        if self.number >= len(items):
            return None
        item = items[self.number]
        value = getattr(item, "value" if self.macro is None else "body")
        return value.span if value is not None else None


class Places(Struct, frozen=True):
    """What of another file was looked at."""

    digest: bytes
    """Of its content."""
    anchors: tuple[Anchor, ...] = ()
    """Where the definitions stand; only of what an open file depends on."""


def places_of(
    path: str, local: LocalFacts, files: Mapping[str, Entry], *, is_open: bool
) -> dict[str, Places]:
    """The other files that values of a file's facts are defined in."""
    found: dict[str, set[Span]] = {}
    for one in _definitions(local):
        if one.path != path and one.path in files:
            found.setdefault(one.path, set()).add(one.span)
    return {
        other: Places(
            files[other].digest, tuple(_anchors(files[other].index, spans)) if is_open else ()
        )
        for other, spans in found.items()
    }


def _definitions(local: LocalFacts) -> Iterator[Definition]:
    for value in _values(local):
        if value is not None:
            if value.definition is not None:
                yield value.definition
            if isinstance(value, Value3):
                yield from (one.definition for one in value.components if one.definition)


def _values(local: LocalFacts) -> Iterator[Value | Value3 | None]:
    for launch in local.launches:
        yield from (launch.grid, launch.block, launch.dynamic_smem, launch.cluster)
    for attribute in local.attributes:
        yield attribute.value
    for _, kernel in local.kernels:
        yield from (kernel.maxnreg, kernel.block_size, kernel.cluster_dims)
        bounds = kernel.launch_bounds
        if bounds is not None:
            yield from (bounds.max_threads, bounds.min_blocks, bounds.max_blocks_per_cluster)


def _anchors(index: FileIndex, spans: Iterable[Span]) -> Iterator[Anchor]:
    constants = ((None, n, c.value) for n, c in enumerate(index.all_constants))
    macros = ((d.name, n, d.body) for many in index.defines.values() for n, d in enumerate(many))
    for macro, number, value in (*constants, *macros):
        if value is not None and any(_holds(value.span, span) for span in spans):
            yield Anchor(macro, number, value.span)


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def are_same(places: Mapping[str, Places], files: Mapping[str, Entry]) -> bool:
    """Whether all files that something is defined in are as they were."""
    return all(p in files and files[p].digest == was.digest for p, was in places.items())


def moved_elsewhere(local: LocalFacts, files: Mapping[str, Entry]) -> LocalFacts | None:
    """The facts of a file with the places in others as they are now; None where that is not
    known, and they have to be read anew."""
    if are_same(local.places, files):
        return local
    moved: dict[str, dict[Span, Span]] = {}
    places: dict[str, Places] = {}
    for path, was in local.places.items():
        now = files.get(path)
        spans = [one.now(now.index) for one in was.anchors] if now is not None else []
        if now is None or not spans or None in spans:
            return None
        anchors = [
            one._replace(span=span) for one, span in zip(was.anchors, spans, strict=True) if span
        ]
        places[path] = Places(now.digest, tuple(anchors))
        moved[path] = {old.span: new.span for old, new in zip(was.anchors, anchors, strict=True)}
    move = _MoveElsewhere(moved)
    told = _told(local, move)
    if move.is_lost:
        return None
    memory = local.memory and _remembered(local.memory, move, places)
    return replace(told, places=places, memory=memory)


def _told(local: LocalFacts, move: Move) -> LocalFacts:
    return replace(
        local,
        kernels=tuple([(raw, move.kernel(kernel)) for raw, kernel in local.kernels]),
        launches=tuple(move.launches(local.launches)),
        attributes=tuple(move.attributes(local.attributes)),
        bounds={},
    )


def _remembered(memory: Memory, move: _MoveElsewhere, places: dict[str, Places]) -> Memory:
    """What is kept for the next reading, without what stands where nobody knows."""
    told = memory.told and replace(_told(memory.told, move), places=places)
    return replace(
        memory,
        kernels=move.kept(memory.kernels),
        functions=move.kept(memory.functions),
        calls=move.kept(memory.calls),
        elsewhere={},
        fuller=None,
        told=told,
    )


class _MoveElsewhere(Move):
    """Moves what stands in other files that were edited; in its own nothing moves."""

    def __init__(self, moved: Mapping[str, Mapping[Span, Span]]) -> None:
        """`moved`: where values stand now, by the file and where they stood."""
        super().__init__("", Edit(_BEHIND_ALL, _BEHIND_ALL, _BEHIND_ALL))
        self.moved = moved

    def definition(self, one: Definition | None) -> Definition | None:
        if one is None or one.path not in self.moved:
            return one
        for old, new in self.moved[one.path].items():
            if _holds(old, one.span):
                start, end = (offset + new.start - old.start for offset in one.span)
                return structs.replace(one, span=Span(start, end))
        self.is_lost = True
        return one

    def kept(self, table: dict[Span, list[K]]) -> dict[Span, list[K]]:
        """What is still known of pieces of the file."""
        found: dict[Span, list[K]] = {}
        for span, many in table.items():
            for one in many:
                self.is_lost = False
                moved = one.moved(self)
                if not self.is_lost:
                    found.setdefault(span, []).append(moved)
        return found


_BEHIND_ALL = 1 << 62
