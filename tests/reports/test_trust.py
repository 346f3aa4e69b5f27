"""A workspace that tries everything: nothing of it runs, loads or writes, and what was dropped
is said.

The workspace holds programs named like compilers and their parts, and one unit for each trick,
whose compile command (or options file, environment, name) plays it. Each would leave a file.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from occlsp import config
from occlsp.reports.compile_commands import find, load
from occlsp.reports.compile_task import CompileRequest, compile_one
from occlsp.reports.compiled import CompileResult
from occlsp.reports.flags import Filtered
from occlsp.reports.toolchain import locate
from occlsp.reports.worker import Control
from tests.reports.compilers import SAXPY, posix_only, real_nvcc

pytestmark = posix_only

PROGRAMS = (
    *("nvcc", "gcc", "g++", "cc1plus", "as", "cicc", "ptxas", "cudafe++", "fatbinary", "sh"),
    *("clang++", "ccache", "cmake", "evil.sh", "build.sh", "touch"),
)


@dataclass(frozen=True)
class Trick:
    """`{pwned}` is the file that would appear, `{ws}` the workspace."""

    command: str
    said: str
    """What the log says of it."""
    unit: str = ""


TRICKS = {
    # Other programs in the place of the compiler.
    "a shell": Trick("sh -c 'touch {pwned}; nvcc -c {unit}'", "`sh` is not a compiler we know"),
    "a script": Trick("./build.sh nvcc -c {unit}", "`./build.sh` is not a compiler we know"),
    "an interpreter": Trick('python3 -c \'open("{pwned}","w")\'', "not a compiler we know"),
    "a script of cmake's": Trick("cmake -P evil.cmake", "`cmake` is not a compiler we know"),
    "env": Trick("env LD_PRELOAD={ws}/evil.so nvcc -c {unit}", "`env` is not a compiler we know"),
    "a compiler in the workspace": Trick("{ws}/nvcc -run -c {unit}", "-run: it runs a program"),
    "a launcher in the workspace": Trick("{ws}/ccache {ws}/nvcc -run {unit}", "-run"),
    # The environment.
    "cmake -E env with a PATH": Trick(
        "cmake -E env PATH={ws} LD_PRELOAD={ws}/evil.so GCC_EXEC_PREFIX={ws}/ nvcc -run {unit}",
        "-run",
    ),
    "cmake -E env with flags": Trick(
        "cmake -E env 'NVCC_APPEND_FLAGS=-Xcompiler -fplugin={ws}/evil.so -o {pwned}' nvcc {unit}",
        "-fplugin={ws}/evil.so: it could run, load or write something",
    ),
    "cmake -E env with a prefix of ccache's": Trick(
        "cmake -E env CCACHE_PREFIX={ws}/evil.sh ccache nvcc -keep -c {unit}", "-keep"
    ),
    # The host compiler.
    "-ccbin": Trick("nvcc -ccbin {ws}/g++ -c {unit}", "{ws}/g++ lies in the workspace"),
    "-ccbin, a folder": Trick("nvcc -ccbin {ws} -c {unit}", "lies in the workspace"),
    "-ccbin, relative": Trick("nvcc -ccbin ./g++ -c {unit}", "lies in the workspace"),
    "-ccbin, by a detour": Trick("nvcc -ccbin={ws}/../ws/g++ {unit}", "lies in the workspace"),
    "-ccbin, another program": Trick("nvcc -ccbin {ws}/evil.sh {unit}", "not the name of a host"),
    "-ccbin, the shell's": Trick("nvcc -ccbin '/usr/bin/g++;touch {pwned}' {unit}", "not there"),
    "-Xcompiler -fplugin": Trick("nvcc -Xcompiler -fplugin={ws}/evil.so {unit}", "-fplugin"),
    "-Xcompiler -B": Trick("nvcc -Xcompiler -B,{ws} {unit}", "-B {ws}: it could run"),
    "-Xcompiler -B, attached": Trick("nvcc -Xcompiler -B{ws}/ {unit}", "-B {ws}/: it could run"),
    "-Xcompiler -wrapper": Trick("nvcc -Xcompiler -wrapper,{ws}/evil.sh {unit}", "-wrapper"),
    "-Xcompiler -specs": Trick("nvcc -Xcompiler -specs={ws}/evil.specs {unit}", "-specs"),
    "-Xcompiler @file": Trick("nvcc -Xcompiler @evil.rsp {unit}", "@evil.rsp"),
    "-Xcompiler -o": Trick("nvcc -Xcompiler -o,{pwned} {unit}", "-o {pwned}"),
    "-Xcompiler -MF": Trick("nvcc -Xcompiler -MD,-MF,{pwned} {unit}", "-MF {pwned}"),
    "-Xcompiler -Wp": Trick("nvcc -Xcompiler -Wp,-MD,{pwned} {unit}", "-MD"),
    "-Xcompiler -fdump": Trick("nvcc -Xcompiler -fdump-tree-all={pwned} {unit}", "-fdump"),
    "-Xcompiler -save-temps": Trick("nvcc -Xcompiler -save-temps=cwd {unit}", "-save-temps"),
    # Where nvcc writes.
    "-o": Trick("nvcc -c {unit} -o {pwned}", "-o {pwned}"),
    "-odir": Trick("nvcc -c {unit} -odir {ws}", "-odir {ws}: it writes outside the cache"),
    "-keep-dir": Trick("nvcc -keep -keep-dir {ws} -c {unit}", "-keep-dir {ws}"),
    "-save-temps": Trick("nvcc --save-temps -c {unit}", "--save-temps"),
    "-MF": Trick("nvcc -MD -MF {pwned} -c {unit}", "-MF {pwned}"),
    "-time": Trick("nvcc -time {pwned} -c {unit}", "-time {pwned}"),
    "-fdevice-time-trace": Trick("nvcc -fdevice-time-trace={pwned} {unit}", "-fdevice-time-trace"),
    "-Xptxas -o": Trick("nvcc -Xptxas -o,{pwned} {unit}", "-Xptxas -o"),
    "-Xcudafe": Trick("nvcc -Xcudafe --gen_c_file_name={pwned} {unit}", "not on the list of flags"),
    "-Xnvlink": Trick("nvcc -Xnvlink -o,{pwned} -dlink {unit}", "-Xnvlink"),
    # What nvcc runs or loads.
    "-run": Trick("nvcc -run {unit}", "-run: it runs a program"),
    "-run-args": Trick("nvcc -run --run-args {pwned} {unit}", "--run-args"),
    "-arbin": Trick("nvcc -arbin {ws}/evil.sh -lib {unit}", "-arbin"),
    "-target-dir": Trick("nvcc -target-dir {ws} {unit}", "-target-dir"),
    "-ldir": Trick("nvcc -ldir {ws} {unit}", "-ldir"),
    "-noprof": Trick("nvcc -noprof {unit}", "-noprof"),
    # What nvcc hands to a shell.
    "$() in a macro": Trick("nvcc '-DX=$(touch {pwned})' -run {unit}", "-run"),
    "` in a macro": Trick("nvcc '-DX=`touch {pwned}`' -run {unit}", "-run"),
    "a quote in a macro": Trick("nvcc '-DX=\\' '-DY=;touch {pwned};' -run {unit}", "-run"),
    "$() in a folder": Trick("nvcc '-I$(touch {pwned})' -run {unit}", "-run"),
    "a quote in a folder": Trick("nvcc '-I\";touch {pwned};\"' -run {unit}", "-run"),
    "$() for the host": Trick("nvcc -Xcompiler '-DX=$(touch {pwned})' -run {unit}", "-run"),
    "; for the host": Trick("nvcc -Xcompiler ';touch {pwned};' {unit}", "touch {pwned}"),
    "$() in a pre-include": Trick(
        "nvcc -include '$(touch {pwned})' -run {unit}", "not a regular file"
    ),
    "a device as pre-include": Trick("nvcc -include /dev/zero {unit}", "not a regular file"),
    "; in a standard": Trick("nvcc '-std=c++17;touch {pwned}' {unit}", "not a value that"),
    "; in a number": Trick("nvcc '-maxrregcount=32;touch {pwned}' {unit}", "not a value that"),
    "; in an architecture": Trick("nvcc '-arch=sm_90;touch {pwned}' -run {unit}", "-run"),
    "; in a list": Trick("nvcc '-diag-suppress=1;touch {pwned}' {unit}", "not a value that"),
    "; for ptxas": Trick("nvcc -Xptxas '-O3;touch {pwned}' {unit}", "-Xptxas"),
    "a name": Trick("nvcc -run -c x.cu", "-run", unit="$(touch {name}).cu"),
    "a name with backticks": Trick("nvcc -run -c x.cu", "-run", unit="`touch {name}`.cu"),
    "a name with quotes": Trick("nvcc -run x.cu", "-run", unit='";touch {name};".cu'),
    # Options files.
    "@file": Trick("nvcc @evil.rsp {unit}", "-run: it runs a program"),
    "--options-file": Trick("nvcc --options-file evil.rsp {unit}", "-run: it runs a program"),
    "-optf": Trick("nvcc -optf evil.rsp,evil.rsp {unit}", "-run: it runs a program"),
    "@file in a file": Trick("nvcc @nested.rsp {unit}", "-run: it runs a program"),
    "a device as options file": Trick("nvcc @/dev/zero {unit}", "@/dev/zero"),
    # clang's ways.
    "clang -fplugin": Trick("clang++ -x cuda -fplugin={ws}/evil.so {unit}", "-fplugin"),
    "clang -Xclang -load": Trick("clang++ -Xclang -load -Xclang {ws}/evil.so {unit}", "-load"),
    "clang --cuda-path": Trick("clang++ --cuda-path={ws} -x cuda {unit}", "our own toolkit"),
    "clang --config": Trick("clang++ --config {ws}/evil.cfg {unit}", "--config"),
}


@dataclass(frozen=True)
class Workspace:
    root: Path
    outside: Path

    def unit(self, name: str) -> Path:
        number = list(TRICKS).index(name)
        file = TRICKS[name].unit.format(name=f"{self.outside.name}/pwned")
        # A slash cannot stand in a name; the trick would write where the compiler runs.
        return self.root / (file.replace("/", "_") or f"u{number}.cu")

    def filled(self, text: str, name: str) -> str:
        unit = self.unit(name)
        pwned = self.outside / "pwned"
        places = {"{ws}": str(self.root), "{pwned}": str(pwned), "{unit}": unit.name}
        for place, value in places.items():
            text = text.replace(place, value)
        return text

    def content(self) -> dict[str, tuple[int, bytes]]:
        """All files there are, outside the cache."""
        return {
            str(path): (path.lstat().st_mtime_ns, path.read_bytes())
            for path in sorted(self.outside.parent.rglob("*"))
            if path.is_file() and "cache" not in path.relative_to(self.outside.parent).parts
        }


@pytest.fixture(scope="module")
def nvcc() -> None:
    """Looked for before PATH leads into the workspace."""
    real_nvcc()


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    root, outside = tmp_path / "ws", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    made = Workspace(root, outside)
    for name in PROGRAMS:
        (root / name).write_text(f"#!/bin/sh\n/usr/bin/touch {outside}/pwned\n")
        (root / name).chmod(0o755)
    (root / "evil.so").write_bytes(b"\x7fELF")
    (root / "evil.cmake").write_text(f'file(WRITE "{outside}/pwned" "")')
    (root / "evil.specs").write_text(f"*cpp:\n%(exec {root}/evil.sh)\n")
    (root / "evil.rsp").write_text(f"-run -o {outside}/pwned -ccbin {root}/g++ '-DX=$(touch x)'")
    (root / "nested.rsp").write_text("-DNESTED @evil.rsp")
    (root / "evil.cfg").write_text(f"-fplugin={root}/evil.so")
    (root / "nvcc.profile").write_text(f"PATH += {root}\nINCLUDES += -I{root}\n")
    for name in TRICKS:
        made.unit(name).write_text(SAXPY)
    commands = [
        {
            "directory": str(root),
            "file": made.unit(name).name,
            "command": made.filled(trick.command, name),
        }
        for name, trick in TRICKS.items()
    ]
    (root / "compile_commands.json").write_text(json.dumps(commands))
    monkeypatch.chdir(root)
    path = os.pathsep.join([str(root), ".", "", os.environ["PATH"]])
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(root))
    return made


def compile_in(workspace: Workspace, unit: Path, **options: object) -> CompileResult:
    request = CompileRequest(
        str(unit),
        "sm_90",
        str(workspace.root),
        cache=str(workspace.outside.parent / "cache"),
        **options,  # type: ignore[arg-type]
    )
    return compile_one(request, Control())


def test_there_are_enough_of_them() -> None:
    assert len(TRICKS) >= 25


def test_untrusted_nothing_is_executed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding the compiler, reading the commands and filtering them run nothing at all."""

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError(f"started {arguments}")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(os, "system", refuse)
    before = workspace.content()
    locate(None, [workspace.root])
    commands = load(find(workspace.root))
    assert commands.problems == ()
    for name in TRICKS:
        for command in commands.of(workspace.unit(name)):
            command.filtered([workspace.root], os.environ)
    assert workspace.content() == before


