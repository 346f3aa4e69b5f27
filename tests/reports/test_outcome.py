"""What came of a unit is remembered, failures too: a second check starts no compiler in vain."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from occlsp.cli.main import main
from occlsp.reports.compile_task import CompileRequest, compile_one
from occlsp.reports.compiled import CompileResult
from occlsp.reports.worker import Control
from tests.reports.compilers import fake_nvcc, posix_only, real_nvcc, starts

WORKS = {
    "fine.cu": "__global__ void fine(float *p) { *p = 1; }\n",
    "sliced.cu": '#include "gone/api.h"\n'
    "__global__ void sliced(float *p) { *p = 2; }\n"
    "void run() { gone::call(); }\n",
    "part.cu": "__global__ void part(T *p) { *p = 3; }\n",
    "whole.cu": 'using T = float;\n#include "part.cu"\n',
}
FAILS = {
    "wrong.cu": "__global__ void wrong(int *p) { *p = oops; }\n",
    "lacks.cu": '#include "settings.h"\n__global__ void lacks(int *p) { *p = SETTING; }\n',
    "based.cu": '#include "base.h"\n__global__ void based(int *p) { *p = BASE; }\n',
    "base.h": "#define BASE oops\n",
    "large.cu": "__global__ void large(int *p) {\n"
    "  __shared__ volatile int s[20000]; s[threadIdx.x] = 1; *p = s[*p]; }\n",
}


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an nvcc that notes its starts and is the real one."""
    real = real_nvcc()
    nvcc = fake_nvcc(tmp_path / "tools", f'exec "{real.path}" "$@"', version="")
    script = nvcc.read_text().replace('echo ""; exit 0', f'exec "{real.path}" "$@"')
    nvcc.write_text(script.replace("-dryrun) exit 0", f'-dryrun) exec "{real.path}" "$@"'))
    monkeypatch.setenv("PATH", str(nvcc.parent), prepend=":")
    monkeypatch.setenv("OCCLSP_CACHE_DIR", str(tmp_path / "cache"))
    return nvcc.parent


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    for name, text in (WORKS | FAILS).items():
        (root / name).write_text(text)
    monkeypatch.chdir(root)
    monkeypatch.setattr("occlsp.reports.guess.LISTING_SECONDS", 0.0)
    return root


def check() -> Result:
    words = ["check", ".", "--compile", "--arch", "sm_90", "-j", "1", "--format", "json"]
    return CliRunner().invoke(main, words, catch_exceptions=False)


def newly_started(tools: Path, action: object = None) -> list[str]:
    """The units that the compiler was started for since the last time this was asked."""
    names = [Path(line.split()[-1]).name for line in starts(tools)]
    (tools / "starts").unlink(missing_ok=True)
    return sorted(set(names))


@pytest.mark.slow
@posix_only
class TestCheckedTwice:
    def test_nothing_is_done_again_and_the_same_is_said(self, tools: Path, project: Path) -> None:
        first = check()
        assert newly_started(tools) != []
        for name in ("wrong.cu", "lacks.cu", "based.cu", "large.cu"):
            assert f"{name}: not compiled for sm_90" in first.stderr
        for name in WORKS:
            assert name not in first.stderr
        second = check()
        assert newly_started(tools) == []
        assert (second.stdout, second.stderr) == (first.stdout, first.stderr)

    def test_a_header_that_comes_is_found_wherever_it_comes(
        self, tools: Path, project: Path
    ) -> None:
        check()
        newly_started(tools)
        (project / "far" / "away").mkdir(parents=True)
        (project / "far" / "away" / "settings.h").write_text("#define SETTING 7\n")
        after = check()
        assert newly_started(tools) == ["lacks.cu"]
        assert "lacks.cu" not in after.stderr
        check()
        assert newly_started(tools) == []

    def test_a_header_that_is_mended_mends_who_includes_it(
        self, tools: Path, project: Path
    ) -> None:
        check()
        newly_started(tools)
        (project / "base.h").write_text("#define BASE 1\n")
        after = check()
        assert newly_started(tools) == ["based.cu"]
        assert "based.cu" not in after.stderr

    def test_with_compile_commands_too(self, tools: Path, project: Path) -> None:
        include = project.parent / "installed"
        commands = [
            {"directory": str(project), "file": name, "command": f"nvcc -I {include} -c {name}"}
            for name in ("wrong.cu", "lacks.cu", "sliced.cu")
        ]
        (project / "compile_commands.json").write_text(json.dumps(commands))
        first = check()
        assert "wrong.cu: not compiled for sm_90" in first.stderr
        assert "sliced.cu" not in first.stderr
        newly_started(tools)
        assert check().stderr == first.stderr
        assert newly_started(tools) == []
        include.mkdir()
        (include / "settings.h").write_text("#define SETTING 7\n")
        assert "lacks.cu" not in check().stderr
        assert newly_started(tools) == ["lacks.cu"]


