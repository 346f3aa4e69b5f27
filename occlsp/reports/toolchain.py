"""Finds the compiler, asks it its version, and makes the environment that it runs in.

What is run must come from the user's machine, never from the workspace: only `nvcc` and its
versioned names, found through the user's setting, PATH or the toolkit's usual places, and lying
outside the workspace once links are resolved. clang++ compiles CUDA too, but lags behind the
toolkits (19 cannot read the headers of 13): commands for it are translated, and nvcc is asked.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from occlsp.reports.run import run

IS_WINDOWS = os.name == "nt"
COMPILER_NAME = re.compile(r"nvcc(-?\d+(\.\d+)*)?(\.exe)?", re.IGNORECASE)
HOST_NAME = re.compile(
    r"([a-z0-9_]+-)*(gcc|g\+\+|cc|c\+\+|clang|clang\+\+|icx|icpx|icc|icpc|nvc\+\+|cl|clang-cl)"
    r"(-?\d+(\.\d+)*)?(\.exe)?",
    re.IGNORECASE,
)
TO_GET_ONE = (
    "install the CUDA toolkit, or `pip install 'occlsp[nvcc]'`, or set `compile.nvcc` in the editor"
)
VERSION_SECONDS = 20.0
"""A first start from a cold network disk takes its time; a hung one must not take forever."""
VERSION_TTL = 60.0
"""A wrapper script's own time does not change with the toolkit behind it, so ask again."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A CUDA compiler that may be run."""

    path: Path
    """What is run, links unresolved: some launchers look at their own name."""
    found_in: str
    """For people: "setting", "PATH", "CUDA_HOME", "/usr/local/cuda-13.0", "pip package"."""
    version: str = ""
    """"13.0.88"; empty before `probe`."""
    toolkit: Path | None = None
    """The toolkit's folder (its `bin` holds ptxas); None before `probe`, or where not told."""
    problem: str | None = None
    """Why it cannot compile although it is there (no host compiler), with the way out."""

    @property
    def release(self) -> tuple[int, int]:
        """(13, 0); (0, 0) before `probe`."""
        numbers = [int(part) for part in self.version.split(".")[:2] if part.isdigit()]
        return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)

    @property
    def library_folders(self) -> list[Path]:
        """Where PyPI's packages of libraries put their headers beside a toolkit from there: cuDNN
        and NCCL, and up to CUDA 12 cuBLAS and the runtime, too."""
        if self.toolkit is None or self.toolkit.parent.name != "nvidia":
            return []
        own = self.toolkit / "include"
        return sorted(path for path in self.toolkit.parent.glob("*/include") if path != own)

    def tool(self, name: str) -> Path | None:
        """A tool of the same toolkit: "ptxas", "nvdisasm", "cuobjdump"."""
        folders = [self.toolkit / "bin"] if self.toolkit else []
        for folder in (*folders, self.path.parent):
            path = folder / (name + ".exe" if IS_WINDOWS else name)
            if is_runnable(path):
                return path
        return None


@dataclass(frozen=True, slots=True)
class Missing:
    """No compiler, why, and what to do about it."""

    reason: str
    way_out: str = TO_GET_ONE

    def __str__(self) -> str:
        return f"{self.reason}; {self.way_out}"


def find_compiler(
    setting: str | None, workspaces: Sequence[Path], env: Mapping[str, str] | None = None
) -> Compiler | Missing:
    """The compiler to use, its version read (which runs it: only for a trusted workspace).

    In the order: the user's setting, PATH, `CUDA_HOME` and `CUDA_PATH`, the usual places, the
    pip packages of this interpreter. A setting that does not hold is told, not passed over.
    """
    found = locate(setting, workspaces, env)
    return probe(found, workspaces, env) if isinstance(found, Compiler) else found


def locate(
    setting: str | None, workspaces: Sequence[Path], env: Mapping[str, str] | None = None
) -> Compiler | Missing:
    """Where the compiler is, without running anything."""
    env = os.environ if env is None else env
    refused: list[str] = []
    if setting:
        candidates: Iterable[tuple[Path, str]] = _from_setting(setting, env, workspaces)
    else:
        candidates = _usual_places(env, workspaces)
    for path, found_in in candidates:
        why_not = _refusal(path, workspaces)
        if why_not is None:
            return Compiler(path, found_in)
        if path.exists():
            refused.append(why_not)
    if setting:
        reason = refused[0] if refused else f"`compile.nvcc` is {setting}, which is not there"
        return Missing(reason, "set `compile.nvcc` in the editor to an nvcc, or remove it")
    return Missing(refused[0] if refused else "no nvcc was found")


