"""Settings, declared once: their types, defaults, documentation and where they may come from.

The JSON schema, the editors' settings and the README's table are generated from here.
Sources in order, later wins: defaults, `occlsp.toml` at the workspace root, the client's
`initializationOptions`, its settings, flags of the command line. Null means "not set".
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SeverityName = Literal["error", "warning", "information", "hint", "off"]


class Compile(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How reports are made."""

    mode: Annotated[
        Literal["auto", "off"],
        Meta(description="`auto` compiles on save, when trusted and nvcc is there; `off` never."),
    ] = "auto"
    nvcc: Annotated[
        str | None,
        Meta(
            description="The compiler to use; else PATH, CUDA_HOME, the usual places, pip "
            "packages. Never taken from occlsp.toml."
        ),
    ] = None
    args: Annotated[
        tuple[str, ...],
        Meta(description='Flags for files with no compile command, like "-std=c++17".'),
    ] = ()
    commands: Annotated[
        str | None,
        Meta(description="Path of compile_commands.json; else found in the usual places."),
    ] = None
    timeout: Annotated[
        float, Meta(description="Seconds that one compile may take.", gt=0, le=3600)
    ] = 60.0


class Hints(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Which inlay hints are shown."""

    kernels: Annotated[bool, Meta(description="Hints at kernels.")] = True
    launches: Annotated[bool, Meta(description="Hints at launches.")] = True
    spills: Annotated[bool, Meta(description="Hints at source lines that spill.")] = True


class Diagnostics(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Which findings are reported, and how."""

    low_occupancy: Annotated[
        float,
        Meta(description="Percent at or below which `low-occupancy` is told.", ge=0, le=100),
    ] = 25.0
    severity: Annotated[
        dict[str, SeverityName],
        Meta(description='Severity by finding code, "off" for none: `{ spills = "error" }`.'),
    ] = {}


class Lens(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Code lenses."""

    enabled: Annotated[bool, Meta(description="Code lenses above kernels and launches.")] = False


class Settings(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """All settings of one workspace folder."""

    arch: Annotated[
        tuple[str, ...],
        Meta(
            description="Architectures, the primary first; default: from the build's flags, the "
            "local GPU, the reports found, else sm_90."
        ),
    ] = ()
    gpu: Annotated[
        str | None, Meta(description="GPU model, for waves and cooperative launches.")
    ] = None
    carveout: Annotated[
        Annotated[int, Meta(ge=0, le=100)] | None,
        Meta(description="Shared-memory carveout in percent; absent: all."),
    ] = None
    reports: Annotated[
        tuple[str, ...], Meta(description="Globs of logs, objects and cubins to read.")
    ] = ()
    measurements: Annotated[
        tuple[str, ...],
        Meta(description="Globs of measured runs: Nsight Compute CSV, NVBench JSON, JSON lines."),
    ] = ()
    trusted: Annotated[
        bool | None,
        Meta(description="Whether the compiler may run. Never taken from occlsp.toml."),
    ] = None
    compile: Compile = Compile()
    hints: Hints = Hints()
    diagnostics: Diagnostics = Diagnostics()
    lens: Lens = Lens()


@dataclass(frozen=True, slots=True)
class Source:
    """One source of settings: where it is and what it says."""

    name: str
    """For messages: "occlsp.toml", "initializationOptions", "settings", "command line"."""
    values: dict[str, Any]
    is_workspace_file: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in force, which source each came from, and what was wrong."""

    settings: Settings
    origins: dict[str, str] = field(default_factory=dict)
    """Dotted key → name of the source that set it."""
    problems: tuple[str, ...] = ()


NEVER_FROM_WORKSPACE = frozenset({"trusted", "compile.nvcc"})


def read_toml(path: Path) -> tuple[Source | None, str | None]:
    """The settings file at `path`, or why it cannot be read; (None, None) where there is none."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return Source(path.name, tomllib.loads(text), is_workspace_file=True), None
    except FileNotFoundError:
        return None, None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return None, f"{path}: {error}; the file is ignored"


Check = Callable[[str], str | None]
"""What is wrong with a name that a setting holds, and what is accepted."""


def load(sources: list[Source], checks: Mapping[str, Check] | None = None) -> Loaded:
    """Merges sources, later wins. A bad key or value costs itself alone and is told.

    `checks` judge the names in the settings under their dotted keys: the text, each of a list,
    each key of a table.
    """
    known = keys(Settings)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    problems: list[str] = []
    for source in sources:
        for key, value in _flatten(source.values, known):
            if value is None:
                continue
            problem = _problem(source, key, value, known)
            if problem is not None:
                problems.append(problem)
                continue
            value, wrong = _checked(key, value, known, (checks or {}).get(key))
            problems += [f"{source.name}: {text}" for text in wrong]
            if not value and wrong:
                continue
            if isinstance(value, dict):
                value = {**values.get(key, {}), **value}
            values[key] = value
            origins[key] = source.name
    return Loaded(msgspec.convert(_nest(values), Settings), origins, tuple(problems))


def keys(struct: type[Struct], prefix: str = "") -> dict[str, Any]:
    """Every setting by its dotted key, with its declared type."""
    found: dict[str, Any] = {}
    for item in msgspec.structs.fields(struct):
        if isinstance(item.type, type) and issubclass(item.type, Struct):
            found.update(keys(item.type, f"{prefix}{item.name}."))
        else:
            found[prefix + item.name] = item.type
    return found


def _flatten(
    values: dict[str, Any], known: dict[str, Any], prefix: str = ""
) -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for name, value in values.items():
        key = f"{prefix}{name}"
        is_table = any(other.startswith(key + ".") for other in known)
        if isinstance(value, dict) and is_table:
            flat.extend(_flatten(value, known, key + "."))
        else:
            flat.append((key, value))
    return flat


def _problem(source: Source, key: str, value: Any, known: dict[str, Any]) -> str | None:
    if key not in known:
        accepted = ", ".join(sorted(known))
        return f"{source.name}: unknown setting `{key}`; known are {accepted}"
    if source.is_workspace_file and key in NEVER_FROM_WORKSPACE:
        return f"{source.name}: `{key}` is not taken from a workspace; set it in the editor"
    if isinstance(value, str) and _takes_list(known[key]):
        value = [value]
    if isinstance(value, dict):
        value = {}  # its items are judged one by one
    try:
        msgspec.convert(value, known[key])
    except msgspec.ValidationError as error:
        return f"{source.name}: `{key}`: {error}{_choices(known[key])}"
    return None


def _checked(
    key: str, value: Any, known: dict[str, Any], check: Check | None
) -> tuple[Any, list[str]]:
    """The value without what is wrong in it, and what that is."""
    if isinstance(value, str) and _takes_list(known[key]):
        value = [value]
    wrong: list[str] = []

    def is_good(name: str, place: str) -> bool:
        problem = check(name) if check is not None else None
        if problem is not None:
            wrong.append(f"`{place}`: {problem}")
        return problem is None

    if isinstance(value, str):
        return (value if is_good(value, key) else None), wrong
    if isinstance(value, list):
        return [one for one in value if is_good(one, key)], wrong
    if isinstance(value, dict):
        kept = {}
        kind = typing.get_args(_bare(known[key]))[1]
        for name, item in value.items():
            if item is None or not is_good(name, f"{key}.{name}"):
                continue
            try:
                kept[name] = msgspec.convert(item, kind)
            except msgspec.ValidationError as error:
                wrong.append(f"`{key}.{name}`: {error}{_choices(kind)}")
        return kept, wrong
    return value, wrong


def _choices(kind: Any) -> str:
    """The values that a setting of fixed choices accepts."""
    kind = _bare(kind)
    if typing.get_origin(kind) is not Literal:
        return ""
    return f"; accepted are {', '.join(map(str, typing.get_args(kind)))}"


def _bare(kind: Any) -> Any:
    """A type without its annotations."""
    return typing.get_args(kind)[0] if typing.get_origin(kind) is Annotated else kind


def _takes_list(kind: Any) -> bool:
    return isinstance(msgspec.inspect.type_info(kind), msgspec.inspect.VarTupleType) or (
        isinstance(info := msgspec.inspect.type_info(kind), msgspec.inspect.Metadata)
        and isinstance(info.type, msgspec.inspect.VarTupleType)
    )


def _nest(values: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *tables, name = key.split(".")
        table = nested
        for part in tables:
            table = table.setdefault(part, {})
        table[name] = value
    return nested
