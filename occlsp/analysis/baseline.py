"""Baselines: what every kernel came to, as a text file, and what changed since.

One line a kernel instantiation, architecture and launching function: small, sorted, so that a
version control system merges it line by line. Files and lines are not in it: a kernel may move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from occlsp.analysis.join import Row
from occlsp.reports.names import demangle

HEADER = "# occlsp baseline 1"
COLUMNS = (
    "kernel",
    "arch",
    "launched by",
    "occupancy",
    "limiter",
    "blocks/SM",
    "registers",
    "spill bytes",
    "static smem",
    "dynamic smem",
    "block",
)
_UNKNOWN = "-"

Kind = Literal["regressed", "improved", "changed", "renamed", "new", "vanished"]


class BadBaseline(ValueError):
    """A baseline that cannot be read; the message names the file and the line."""


class Key(NamedTuple):
    """What a line is about."""

    kernel: str
    """Demangled entry, template arguments and parameters included."""
    arch: str
    launched_by: str
    """Qualified name of the launching function, "#2" and so on appended for its further launches
    of the same kernel; "-" where no launch is in view."""


class Mark(Struct, frozen=True):
    """What a kernel came to. None is unknown."""

    occupancy: float | None
    """0 to 1, rounded to 0.001."""
    limiter: str | None
    blocks_per_sm: int | None
    registers: int | None
    spill_bytes: int | None
    """Stores and loads together."""
    static_smem: int | None
    dynamic_smem: int | None
    block: str | None
    """"256" or "32x8"."""


Baseline = dict[Key, Mark]


class Change(Struct, frozen=True):
    """One line that differs."""

    kind: Kind
    key: Key
    before: Mark | None
    after: Mark | None
    message: str
    size: float
    """For ordering: the change of the occupancy (0 to 1), plus spill bytes in thousandths."""
    old_key: Key | None = None
    """Of a renamed kernel, or of a launch that moved to another function."""


def of_rows(rows: Iterable[Row]) -> tuple[Baseline, dict[Key, Row]]:
    """The baseline of what is known of these rows, and the row that each line came from."""
    counts: dict[tuple[object, ...], int] = defaultdict(int)
    baseline: Baseline = {}
    origins: dict[Key, Row] = {}
    for row in sorted(rows, key=_place):
        if row.entry is None:
            continue
        name = row.entry.name or demangle(row.entry.entry)
        by = (row.launch.launch.function or "file scope") if row.launch else _UNKNOWN
        counts[name, row.arch, by] += 1
        nth = counts[name, row.arch, by]
        key = Key(name, row.arch, by if nth == 1 else f"{by} #{nth}")
        mark = _mark(row)
        # One header in many units gives the same entry many times: the worst stands for all.
        if key not in baseline or _is_worse(mark, baseline[key]):
            baseline[key] = mark
            origins[key] = row
    return baseline, origins


def write(baseline: Baseline) -> str:
    """The text of a baseline."""
    lines = [HEADER, "# " + "\t".join(COLUMNS)]
    lines += ["\t".join([*key, *_fields(mark)]) for key, mark in sorted(baseline.items())]
    return "\n".join(lines) + "\n"


def read(text: str, source: str) -> Baseline:
    """Reads a baseline; `source` names it in messages.

    Raises:
        BadBaseline: The text is no baseline, or a line of it is not whole.
    """
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != HEADER:
        raise BadBaseline(f"{source}:1: not a baseline: the first line is not `{HEADER}`")
    baseline: Baseline = {}
    for number, line in enumerate(lines[1:], 2):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(("<<<<<<<", "=======", ">>>>>>>")):
            raise BadBaseline(f"{source}:{number}: an unresolved merge: resolve it, or write anew")
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            raise BadBaseline(
                f"{source}:{number}: {len(fields)} fields where {len(COLUMNS)} belong "
                f"({', '.join(COLUMNS)}); write the baseline anew with --write-baseline"
            )
        try:
            baseline[Key(*fields[:3])] = _parse(fields[3:])
        except ValueError as error:
            raise BadBaseline(f"{source}:{number}: {error}") from None
    return baseline


def compare(before: Baseline, after: Baseline) -> list[Change]:
    """Every line that differs, largest change first; what is the same is left out."""
    pairs = [(key, key) for key in after if key in before]
    pairs += _moved(
        [key for key in before if key not in after], [key for key in after if key not in before]
    )
    matched_old = {old for old, _ in pairs}
    matched_new = {new for _, new in pairs}
    changes = [_change(old, new, before[old], after[new]) for old, new in pairs]
    changes += [
        Change("vanished", key, mark, None, "is not there any more", 0.0)
        for key, mark in before.items()
        if key not in matched_old
    ]
    changes += [
        Change("new", key, None, mark, f"is new: {words(mark)}", 0.0)
        for key, mark in after.items()
        if key not in matched_new
    ]
    order = ["regressed", "improved", "changed", "renamed", "new", "vanished"]
    found = [change for change in changes if change is not None]
    return sorted(found, key=lambda c: (order.index(c.kind), -c.size, c.key))


def words(mark: Mark) -> str:
    """A mark for people: "37.5%, registers, 72 registers"."""
    parts = []
    if mark.occupancy is not None:
        parts.append(f"{_percent(mark.occupancy)}, limited by {(mark.limiter or '?')}")
    if mark.registers is not None:
        parts.append(f"{mark.registers} registers")
    if mark.spill_bytes:
        parts.append(f"{mark.spill_bytes} B spilled")
    return ", ".join(parts) or "nothing is known of it"


def _moved(old: Sequence[Key], new: Sequence[Key]) -> list[tuple[Key, Key]]:
    """Pairs of lines that are about the same kernel under another name, or launch elsewhere.

    Only where there is exactly one way to pair them: a guess would hide a regression.
    """
    pairs: list[tuple[Key, Key]] = []
    for same in (_same_launch, _same_signature):
        left = [key for key in old if all(key != taken for taken, _ in pairs)]
        right = [key for key in new if all(key != taken for _, taken in pairs)]
        for key in left:
            candidates = [other for other in right if same(key, other)]
            rivals = [other for other in left if candidates and same(other, candidates[0])]
            if len(candidates) == 1 and len(rivals) == 1:
                pairs.append((key, candidates[0]))
    return pairs


def _same_launch(old: Key, new: Key) -> bool:
    """The same kernel, launched by another function."""
    return old.kernel == new.kernel and old.arch == new.arch


def _same_signature(old: Key, new: Key) -> bool:
    """Another name for a kernel with the same parameters and launch."""
    return old[1:] == new[1:] and _signature(old.kernel) == _signature(new.kernel)


def _signature(name: str) -> str:
    start = min((at for at in (name.find("<"), name.find("(")) if at >= 0), default=len(name))
    return name[start:]


def _change(old: Key, new: Key, before: Mark, after: Mark) -> Change | None:
    worse, better = _judged(before, after)
    moved = old != new
    size = abs((after.occupancy or 0) - (before.occupancy or 0))
    size += abs((after.spill_bytes or 0) - (before.spill_bytes or 0)) / 1000
    old_key = old if moved else None
    if worse:
        return Change("regressed", new, before, after, "; ".join(worse + better), size, old_key)
    if better:
        return Change("improved", new, before, after, "; ".join(better), size, old_key)
    differing = _differences(before, after)
    if differing:
        return Change("changed", new, before, after, "; ".join(differing), size, old_key)
    if moved:
        was = old.kernel if old.kernel != new.kernel else f"launched by {old.launched_by}"
        return Change("renamed", new, before, after, f"was {was}", 0.0, old_key)
    return None


def _judged(before: Mark, after: Mark) -> tuple[list[str], list[str]]:
    """What got worse and what got better, in words."""
    worse: list[str] = []
    better: list[str] = []
    rose = False
    if before.occupancy is not None and after.occupancy is not None:
        said = f"occupancy {_percent(before.occupancy)} → {_percent(after.occupancy)}"
        if after.occupancy == 0 < before.occupancy:
            worse.append(said + ": it does not fit any more")
        elif after.occupancy < before.occupancy:
            worse.append(said)
        elif after.occupancy > before.occupancy:
            better.append(said)
            rose = True
    if before.limiter and after.limiter and before.limiter != after.limiter:
        # Another limit at a higher occupancy is what an improvement looks like.
        (better if rose else worse).append(f"limiter {before.limiter} → {after.limiter}")
    if before.spill_bytes is not None and after.spill_bytes is not None:
        said = f"spills {before.spill_bytes} → {after.spill_bytes} B"
        if after.spill_bytes > before.spill_bytes:
            worse.append(said)
        elif after.spill_bytes < before.spill_bytes:
            better.append(said)
    if worse + better:
        (worse or better).extend(_causes(before, after))
    return worse, better


def _causes(before: Mark, after: Mark) -> list[str]:
    """What may have moved the occupancy, as far as it differs."""
    said = {
        "registers": (before.registers, after.registers),
        "static shared memory": (before.static_smem, after.static_smem),
        "dynamic shared memory": (before.dynamic_smem, after.dynamic_smem),
        "block": (before.block, after.block),
    }
    return [
        f"{name} {_text(old)} → {_text(new)}" for name, (old, new) in said.items() if old != new
    ]


def _differences(before: Mark, after: Mark) -> list[str]:
    """All that differs, where it is neither worse nor better."""
    results = {
        "blocks per SM": (before.blocks_per_sm, after.blocks_per_sm),
        "occupancy": (before.occupancy, after.occupancy),
    }
    return _causes(before, after) + [
        f"{name} {_text(old)} → {_text(new)}" for name, (old, new) in results.items() if old != new
    ]


def _place(row: Row) -> tuple[str, int, str]:
    if row.launch is None:
        return (row.site.path, row.site.kernel.name_span.start, row.arch)
    return (row.launch.path, row.launch.launch.span.start, row.arch)


def _mark(row: Row) -> Mark:
    entry = row.entry
    assert entry is not None
    spills = None
    if entry.spill_stores is not None and entry.spill_loads is not None:
        spills = entry.spill_stores + entry.spill_loads
    case = row.worst if row.is_shown and not row.is_bound else None
    mark = Mark(None, None, None, entry.registers, spills, entry.static_smem, None, None)
    if case is None:
        return mark
    sides = [str(side) for side in case.block]
    while len(sides) > 1 and sides[-1] == "1":
        sides.pop()
    return replace(
        mark,
        occupancy=round(case.result.occupancy, 3),
        limiter=case.result.limiter,
        blocks_per_sm=case.result.blocks_per_sm,
        dynamic_smem=case.dynamic_smem,
        block="x".join(sides),
    )


def _is_worse(mark: Mark, than: Mark) -> bool:
    def rank(one: Mark) -> tuple[float, int]:
        return (one.occupancy if one.occupancy is not None else 2.0, -(one.spill_bytes or 0))

    return rank(mark) < rank(than)


def _fields(mark: Mark) -> list[str]:
    return [
        _UNKNOWN if mark.occupancy is None else _percent(mark.occupancy),
        _text(mark.limiter),
        _text(mark.blocks_per_sm),
        _text(mark.registers),
        _text(mark.spill_bytes),
        _text(mark.static_smem),
        _text(mark.dynamic_smem),
        _text(mark.block),
    ]


def _parse(fields: Sequence[str]) -> Mark:
    occupancy, limiter, *middle, block = fields
    blocks, registers, spills, static, dynamic = (_integer(field) for field in middle)
    share = None
    if occupancy != _UNKNOWN:
        if not occupancy.endswith("%"):
            raise ValueError(f"`{occupancy}` is no percentage")
        share = round(float(occupancy[:-1]) / 100, 3)
    return Mark(share, _known(limiter), blocks, registers, spills, static, dynamic, _known(block))


def _known(field: str) -> str | None:
    return None if field == _UNKNOWN else field


def _integer(field: str) -> int | None:
    if field == _UNKNOWN:
        return None
    try:
        return int(field)
    except ValueError:
        raise ValueError(f"`{field}` is no number") from None


def _percent(share: float) -> str:
    return f"{share * 100:.1f}%"


def _text(value: object) -> str:
    return _UNKNOWN if value is None else str(value)
