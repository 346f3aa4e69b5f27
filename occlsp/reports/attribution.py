"""Which kernel a line of numbers belongs to, where several compilers write into one log.

A compiler says of each entry, in this order: that it compiles it (`Compiling entry function`),
its name again (`Function properties for`), its stack and spills, what it `Used`. The lines of a
device function are its properties and its stack. So a line of numbers belongs to the one block
that waits for it; where two blocks wait, nobody can tell, and neither gets a number.

Logs that went through a filter lack some kinds of lines altogether. Numbers are then put to the
block before them, provisionally: one line of the missing kind proves the log whole, and what was
put by the weaker rule is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

_PATIENCE = 64
"""Lines of the compilers that a begun block waits for its rest, before it counts as cut off."""
_MOST_PENDING = 100_000
_MOST_LOST = 10_000


class Numbers(NamedTuple):
    """What a `Used` line says. Absent things are 0 or None, as the line is whole or not."""

    registers: int
    static_smem: int | None
    barriers: int | None
    stack: int | None
    """Of nvlink's form only."""
    cumulative_stack: int | None
    cmem: dict[str, int]


class Stack(NamedTuple):
    """The stack frame and the spills, in bytes."""

    frame: int
    stores: int
    loads: int


@dataclass(slots=True)
class Block:
    """The lines about one entry, as far as they came."""

    name: str
    arch: str | None
    number: int
    """Of its first line in the log."""
    is_function: bool = False
    ambiguous: bool = False
    stack: Stack | None = None
    used: Numbers | None = None
    opened: int = 0
    missing: str | None = None
    """The kind of line that the log seems to lack, where the numbers were put by the weak rule."""


@dataclass(slots=True)
class _Announced:
    archs: list[str]
    number: int
    mixed: bool = False
    """Announced for several architectures at a time: which comes first is not known."""


class Attribution:
    """The state of one stream of a log. Feed it line by line, then `finish` it."""

    def __init__(self) -> None:
        self.lost: list[Block] = []
        """Entries that get no number: ambiguous, or cut off."""
        self.functions: dict[str, None] = {}
        """Names that have properties and are no entries."""
        self._announced: dict[str, _Announced] = {}
        self._want_stack: list[Block] = []
        self._want_used: list[Block] = []
        self._function: Block | None = None
        """A function's block, where the last line completed it."""
        self._weak: list[Block] = []
        self._seen: set[str] = set()
        self._lines = 0

    @property
    def is_idle(self) -> bool:
        """Whether no entry is begun."""
        return not (self._announced or self._want_stack or self._want_used)

    @property
    def after_function(self) -> bool:
        """Whether the last line completed the block of a device function."""
        return self._function is not None

    def announce(self, name: str, arch: str, number: int) -> None:
        """Takes a line `Compiling entry function 'name' for 'arch'`."""
        self._step("announced")
        if len(self._announced) < _MOST_PENDING:
            known = self._announced.setdefault(name, _Announced([], number))
            known.archs.append(arch)
            known.mixed |= len(set(known.archs)) > 1

    def properties(self, name: str, number: int) -> None:
        """Takes a line `Function properties for name`."""
        self._step("properties")
        known = self._announced.get(name)
        if known is None and self._is_cut_off(name):
            self.garbled()
            return
        block = Block(name, None, number, is_function=known is None, opened=self._lines)
        self._want_stack.append(block)
        if known is not None:
            block.arch = known.archs.pop(0)
            block.ambiguous = known.mixed
            if not known.archs:
                del self._announced[name]

    def stack(self, stack: Stack) -> None:
        """Takes a line of stack and spills."""
        self._step("stack")
        if len(self._want_stack) > 1:
            _confuse(self._want_stack)
        block: Block | None = None
        if self._want_stack:
            block = self._want_stack.pop()
        elif "properties" not in self._seen:
            block = self._only_announced()
        if block is None:
            return
        block.stack = stack
        if block.is_function:
            self.functions.setdefault(block.name)
            self._function = block
        else:
            self._want_used.append(block)

    def used(self, numbers: Numbers) -> Block | None:
        """Takes a `Used` line; returns the block that it completes, where that is certain."""
        function = self._function
        self._step("used")
        waiting = self._want_used or self._weakly_waiting(function)
        if len(waiting) > 1:
            _confuse(waiting)
        if not waiting:
            return None
        block = waiting[-1]  # where nobody can tell, the oldest goes on waiting, and expires
        block.used = numbers
        self._want_used = [other for other in self._want_used if other is not block]
        self._want_stack = [other for other in self._want_stack if other is not block]
        if block.ambiguous:
            self._lose(block)
        elif block.missing is not None:
            self._weak.append(block)
        else:
            return block
        return None

    def garbled(self) -> None:
        """Takes a line in which two are mixed: it may belong to any block that is open."""
        _confuse(self._want_stack)
        _confuse(self._want_used)

    def finish(self) -> Iterator[Block]:
        """Ends the stream; yields the blocks of a filtered log."""
        for block in self._weak:
            if block.missing in self._seen:
                block.ambiguous = True
                self._lose(block)
            else:
                self.functions.pop(block.name, None)
                yield block
        self._give_up([*self._want_stack, *self._want_used])
        for name, known in self._announced.items():
            self._lose(Block(name, known.archs[0], known.number, ambiguous=known.mixed))

    def _step(self, kind: str) -> None:
        self._seen.add(kind)
        self._function = None
        self._lines += 1
        if self._lines % 16 == 0:
            self._want_stack = self._without_expired(self._want_stack)
            self._want_used = self._without_expired(self._want_used)

    def _without_expired(self, blocks: list[Block]) -> list[Block]:
        oldest = self._lines - _PATIENCE
        self._give_up([block for block in blocks if block.opened < oldest])
        return [block for block in blocks if block.opened >= oldest]

    def _give_up(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            if not block.is_function:
                self._lose(block)

    def _lose(self, block: Block) -> None:
        if len(self.lost) < _MOST_LOST:
            self.lost.append(block)

    def _is_cut_off(self, name: str) -> bool:
        few = len(self._announced) <= _PATIENCE
        return few and any(announced.startswith(name) for announced in self._announced)

    def _weakly_waiting(self, function: Block | None) -> list[Block]:
        """The block before, in a log that seems to lack a kind of line."""
        if function is not None and "announced" not in self._seen:
            function.missing = "announced"
            return [function]
        entries = [block for block in self._want_stack if not block.is_function]
        if entries and "stack" not in self._seen:
            for entry in entries:
                entry.missing = "stack"
            return entries
        if "properties" not in self._seen and (block := self._only_announced()):
            return [block]
        return []

    def _only_announced(self) -> Block | None:
        """The entry announced last, where it is the only one; else none of them gets numbers."""
        blocks = [
            Block(name, known.archs[0], known.number, opened=self._lines, missing="properties")
            for name, known in self._announced.items()
        ]
        mixed = any(known.mixed for known in self._announced.values())
        self._announced.clear()
        if len(blocks) == 1 and not mixed:
            return blocks[0]
        _confuse(blocks)
        for block in blocks:
            self._lose(block)
        return None


def _confuse(blocks: Iterable[Block]) -> None:
    for block in blocks:
        block.ambiguous = True
