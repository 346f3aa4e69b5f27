"""What the scanner found, and how a text reads in one branch of each `#if`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct, field

from occlsp.source.heads import Plain
from occlsp.source.mask import blank
from occlsp.source.states import Block, Checkpoint, Conditions, Statement
from occlsp.source.syntax import Define, Include
from occlsp.source.text import Span


class Scan(Struct):
    """A file's scopes, directives and `#if` branches, each list in the order of the text."""

    code: bytes = b""
    end: int = 0
    blocks: list[Block] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    defines: list[Define] = field(default_factory=list)
    includes: list[Include] = field(default_factory=list)
    condition_starts: list[int] = field(default_factory=list)
    condition_sets: list[Conditions] = field(default_factory=list)
    dead: list[Span] = field(default_factory=list)
    scope_starts: list[int] = field(default_factory=list)
    scope_names: list[tuple[str, ...]] = field(default_factory=list)
    """Of the namespace or class that holds from the offset of the same index on."""
    checkpoints: list[int] = field(default_factory=list)
    """Between two of these, facts depend on nothing but the text between them."""
    states: list[Checkpoint] = field(default_factory=list)
    heads: dict[int, tuple[Plain, int]] = field(default_factory=dict)
    """The functions' heads of the usual form by the offset of their braces, and what their own
    offsets lack: for who reads what was scanned."""
    unclosed: list[str] = field(default_factory=list)
    """Kinds of the scopes that the text leaves open, innermost first."""
    is_cut: bool = False
    """The file has more declarations than are read."""

    def conditions_at(self, offset: int) -> Conditions:
        """The `#if` branches around an offset."""
        return self.condition_sets[bisect_right(self.condition_starts, offset) - 1]

    def is_branched(self, start: int, end: int) -> bool:
        """Whether an `#if`, `#else` or `#endif` stands between two offsets."""
        return self.branches_between(start, end) > 0

    def branches_between(self, start: int, end: int) -> int:
        """How many of them do."""
        starts = self.condition_starts
        return bisect_right(starts, end) - bisect_right(starts, start)


def one_branch(
    piece: bytes,
    start: int,
    at: int,
    condition_starts: Sequence[int],
    condition_sets: Sequence[Conditions],
    chosen: dict[int, int] | None = None,
) -> bytes:
    """`piece`, which stands at `start`, with the `#if` branches blanked that exclude `at`.

    Of the groups that `at` is not in, the branch in `chosen` stays, or else the first.
    """
    first = bisect_right(condition_starts, start)
    last = bisect_right(condition_starts, start + len(piece) - 1)
    if first == last:
        return piece
    kept = dict(chosen or {})
    kept.update((c.group, c.branch) for c in condition_sets[bisect_right(condition_starts, at) - 1])
    result = bytearray(piece)
    for index in range(first - 1, last):
        if all(kept.setdefault(c.group, c.branch) == c.branch for c in condition_sets[index]):
            continue
        left = max(condition_starts[index] - start, 0)
        right = condition_starts[index + 1] - start if index + 1 < last else len(piece)
        result[left:right] = blank(right - left)
    return bytes(result)
