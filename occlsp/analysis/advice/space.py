"""A space file: one kernel's choices, and how registers, memory and grid follow from them.

    kernel = "reduce"
    arch = "sm_86"
    gpu = "A10G"
    [space]
    block_x = [64, 128, 256]
    [model]
    registers = 40
    [bench]
    elements = 16777216
    grid_x = "ceil_div(elements, block_x)"

The cross product of `[space]` is the candidates. Threads per block are the product of `block_x`,
`block_y` and `block_z`, or `block`; the grid likewise; names not given count as 1.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from msgspec import Struct

from occlsp.occupancy import Gpu, InvalidInput, Limits, UnknownArchitecture, UnknownGpu, gpu, limits
from occlsp.occupancy.checks import LARGEST
from occlsp.occupancy.expressions import Getter, NoValue, parse_comparison, parse_expression

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_CANDIDATES = 200_000
Values = dict[str, int]
"""What each name is for one candidate: those of the space, then those of `[bench]`."""
_BLOCK = ("block_x", "block_y", "block_z")
_GRID = ("grid_x", "grid_y", "grid_z")
_KEYS = {
    "": {"kernel", "arch", "gpu", "space", "model", "bench", "constraints"},
    "model": {"registers", "smem_bytes", "block"},
}


class SpaceError(ValueError):
    """A space file that cannot be worked with: names the file, the key, the expression."""


class Configuration(Struct, frozen=True):
    """One candidate, all of its values worked out."""

    values: Values
    """Of the names of the space alone."""
    block: tuple[int, int, int]
    """Not checked: what cannot launch is the model's to say."""
    registers: int | None
    """None: no row of `model.registers` is for it."""
    smem: int
    """Bytes of shared memory per block."""
    grid: int | None
    """Blocks; None where the file gives no grid."""


class Space(Struct, frozen=True):
    """A space file that was read."""

    source: str
    kernel: str
    limits: Limits
    gpu: Gpu | None
    names: tuple[str, ...]
    configurations: tuple[Configuration, ...]
    excluded: int
    """Candidates that a constraint rules out."""