def is_inside(path: Path, folders: Iterable[Path]) -> bool:
    """Whether `path`, links resolved, lies in one of `folders` (or is one)."""
    resolved = _resolve(path)
    return any(resolved.is_relative_to(_resolve(folder)) for folder in folders)


def is_runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def host_compiler(value: str, workspaces: Sequence[Path], search: str) -> Path | str:
    """The host compiler that `-ccbin value` names, or why it is refused.

    A folder stands for the one in it, a bare name is looked up in `search` (a PATH).
    """
    given = Path(value)
    if not given.is_absolute():
        if given.name != value:
            return f"{value} is not an absolute path"
        named = [Path(folder) / name for folder in search.split(os.pathsep) for name in _exe(value)]
    elif given.is_dir():
        named = [given / name for base in ("g++", "gcc", "clang++", "cl") for name in _exe(base)]
    else:
        named = [given]
    path = next((path for path in named if is_runnable(path)), None)
    if path is None:
        return f"{value} is not there"
    if not HOST_NAME.fullmatch(path.name):
        return f"{path.name} is not the name of a host compiler"
    if is_inside(path, workspaces):
        return f"{path} lies in the workspace"
    return path


def clean_environment(
    env: Mapping[str, str], workspaces: Sequence[Path], scratch: Path
) -> dict[str, str]:
    """The environment for a compiler: the user's, without what makes tools run or write more.

    Folders of the workspace and relative ones leave the search lists, temporary files go to
    `scratch`, messages are in English. nvcc's own variables are taken out: their flags go
    through the filter.
    """
    clean = {name: value for name, value in env.items() if not _UNWANTED.fullmatch(name.upper())}
    for name in list(clean):
        if name.upper() in _SEARCH_LISTS:
            clean[name] = search_path(clean[name], workspaces)
            if not clean[name]:
                del clean[name]
    clean.update(TMPDIR=str(scratch), TMP=str(scratch), TEMP=str(scratch), LC_ALL="C")
    return clean


def search_path(value: str, workspaces: Sequence[Path]) -> str:
    """A list of folders without relative ones and those of the workspace."""
    kept = [
        folder
        for folder in value.split(os.pathsep)
        if Path(folder).is_absolute() and not is_inside(Path(folder), workspaces)
    ]
    return os.pathsep.join(kept)


_SEARCH_LISTS = {"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT"}
_UNWANTED = re.compile(
    r"NVCC_.*|GCC_.*|COMPILER_PATH|DEPENDENCIES_OUTPUT|SUNPRO_DEPENDENCIES|COLLECT_.*|BASH_ENV|ENV"
    r"|CICC_PATH|NVVMIR_LIBRARY_DIR|NVVM_.*|CUDAFE_FLAGS|PTXAS_FLAGS|OPENCC_FLAGS|INCLUDES|CL|_CL_"
    r"|SYSTEM_INCLUDES|LIBRARIES|CCC_OVERRIDE_OPTIONS|CCC_.*|QA_OVERRIDE_.*|CLANG_CONFIG_.*|IFS"
)


def probe(
    compiler: Compiler, workspaces: Sequence[Path], env: Mapping[str, str] | None = None
) -> Compiler | Missing:
    """`compiler` with version and toolkit folder, asked of itself (kept for a minute)."""
    env = os.environ if env is None else env
    key = (compiler.path, _stamp(compiler.path), env.get("PATH", ""), tuple(workspaces))
    known = _probed.get(key)
    if known is not None and time.monotonic() - known[0] < VERSION_TTL:
        return known[1]
    answer = _ask(compiler, workspaces, env)
    _probed[key] = (time.monotonic(), answer)
    return answer


_probed: dict[tuple[object, ...], tuple[float, Compiler | Missing]] = {}


def _ask(
    compiler: Compiler, workspaces: Sequence[Path], env: Mapping[str, str]
) -> Compiler | Missing:
    clean = clean_environment(env, workspaces, compiler.path.parent)
    asked = run(
        [str(compiler.path), "--version"],
        cwd=compiler.path.parent,
        env=clean,
        timeout=VERSION_SECONDS,
        max_output=65536,
    )
    patterns = (r"\bV(\d+(?:\.\d+)+)", r"release (\d+\.\d+)")
    matches = [match for pattern in patterns if (match := re.search(pattern, asked.stdout))]
    if not matches or asked.returncode != 0:
        said = asked.failure or (asked.stderr or asked.stdout).strip()[:200] or "nothing"
        return Missing(
            f"{compiler.path} (from {compiler.found_in}) does not answer `--version` as a CUDA "
            f"compiler does: {said}"
        )
    toolkit = _toolkit(compiler, clean)
    return replace(
        compiler, version=matches[0][1], toolkit=toolkit, problem=_host_problem(clean, workspaces)
    )


