"""Which compiler is found where, and which is refused."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from occlsp.reports.compile import Context, compile_unit
from occlsp.reports.compile_task import CompileRequest, base_flags
from occlsp.reports.flags import Filtered
from occlsp.reports.toolchain import (
    Compiler,
    Missing,
    clean_environment,
    find_compiler,
    host_compiler,
    locate,
)
from tests.reports.compilers import SAXPY, fake_nvcc, posix_only, real_nvcc

pytestmark = posix_only


def found(setting: str | None, workspaces: list[Path], **env: str) -> Compiler:
    compiler = locate(setting, workspaces, env)
    assert isinstance(compiler, Compiler), compiler
    return compiler


def why_not(setting: str | None, workspaces: list[Path], **env: str) -> str:
    missing = find_compiler(setting, workspaces, env)
    assert isinstance(missing, Missing), missing
    return str(missing)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No toolkit in the usual places, so that the machine's own does not answer."""
    monkeypatch.setattr("occlsp.reports.toolchain._toolkit_folders", list)
    monkeypatch.setattr(sys, "path", [])


def test_the_order_is_setting_path_cuda_home_usual_places_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {name: tmp_path / name / "bin" for name in ("setting", "path", "home", "usual")}
    packages = tmp_path / "site-packages"
    for folder in (*places.values(), packages / "nvidia" / "cu13" / "bin"):
        fake_nvcc(folder, "exit 1")
    monkeypatch.setattr(
        "occlsp.reports.toolchain._toolkit_folders", lambda: [places["usual"].parent]
    )
    monkeypatch.setattr(sys, "path", ["", str(packages)])
    env = {"PATH": str(places["path"]), "CUDA_HOME": str(places["home"].parent)}

    compiler = found(str(places["setting"] / "nvcc"), [], **env)
    assert compiler.found_in == "setting"
    assert found(None, [], **env).found_in == "PATH"
    del env["PATH"]
    assert found(None, [], **env).found_in == "CUDA_HOME"
    assert found(None, [], CUDA_PATH=env["CUDA_HOME"]).found_in == "CUDA_PATH"
    assert found(None, []).found_in == str(places["usual"].parent)
    shutil.rmtree(places["usual"])
    assert found(None, []).found_in == "pip package"


@pytest.mark.parametrize("given", ["toolkit", "toolkit/bin", "toolkit/bin/nvcc"])
def test_a_setting_names_the_compiler_or_a_folder_of_it(tmp_path: Path, given: str) -> None:
    path = fake_nvcc(tmp_path / "toolkit" / "bin", "exit 1")
    assert found(str(tmp_path / given), []).path == path


def test_a_bare_name_is_looked_up_in_path(tmp_path: Path) -> None:
    path = fake_nvcc(tmp_path, "exit 1", name="nvcc-13.0")
    assert found("nvcc-13.0", [], PATH=str(tmp_path)).path == path


def test_a_setting_that_does_not_hold_is_told_and_not_passed_over(tmp_path: Path) -> None:
    other = fake_nvcc(tmp_path / "path", "exit 1").parent
    message = why_not(str(tmp_path / "gone" / "nvcc"), [], PATH=str(other))
    assert "gone/nvcc, which is not there" in message
    assert "set `compile.nvcc`" in message


@pytest.mark.usefixtures("nowhere")
def test_without_any_the_way_out_is_told() -> None:
    message = why_not(None, [], PATH="/nonexistent")
    assert message.startswith("no nvcc was found")
    assert "pip install 'occlsp[nvcc]'" in message


@pytest.mark.parametrize("name", ["sh", "python3", "mynvcc", "nvcc.sh", "nvcc-evil", "clang++"])
def test_only_known_names_are_run(tmp_path: Path, name: str) -> None:
    path = fake_nvcc(tmp_path, "exit 1", name=name)
    assert "is not an nvcc by its name" in why_not(str(path), [])


@pytest.mark.parametrize("name", ["nvcc", "nvcc-13.0", "nvcc12"])
def test_versioned_names_are_known(tmp_path: Path, name: str) -> None:
    assert found(str(fake_nvcc(tmp_path, "exit 1", name=name)), []).path.name == name