@pytest.mark.parametrize("name", TRICKS)
def test_what_is_left_of_it_is_harmless_and_the_rest_is_told(
    workspace: Workspace, name: str
) -> None:
    (command,) = load(find(workspace.root)).of(workspace.unit(name))
    flags = command.filtered([workspace.root], os.environ)
    said = workspace.filled(TRICKS[name].said, name)
    if isinstance(flags, str):
        assert said in flags
        return
    assert said in "; ".join(map(str, flags.dropped))
    assert flags.ccbin is None
    for word in (*flags.kept, *flags.ptxas):
        assert not set(word) & set("$`\\\"';|&<>() \n"), word
    for word in flags.host:
        assert word.startswith(("-D", "-I", "-U")), word


@pytest.mark.slow
@pytest.mark.usefixtures("nvcc")
@pytest.mark.parametrize("name", TRICKS)
def test_trusted_the_compiler_runs_and_nothing_else(workspace: Workspace, name: str) -> None:
    before = workspace.content()
    result = compile_in(workspace, workspace.unit(name))
    assert result.status == "ok", result.output or result.message
    assert workspace.filled(TRICKS[name].said, name) in "; ".join(map(str, result.dropped))
    assert workspace.content() == before
    assert not list((workspace.outside.parent / "cache" / "v1" / "scratch").iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("nvcc")
def test_tricks_in_the_settings_and_the_users_environment(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = workspace.root / "other.cu"
    unit.write_text(SAXPY)
    monkeypatch.setenv("NVCC_APPEND_FLAGS", f"-run -o {workspace.outside}/pwned @evil.rsp")
    monkeypatch.setenv("NVCC_CCBIN", str(workspace.root / "g++"))
    monkeypatch.setenv("GCC_EXEC_PREFIX", str(workspace.root))
    monkeypatch.setenv("DEPENDENCIES_OUTPUT", str(workspace.outside / "pwned"))
    before = workspace.content()
    pwned = workspace.outside / "pwned"
    args = (f"-ccbin={workspace.root}/g++", f"-o={pwned}", f"-DX=$(touch {pwned})", "@evil.rsp")
    result = compile_in(workspace, unit, args=args)
    assert result.status == "ok", result.output or result.message
    told = "; ".join(map(str, result.dropped))
    assert "-run: it runs a program" in told
    assert "lies in the workspace" in told
    assert workspace.content() == before


def test_the_workspaces_own_settings_name_no_compiler(workspace: Workspace) -> None:
    (workspace.root / "occlsp.toml").write_text(
        f'trusted = true\n[compile]\nnvcc = "{workspace.root}/nvcc"\n'
    )
    source, problem = config.read_toml(workspace.root / "occlsp.toml")
    assert problem is None and source is not None
    loaded = config.load([source])
    assert loaded.settings.compile.nvcc is None
    assert loaded.settings.trusted is None
    assert len(loaded.problems) == 2


def test_a_compiler_of_the_workspace_is_refused_even_by_the_users_setting(
    workspace: Workspace,
) -> None:
    result = compile_in(workspace, workspace.unit("-o"), nvcc=str(workspace.root / "nvcc"))
    assert result.status == "failed"
    assert "lies in the workspace, from which nothing is run" in (result.message or "")
    assert not (workspace.outside / "pwned").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("nvcc")
def test_a_source_that_includes_without_end_is_ended(workspace: Workspace) -> None:
    unit = workspace.root / "endless.cu"
    unit.write_text('#include "endless.cu"\n#include "/dev/stdin"\n' + SAXPY)
    (workspace.root / "compile_commands.json").write_text(
        json.dumps([{"directory": ".", "file": "endless.cu", "command": "nvcc endless.cu"}])
    )
    result = compile_in(workspace, unit, timeout=20.0)
    assert result.status == "error"
    assert isinstance(load(find(workspace.root)).of(unit)[0].filtered([]), Filtered)