def read_space(
    text: str, source: str, *, arch: str | None = None, gpu_name: str | None = None
) -> Space:
    """The space of a file's text; `arch` and `gpu_name` win over its own. Raises `SpaceError`."""
    return _Reader(source).read(text, arch, gpu_name)


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source

    def read(self, text: str, arch: str | None, gpu_name: str | None) -> Space:
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SpaceError(f"{self.source}: {error}") from None
        self._only_known(data, "")
        kernel = self._string(data, "kernel") or "kernel"
        row, model = self._machine(arch or self._string(data, "arch"), gpu_name, data)
        choices = self._choices(self._table(data, "space"))
        if not choices:
            raise self._wrong("space", "no choices; give a list of numbers to at least one name")
        bench = self._bench(self._table(data, "bench"), choices)
        names = {name: _getter(name) for name in (*choices, *bench)}
        configurations, excluded = self._configurations(data, choices, bench, names)
        return Space(
            self.source, kernel, row, model, tuple(choices), tuple(configurations), excluded
        )

    def _machine(
        self, arch: str | None, gpu_name: str | None, data: dict[str, Any]
    ) -> tuple[Limits, Gpu | None]:
        name = gpu_name or self._string(data, "gpu")
        try:
            model = gpu(name) if name is not None else None
        except UnknownGpu as error:
            raise self._wrong("gpu", str(error)) from None
        wanted = arch or (model.arch if model is not None else None)
        if wanted is None:
            raise self._wrong("arch", 'missing; give arch = "sm_90", or a gpu')
        try:
            row = limits(wanted)
        except UnknownArchitecture as error:
            raise self._wrong("arch", str(error)) from None
        if model is not None and model.arch != row.name:
            raise self._wrong("gpu", f"{model.name} is {model.arch}, not the {row.name} of arch")
        return row, model

    def _choices(self, table: dict[str, Any]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        count = 1
        for name, given in table.items():
            key = f"space.{name}"
            values = given if isinstance(given, list) else [given]
            if not name.isidentifier():
                raise self._wrong(key, "not a name that an expression could use")
            if not values or not all(_is_integer(value) for value in values):
                raise self._wrong(key, f"{given!r} is not a list of whole numbers")
            found[name] = list(dict.fromkeys(values))
            count *= len(found[name])
        if count > MOST_CANDIDATES:
            raise self._wrong("space", f"{count} candidates; at most {MOST_CANDIDATES} are ranked")
        return found

    def _bench(
        self, table: dict[str, Any], choices: Mapping[str, list[int]]
    ) -> dict[str, Getter[Values]]:
        """The quantities of `[bench]`, each after those that it reads."""
        given = {name: value for name, value in table.items() if name != "constraints"}
        for name in given:
            if name in choices:
                raise self._wrong(f"bench.{name}", "the space has this name already")
        names = {name: _getter(name) for name in (*choices, *given)}
        parsed: dict[str, Getter[Values]] = {}
        reads: dict[str, set[str]] = {}
        for name, value in given.items():
            used: set[str] = set()
            parsed[name] = self._number(f"bench.{name}", value, _Recording(names, used))
            reads[name] = used & set(given)
        ordered: dict[str, Getter[Values]] = {}
        while len(ordered) < len(parsed):
            ready = [n for n in parsed if n not in ordered and reads[n] <= set(ordered)]
            if not ready:
                stuck = next(n for n in parsed if n not in ordered)
                raise self._wrong(f"bench.{stuck}", f"`{given[stuck]}` depends on itself")
            ordered.update({name: parsed[name] for name in ready})
        return ordered

    def _configurations(
        self,
        data: dict[str, Any],
        choices: Mapping[str, list[int]],
        bench: Mapping[str, Getter[Values]],
        names: Mapping[str, Getter[Values]],
    ) -> tuple[list[Configuration], int]:
        model = self._table(data, "model")
        self._only_known(model, "model")
        if "registers" not in model:
            raise self._wrong("model.registers", "missing; a number, an expression, or rows")
        registers = self._registers(model["registers"], names)
        smem = self._number("model.smem_bytes", model.get("smem_bytes", 0), names)
        block = self._block(model, names)
        grid = self._grid(names)
        constraints = list(self._constraints(data, names))
        found: list[Configuration] = []
        count = 0
        for chosen in product(*choices.values()):
            own = dict(zip(choices, chosen, strict=True))
            values = dict(own)
            for name, run in bench.items():
                values[name] = self._value(f"bench.{name}", run, values, own)
            count += 1
            if not all(self._holds(*constraint, values, own) for constraint in constraints):
                continue
            found.append(
                Configuration(
                    own,
                    self._shape(block, values, own),
                    registers(values, own),
                    self._value("model.smem_bytes", smem, values, own),
                    self._value("bench.grid_x", grid, values, own) if grid else None,
                )
            )
        return found, count - len(found)

    def _block(
        self, model: Mapping[str, Any], names: Mapping[str, Getter[Values]]
    ) -> tuple[Getter[Values], ...]:
        if "block" in model:
            return (self._number("model.block", model["block"], names),)
        if not any(part in names for part in _BLOCK):
            if "block" in names:
                return (names["block"],)
            raise self._wrong(
                "model.block", "the threads per block are missing; name one `block_x` or `block`"
            )
        return tuple(names.get(part, _one) for part in _BLOCK)

    def _shape(
        self, block: tuple[Getter[Values], ...], values: Values, own: Values
    ) -> tuple[int, int, int]:
        x, y, z = (
            self._value("model.block", part, values, own) for part in (*block, _one, _one)[:3]
        )
        return x, y, z

    def _grid(self, names: Mapping[str, Getter[Values]]) -> Getter[Values] | None:
        used = [names[part] for part in _GRID if part in names]
        if not used:
            return names.get("grid")
        return lambda values: math.prod(part(values) for part in used)

    def _registers(
        self, given: Any, names: Mapping[str, Getter[Values]]
    ) -> Callable[[Values, Values], int | None]:
        key = "model.registers"
        rows = [given] if isinstance(given, dict) else given
        if not isinstance(rows, list):
            run = self._number(key, given, names)
            return lambda values, own: self._value(key, run, values, own)
        table: list[tuple[dict[str, int], Getter[Values]]] = []
        for number, row in enumerate(rows, 1):
            place = f"{key}, row {number}"
            if not isinstance(row, dict) or "value" not in row:
                raise self._wrong(place, f"{row!r} is not a row like {{ block_x=256, value=40 }}")
            wanted = {name: value for name, value in row.items() if name != "value"}
            for name, value in wanted.items():
                if name not in names:
                    raise self._wrong(place, f"{name!r} is not a name of the space")
                if not _is_integer(value):
                    raise self._wrong(place, f"{name} = {value!r} is not a whole number")
            table.append((wanted, self._number(place, row["value"], names)))

        def look_up(values: Values, own: Values) -> int | None:
            for wanted, run in table:
                if all(values[name] == value for name, value in wanted.items()):
                    return self._value(key, run, values, own)
            return None

        return look_up

    def _constraints(
        self, data: dict[str, Any], names: Mapping[str, Getter[Values]]
    ) -> Iterator[tuple[str, str, Callable[[Values], bool]]]:
        """Of the file, and of `[bench]`, which a list below that table's head belongs to."""
        bench = self._table(data, "bench")
        for key, given in (
            ("constraints", data.get("constraints", [])),
            ("bench.constraints", bench.get("constraints", [])),
        ):
            for text in given if isinstance(given, list) else [given]:
                if not isinstance(text, str):
                    raise self._wrong(key, f'{text!r} is not a comparison like "a*b <= 1024"')
                try:
                    yield key, text, parse_comparison(text, names, key)
                except InvalidInput as error:
                    raise SpaceError(f"{self.source}: {error}") from None

    def _number(self, key: str, given: Any, names: Mapping[str, Getter[Values]]) -> Getter[Values]:
        if _is_integer(given):
            number: int = given
            return lambda values: number
        if not isinstance(given, str):
            raise self._wrong(key, f"{given!r} is neither a whole number nor an expression")
        try:
            run = parse_expression(given, names, key)
        except InvalidInput as error:
            raise SpaceError(f"{self.source}: {error}") from None

        def told(values: Values) -> int:
            try:
                return run(values)
            except NoValue as error:
                raise NoValue(f"`{given}` {error}") from None

        return told

    def _value(self, key: str, run: Getter[Values], values: Values, own: Values) -> int:
        try:
            value = run(values)
        except NoValue as error:
            raise self._wrong(key, f"{error} at {shown(own)}") from None
        if not -LARGEST <= value <= 2**53:
            raise self._wrong(key, f"{value} at {shown(own)} is absurd")
        if value < 0:
            raise self._wrong(key, f"is {value} at {shown(own)}, below zero")
        return value

    def _holds(
        self, key: str, text: str, test: Callable[[Values], bool], values: Values, own: Values
    ) -> bool:
        try:
            return test(values)
        except NoValue as error:
            raise self._wrong(key, f"`{text}` {error} at {shown(own)}") from None

    def _only_known(self, table: dict[str, Any], name: str) -> None:
        for key in table:
            if key not in _KEYS[name]:
                place = f"{name}.{key}" if name else key
                known = ", ".join(sorted(_KEYS[name]))
                raise self._wrong(place, f"not known here; known are {known}")

    def _table(self, data: dict[str, Any], key: str) -> dict[str, Any]:
        table = data.get(key, {})
        if not isinstance(table, dict):
            raise self._wrong(key, f"{table!r} is not a table; write [{key}]")
        return table

    def _string(self, data: dict[str, Any], key: str) -> str | None:
        value = data.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            raise self._wrong(key, f"{value!r} is not a name in quotes")
        return value

    def _wrong(self, key: str, problem: str) -> SpaceError:
        return SpaceError(f"{self.source}: {key}: {problem}")


def shown(values: Values) -> str:
    """ "block_x = 256, items = 2"."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _one(values: Values) -> int:
    return 1


def _getter(name: str) -> Getter[Values]:
    return lambda values: values[name]


class _Recording(dict[str, Getter[Values]]):
    """The names, noting which of them are asked for."""

    def __init__(self, names: Mapping[str, Getter[Values]], used: set[str]) -> None:
        super().__init__(names)
        self._used = used

    def get(self, key: str, default: Any = None) -> Any:
        """As of a dict."""
        found = super().get(key, default)
        if found is not None:
            self._used.add(key)
        return found