@pytest.mark.usefixtures("nowhere")
class TestInTheWorkspace:
    """Nothing that lies in the workspace is run, however it is reached."""

    def test_in_path(self, tmp_path: Path) -> None:
        fake_nvcc(tmp_path / "work" / "tools", "exit 1")
        message = why_not(None, [tmp_path / "work"], PATH=str(tmp_path / "work" / "tools"))
        assert "lies in the workspace" in message

    def test_by_a_link_from_outside(self, tmp_path: Path) -> None:
        path = fake_nvcc(tmp_path / "work", "exit 1")
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "nvcc").symlink_to(path)
        assert "lies in the workspace" in why_not(
            str(tmp_path / "bin" / "nvcc"), [tmp_path / "work"]
        )

    def test_where_the_workspace_is_a_link(self, tmp_path: Path) -> None:
        path = fake_nvcc(tmp_path / "real", "exit 1")
        (tmp_path / "work").symlink_to(tmp_path / "real")
        assert "lies in the workspace" in why_not(str(path), [tmp_path / "work"])

    def test_a_relative_folder_of_path(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake_nvcc(tmp_path, "exit 1")
        monkeypatch.chdir(tmp_path)
        assert "no nvcc was found" in why_not(None, [], PATH=f".{os.pathsep}")

    def test_another_in_path_is_used(self, tmp_path: Path) -> None:
        inside = fake_nvcc(tmp_path / "work", "exit 1").parent
        outside = fake_nvcc(tmp_path / "usr", "exit 1")
        path = f"{inside}{os.pathsep}{outside.parent}"
        assert found(None, [tmp_path / "work"], PATH=path).path == outside


def test_a_program_without_the_right_to_run_is_told(tmp_path: Path) -> None:
    path = fake_nvcc(tmp_path, "exit 1")
    path.chmod(0o644)
    assert "chmod +x" in why_not(str(path), [])


@pytest.mark.parametrize(
    ("version", "said"),
    [("garbage \x07 output", "garbage"), ("", "nothing"), ("gcc (Debian) 12.2.0", "gcc")],
)
def test_what_does_not_answer_as_a_compiler_is_told(
    tmp_path: Path, version: str, said: str
) -> None:
    path = fake_nvcc(tmp_path, "exit 1", version=version)
    message = why_not(str(path), [])
    assert "does not answer `--version` as a CUDA compiler does" in message
    assert said in message


def test_a_missing_host_compiler_is_told(tmp_path: Path) -> None:
    path = fake_nvcc(tmp_path, "exit 1")
    compiler = find_compiler(str(path), [], {"PATH": "/nonexistent"})
    assert isinstance(compiler, Compiler)
    assert compiler.problem is not None
    assert "install g++" in compiler.problem
    unit = tmp_path / "a.cu"
    unit.write_text(SAXPY)
    result = compile_unit(Context(compiler), unit, "sm_90", Filtered())
    assert (result.status, result.message) == ("failed", compiler.problem)


def test_a_host_compiler_that_is_a_link_into_the_workspace(tmp_path: Path) -> None:
    path = fake_nvcc(tmp_path / "usr", "exit 1")
    evil = fake_nvcc(tmp_path / "work", "exit 1", name="gcc")
    (tmp_path / "usr" / "gcc").symlink_to(evil)
    env = {"PATH": os.pathsep.join([str(tmp_path / "usr"), os.environ["PATH"]])}
    compiler = find_compiler(str(path), [tmp_path / "work"], env)
    assert isinstance(compiler, Compiler)
    assert "is a link into the workspace" in (compiler.problem or "")


def test_a_wrapper_script_is_asked_where_its_toolkit_is() -> None:
    compiler = real_nvcc()
    assert compiler.toolkit is not None
    assert compiler.tool("ptxas") == compiler.toolkit / "bin" / "ptxas"
    assert compiler.release >= (11, 0)
    assert compiler.tool("no-such-tool") is None


def test_the_pip_packages_compile_with_no_toolkit_on_the_path(tmp_path: Path) -> None:
    """The layout that the extra `occlsp[nvcc]` installs, with what is there linked in its place
    where the packages are not installed."""
    packages = [Path(entry) / "nvidia" for entry in sys.path if entry]
    installed = [path for folder in packages for path in folder.glob("cu*/bin/nvcc")]
    if installed:
        site = installed[0].parents[3]
    else:
        real = real_nvcc()
        assert real.toolkit is not None
        site = tmp_path / "site-packages"
        (site / "nvidia").mkdir(parents=True)
        (site / "nvidia" / "cu13").symlink_to(real.toolkit)
    path = os.pathsep.join(["/usr/bin", "/bin"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("occlsp.reports.toolchain._toolkit_folders", list)
        patch.setattr(sys, "path", [str(site)])
        compiler = find_compiler(None, [], {"PATH": path})
    assert isinstance(compiler, Compiler), compiler
    assert compiler.found_in == "pip package"
    unit = tmp_path / "saxpy.cu"
    unit.write_text(SAXPY)
    result = compile_unit(Context(compiler, env={"PATH": path}), unit, "sm_90", Filtered())
    assert result.status == "ok", result
    assert result.entries[0].registers


class TestHostCompiler:
    def test_a_known_name_outside(self, tmp_path: Path) -> None:
        path = fake_nvcc(tmp_path / "usr", "", name="x86_64-linux-gnu-g++-12")
        assert host_compiler(str(path), [tmp_path / "work"], "") == path

    def test_a_folder_stands_for_the_one_in_it(self, tmp_path: Path) -> None:
        path = fake_nvcc(tmp_path, "", name="g++")
        assert host_compiler(str(tmp_path), [], "") == path

    def test_a_bare_name_is_looked_up(self, tmp_path: Path) -> None:
        path = fake_nvcc(tmp_path, "", name="clang++-18")
        assert host_compiler("clang++-18", [], str(tmp_path)) == path

    @pytest.mark.parametrize(
        ("name", "folder", "why"),
        [
            ("evil", "usr", "not the name of a host compiler"),
            ("g++.sh", "usr", "not the name of a host compiler"),
            ("g++", "work", "lies in the workspace"),
        ],
    )
    def test_refused(self, tmp_path: Path, name: str, folder: str, why: str) -> None:
        path = fake_nvcc(tmp_path / folder, "", name=name)
        answer = host_compiler(str(path), [tmp_path / "work"], "")
        assert isinstance(answer, str)
        assert why in answer


def test_the_environment_holds_nothing_that_makes_tools_do_more(tmp_path: Path) -> None:
    work = tmp_path / "work"
    env = {
        "PATH": os.pathsep.join([str(work / "bin"), "/usr/bin", ".", "", "relative"]),
        "LD_PRELOAD": str(work / "evil.so"),
        "NVCC_APPEND_FLAGS": "-run",
        "NVCC_CCBIN": "/evil",
        "GCC_EXEC_PREFIX": "/evil/",
        "DEPENDENCIES_OUTPUT": "/evil",
        "HOME": "/home/me",
    }
    clean = clean_environment(env, [work], tmp_path / "scratch")
    assert clean == {
        "PATH": "/usr/bin",
        "HOME": "/home/me",
        "LC_ALL": "C",
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(tmp_path / "scratch")),
    }


def test_libraries_from_pypi_beside_the_toolkit(tmp_path: Path) -> None:
    for name in ("cu13", "cudnn", "nccl"):
        (tmp_path / "nvidia" / name / "include").mkdir(parents=True)
    nvcc = tmp_path / "nvidia" / "cu13" / "bin" / "nvcc"
    compiler = Compiler(nvcc, "pip package", "13.5.37", nvcc.parents[1])
    found = [str(path.relative_to(tmp_path)) for path in compiler.library_folders]
    assert found == ["nvidia/cudnn/include", "nvidia/nccl/include"]
    flags = base_flags(CompileRequest("a.cu", "sm_90", str(tmp_path)), compiler)
    assert flags.host[:2] == ("-idirafter", str(tmp_path / "nvidia" / "cudnn" / "include"))
    system = replace(compiler, toolkit=Path("/usr/local/cuda"))
    assert system.library_folders == []