def _toolkit(compiler: Compiler, env: Mapping[str, str]) -> Path | None:
    """Wrapper scripts stand elsewhere than the toolkit, so nvcc itself is asked."""
    said = run(
        [str(compiler.path), "-dryrun", "-cubin", "x.cu"],
        cwd=compiler.path.parent,
        env=env,
        timeout=VERSION_SECONDS,
        max_output=65536,
    )
    match = re.search(r"^#\$ _HERE_=(.+?)\s*$", said.stderr + said.stdout, re.MULTILINE)
    if match and Path(match[1]).is_absolute() and Path(match[1]).is_dir():
        return Path(match[1]).parent
    real = _resolve(compiler.path)
    return real.parent.parent if is_runnable(real.with_name("ptxas" + real.suffix)) else None


def _host_problem(env: Mapping[str, str], workspaces: Sequence[Path]) -> str | None:
    """Why nvcc has no host compiler; it takes the first on PATH."""
    name = "cl" if IS_WINDOWS else "gcc"
    folders = [Path(folder) for folder in _get(env, "PATH").split(os.pathsep) if folder]
    named = (folder / file for folder in folders for file in _exe(name))
    first = next((path for path in named if is_runnable(path)), None)
    if first is not None and is_inside(first, workspaces):
        return f"{first} is a link into the workspace, from which nothing is run"
    if first is not None:
        return None
    if IS_WINDOWS:
        return "nvcc needs Visual C++ (cl.exe on PATH); start from its developer prompt"
    return "nvcc needs a host compiler, and there is no gcc on PATH; install g++, or set -ccbin"


def _from_setting(
    setting: str, env: Mapping[str, str], workspaces: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    path = Path(os.path.expanduser(setting))  # noqa: PTH111  ("~" in front of what may be no path)
    if path.name == setting:
        for folder in search_path(_get(env, "PATH"), workspaces).split(os.pathsep):
            yield from ((Path(folder) / name, "setting") for name in _exe(setting) if folder)
    elif path.is_dir():
        for name in _exe("nvcc"):
            yield path / name, "setting"
            yield path / "bin" / name, "setting"
    elif path.is_absolute():
        yield path, "setting"


def _usual_places(env: Mapping[str, str], workspaces: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    names = _exe("nvcc")
    # Those of the workspace stay in, to be refused by name: "not found" would be a riddle.
    for folder in _get(env, "PATH").split(os.pathsep):
        if folder and Path(folder).is_absolute():
            yield from ((Path(folder) / name, "PATH") for name in names)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if Path(_get(env, variable)).is_absolute():
            yield from ((Path(_get(env, variable), "bin", name), variable) for name in names)
    for folder_path in _toolkit_folders():
        yield from ((folder_path / "bin" / name, str(folder_path)) for name in names)
    for entry in dict.fromkeys(sys.path):
        for pattern in ("cu*", "cuda_nvcc"):
            if entry and Path(entry).is_absolute():
                for root in sorted(Path(entry, "nvidia").glob(pattern), key=_number, reverse=True):
                    yield from ((root / "bin" / name, "pip package") for name in names)


def _toolkit_folders() -> list[Path]:
    if IS_WINDOWS:
        base = Path(os.environ.get("PROGRAMFILES", "C:\\Program Files"))
        found = (base / "NVIDIA GPU Computing Toolkit" / "CUDA").glob("v*")
        return sorted(found, key=_number, reverse=True)
    versions = sorted(Path("/usr/local").glob("cuda-*"), key=_number, reverse=True)
    return [Path("/usr/local/cuda"), *versions, Path("/opt/cuda"), Path("/usr/lib/cuda")]


def _number(path: Path) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", path.name)]


def _refusal(path: Path, workspaces: Sequence[Path]) -> str | None:
    """Why `path` may not be run, or None."""
    if not COMPILER_NAME.fullmatch(path.name):
        return f"{path} is not an nvcc by its name"
    if not path.is_file():
        return f"{path} is not there"
    if is_inside(path, workspaces):
        return f"{path} lies in the workspace, from which nothing is run"
    if not is_runnable(path):
        return f"{path} is not executable (chmod +x)"
    return None


def _exe(name: str) -> tuple[str, ...]:
    return (name if name.lower().endswith(".exe") else name + ".exe",) if IS_WINDOWS else (name,)


def _get(env: Mapping[str, str], name: str) -> str:
    """Names of variables have no case on Windows, and a plain dict does not know that."""
    return env.get(name) or next((env[key] for key in env if key.upper() == name), "")


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return Path(os.path.abspath(path))  # noqa: PTH100  (a loop of links resolves to nothing)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