def compiled(request: CompileRequest) -> CompileResult:
    return compile_one(request, Control())


def asked(folder: Path, nvcc: Path) -> CompileRequest:
    (folder / "w").mkdir()
    unit = folder / "w" / "k.cu"
    unit.write_text(WORKS["fine.cu"])
    words = [{"directory": str(unit.parent), "file": "k.cu", "command": "nvcc -c k.cu"}]
    (folder / "w" / "compile_commands.json").write_text(json.dumps(words))
    cache = str(folder / "cache")
    return CompileRequest(
        str(unit), "sm_90", str(unit.parent), nvcc=str(nvcc), timeout=1.0, slow=None, cache=cache
    )


@posix_only
@pytest.mark.parametrize(
    ("behaviour", "status"), [("sleep 60", "timeout"), ("kill -SEGV $$", "failed")]
)
def test_what_may_pass_is_tried_again_later_or_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, status: str
) -> None:
    nvcc = fake_nvcc(tmp_path / "tools", behaviour)
    request = asked(tmp_path, nvcc)
    first = compiled(request)
    assert first.status == status
    tries = len(starts(nvcc.parent))
    again = compiled(request)
    assert (again.status, again.message, again.is_cached) == (status, first.message, True)
    assert len(starts(nvcc.parent)) == tries
    for other in (replace(request, retry=True), replace(request, timeout=1.5)):
        assert not compiled(other).is_cached
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3700)
    assert not compiled(request).is_cached


@posix_only
def test_what_was_cancelled_is_not_remembered(tmp_path: Path) -> None:
    nvcc = fake_nvcc(tmp_path / "tools", "sleep 60")
    request = asked(tmp_path, nvcc)
    control = Control()
    control.cancel()
    assert compile_one(request, control).status == "cancelled"
    assert compiled(request).status == "timeout"


@posix_only
def test_a_compiler_that_cannot_start_is_not_remembered(tmp_path: Path) -> None:
    nvcc = fake_nvcc(tmp_path / "tools", "exit 0")
    request = asked(tmp_path, nvcc)
    Path(request.unit).chmod(0)
    shutil.move(request.unit, tmp_path / "aside.cu")
    assert compiled(request).status == "failed"
    shutil.move(tmp_path / "aside.cu", request.unit)
    Path(request.unit).chmod(0o644)
    assert not compiled(request).is_cached


TORCH = """\
#include <torch/extension.h>
template <int N> __global__ void scale(float *p) { p[threadIdx.x] *= N; }
torch::Tensor run(torch::Tensor x) {
    scale<3><<<1, x.numel()>>>(x.data_ptr<float>());
    return x;
}
"""
SLOW_HEADER = """\
template <int N, int M> struct Deep { static constexpr int at = Deep<N - 1, M>::at + M; };
template <int M> struct Deep<0, M> { static constexpr int at = M; };
#define EIGHT(x) x##0, x##1, x##2, x##3, x##4, x##5, x##6, x##7
template <int... N> struct All { static constexpr int sum = (Deep<190, N>::at + ...); };
template <int... N> struct Range {};
template <class T> struct Sum;
template <int... N> struct Sum<Range<N...>> : All<N...> {};
template <int N, int... M> struct Upto : Upto<N - 1, N - 1, M...> {};
template <int... M> struct Upto<0, M...> { using type = Range<M...>; };
inline int slow() {
  return Sum<Upto<180>::type>::sum;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("has_commands", [True, False], ids=["commands", "no commands"])
def test_too_slow_with_pytorchs_headers_is_compiled_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_commands: bool
) -> None:
    """The headers here are slow in earnest: hundreds of thousands of instantiations."""
    request = asked(tmp_path, real_nvcc().path)
    Path(request.unit).write_text(TORCH)
    header = tmp_path / "w" / "include" / "torch" / "extension.h"
    header.parent.mkdir(parents=True)
    header.write_text("\n".join(f"namespace s{n} {{\n{SLOW_HEADER}}}" for n in range(40)))
    if has_commands:
        words = f"nvcc -I {header.parent.parent} -c k.cu"
        commands = [{"directory": request.root, "file": "k.cu", "command": words}]
        (tmp_path / "w" / "compile_commands.json").write_text(json.dumps(commands))
    else:
        (tmp_path / "w" / "compile_commands.json").unlink()
    result = compiled(replace(request, timeout=8.0))
    assert (result.status, result.origin) == ("ok", "standins"), result.attempts
    assert [attempt.status for attempt in result.attempts][-2:] == ["timeout", "ok"]
    assert [(entry.line, entry.entry) for entry in result.entries] == [(2, "_Z5scaleILi3EEvPf")]
    assert "stand-ins for torch/extension.h" in (result.message or "")
