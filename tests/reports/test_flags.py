"""What of a compile command reaches the compiler, and what is said of the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from occlsp.reports.commandline import peel, split_command, split_posix, split_windows
from occlsp.reports.compile_commands import Command, find, load
from occlsp.reports.flags import Filtered, filter_flags, split_commas

HERE = Path("/src")


def filtered(command: str, **options: object) -> Filtered:
    options.setdefault("workspaces", ())
    return filter_flags(split_command(command), HERE, **options)  # type: ignore[arg-type]


def refused(flags: Filtered) -> str:
    return "; ".join(str(dropped) for dropped in flags.dropped if dropped.is_refused)


def test_a_command_of_cmake() -> None:
    flags = filtered(
        "-forward-unknown-to-host-compiler -DN=4 -I/opt/inc -isystem=/opt/sys -O3 -DNDEBUG "
        "-std=c++17 --generate-code=arch=compute_80,code=[compute_80,sm_80] "
        "--generate-code=arch=compute_90a,code=sm_90a -Xcompiler=-fPIC -x cu -c a.cu -o a.o "
        "-MD -MT a.o -MF a.d --expt-relaxed-constexpr -march=haswell"
    )
    assert flags.kept == ("--optimize=3", "--std=c++17", "--expt-relaxed-constexpr")
    assert flags.host == (
        *("-fPIC", "-march=haswell"),
        *("-DN=4", "-I/opt/inc", "-isystem", "/opt/sys", "-DNDEBUG"),
    )
    assert flags.arches == ("sm_80", "sm_90a")
    assert refused(flags) == ""


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("-std=c++20", "--std=c++20"),
        ("--std c++14", "--std=c++14"),
        ("-use_fast_math", "--use_fast_math"),
        ("--use_fast_math", "--use_fast_math"),
        ("-maxrregcount=64", "--maxrregcount=64"),
        ("-maxrregcount 64", "--maxrregcount=64"),
        ("-fmad=false", "--fmad=false"),
        ("--default-stream per-thread", "--default-stream=per-thread"),
        ("-extended-lambda", "--extended-lambda"),
        ("-diag-suppress 20012,177", "--diag-suppress=20012,177"),
        ("-Xcudafe --diag_suppress=20012", "-Xcudafe=--diag_suppress=20012"),
        ("-m64", "--m64"),
        ("-O2", "--optimize=2"),
    ],
)
def test_kept(command: str, kept: str) -> None:
    assert filtered(command).kept == (kept,)


@pytest.mark.parametrize(
    ("command", "host"),
    [
        ("-Iinc", ["-I/src/inc"]),
        ("-I inc", ["-I/src/inc"]),
        ("-I../inc", ["-I/src/../inc"]),
        ("--include-path=a,b", ["-I/src/a", "-I/src/b"]),
        (r"-I 'a\,b'", ["-I/src/a,b"]),
        ("-isystem sys", ["-isystem", "/src/sys"]),
        ("-DX", ["-DX"]),
        ("-D X=1,Y=2", ["-DX=1", "-DY=2"]),
        (r"-DS='\"text, with\"'", ['-DS=\\"text', '-D with\\"']),
        ("-U X", ["-UX"]),
        ("-Xcompiler -iquote,q", ["-iquote", "/src/q"]),
        ("-Xcompiler -iquote -Xcompiler q", ["-iquote", "/src/q"]),
        ("-Xcompiler=-fopenmp,-pthread", ["-fopenmp", "-pthread"]),
        ("-Xcompiler '-fPIC -mavx2 -DA=1'", ["-fPIC", "-mavx2", "-DA=1"]),
        ("--compiler-options -fno-exceptions", ["-fno-exceptions"]),
    ],
)
def test_free_text_goes_to_the_preprocessor(command: str, host: list[str]) -> None:
    assert list(filtered(command).host) == host


@pytest.mark.parametrize(
    ("command", "arches"),
    [
        ("-arch=sm_90", ["sm_90"]),
        ("-arch sm_90a", ["sm_90a"]),
        ("-arch=compute_90", ["sm_90"]),
        ("--gpu-architecture=compute_80 -code=sm_86,sm_89", ["sm_86", "sm_89"]),
        ("-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=compute_90", ["sm_75"]),
        ("-gencode arch=compute_80,code=[compute_80,sm_80]", ["sm_80"]),
        ("-gencode=arch=compute_100f,code=sm_100f", ["sm_100f"]),
        ("-gencode arch=compute_90,code=lto_90", ["sm_90"]),
        ("-arch=native", ["native"]),
        ("-arch=all-major", ["all-major"]),
        ("", []),
    ],
)
def test_architectures(command: str, arches: list[str]) -> None:
    flags = filtered(command)
    assert list(flags.arches) == arches
    assert flags.kept == ()


def test_builds_of_other_kinds_are_marked() -> None:
    assert filtered("-G").is_debug
    assert filtered("-rdc=true").is_rdc
    assert not filtered("-rdc=true -rdc=false").is_rdc
    assert filtered("-dc").is_rdc
    assert filtered("-dlto").is_lto
    assert filtered("-gencode arch=compute_90,code=lto_90").is_lto
    assert filtered("-G -dlto -rdc=true").kept == ()


def test_flags_of_ptxas() -> None:
    flags = filtered("-Xptxas -v,-O2,-dlcm=ca --ptxas-options=--allow-expensive-optimizations=true")
    assert flags.ptxas == ("-O2", "-dlcm=ca", "--allow-expensive-optimizations=true")
    assert "--output-file" in refused(filtered("-Xptxas --output-file=/home/me/.bashrc"))
    assert "--options-file" in refused(filtered("-Xptxas --options-file,evil"))


@pytest.mark.parametrize(
    "command",
    [
        "-run",
        "--run-args x",
        "-odir /tmp/out",
        "-keep-dir /tmp/out",
        "--save-temps",
        "-time /tmp/times.csv",
        "--fdevice-time-trace=/tmp/trace",
        "-arbin /tmp/ar",
        "-ldir /tmp/libdevice",
        "-target-dir ../../evil",
        "-noprof",
        "-idp /x",
        "-hls gen-lcs",
        "--gen-opt-lto x",
        "-Xcompiler -fplugin=evil.so",
        "-Xcompiler -fplugin-arg-evil-x=1",
        "-Xcompiler -B,/tmp/evil",
        "-Xcompiler -wrapper,evil",
        "-Xcompiler -specs=evil.specs",
        "-Xcompiler -o,/tmp/out",
        "-Xcompiler -MF,/tmp/out",
        "-Xcompiler -Wp,-MD,/tmp/out",
        "-Xcompiler -fdump-tree-all=/tmp/out",
        "-Xcompiler -save-temps=obj",
        "-Xcompiler -aux-info,/tmp/out",
        "-Xcompiler -imacros,/etc/passwd",
        "-Xcompiler @evil.rsp",
        "-Xcompiler 'evil; touch x'",
        "-Xcudafe --gen_c_file_name=/tmp/out",
        "-std='c++17;touch x'",
        "-maxrregcount='$(touch x)'",
        "-made-up-by-someone",
    ],
)
def test_refused_and_told(command: str) -> None:
    flags = filtered(command)
    assert flags.kept == flags.ptxas == flags.pre_includes == ()
    assert not any(word.startswith(("-f", "-o", "-B", "@")) for word in flags.host)
    assert refused(flags)


def test_what_has_no_use_is_dropped_without_alarm() -> None:
    flags = filtered("-c a.cu -o a.o -MD -MF a.d -lcudart -L/lib -lineinfo -Xcompiler -Wall -t4 -v")
    assert flags.kept == flags.host == ()
    assert refused(flags) == ""
    assert "-o a.o" in [dropped.flag for dropped in flags.dropped]


def test_the_value_of_a_dropped_flag_is_dropped_with_it() -> None:
    assert filtered("-o -DX -MF -I. -lfoo").host == ()


class TestOptionsFiles:
    def test_are_expanded_and_filtered(self, tmp_path: Path) -> None:
        (tmp_path / "a.rsp").write_text('-DA -run\n"-Iwith space" @b.rsp')
        (tmp_path / "b.rsp").write_text("-DB --options-file c.rsp")
        (tmp_path / "c.rsp").write_text("-DC")
        flags = filter_flags(["@a.rsp", "-DD"], tmp_path, workspaces=())
        folder = f"-I{tmp_path}/with space"
        assert flags.host == ("-DA", folder, "-DB", "-DC", "-DD")
        assert refused(flags) == "-run: it runs a program"

    @pytest.mark.parametrize("words", [["-optf", "a,b"], ["--options-file=a,b"]])
    def test_several_in_one(self, tmp_path: Path, words: list[str]) -> None:
        (tmp_path / "a").write_text("-DA")
        (tmp_path / "b").write_bytes("-DB".encode("utf-16"))
        assert filter_flags(words, tmp_path, workspaces=()).host == ("-DA", "-DB")

    def test_that_include_themselves_end(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("-DA @a @a")
        flags = filter_flags(["@a"], tmp_path, workspaces=())
        assert set(flags.host) == {"-DA"}
        assert "too deep or are too many" in refused(flags)

    def test_that_are_not_there_are_told(self, tmp_path: Path) -> None:
        flags = filter_flags(["@gone.rsp", "@/dev/zero", "-DX"], tmp_path, workspaces=())
        assert flags.host == ("-DX",)
        assert [dropped.flag for dropped in flags.dropped] == ["@gone.rsp", "@/dev/zero"]


def test_flags_in_the_environment_pass_the_same_filter() -> None:
    env = {"NVCC_PREPEND_FLAGS": "-DA -run", "NVCC_APPEND_FLAGS": "-DC -Xcompiler -fplugin=x"}
    flags = filter_flags(["-DB"], HERE, env=env, workspaces=())
    assert flags.host == ("-DA", "-DB", "-DC")
    assert "-run" in refused(flags)
    assert "-fplugin=x" in refused(flags)


def test_pre_includes_are_regular_files(tmp_path: Path) -> None:
    (tmp_path / "pre.h").write_text("")
    flags = filter_flags(
        ["-include", "pre.h", "-include", "found_later.h"], tmp_path, workspaces=()
    )
    assert flags.pre_includes == (str(tmp_path / "pre.h"), "found_later.h")
    for odd in ("/dev/zero", str(tmp_path), "-x", '"\n#pragma x'):
        assert refused(filter_flags(["-include", odd], tmp_path, workspaces=()))


@pytest.mark.parametrize("odd", ["\0", "\n", "\r", "\ud800"])
@pytest.mark.parametrize("flag", ["-D", "-I", "-Xcompiler=-D", "-Xcompiler=-iquote", "-std="])
def test_words_that_no_program_can_be_told(flag: str, odd: str) -> None:
    flags = filter_flags([f"{flag}a{odd}b"], HERE, workspaces=())
    assert flags.host == flags.kept == ()
    assert "it cannot be said to a program" in refused(flags)


class TestClang:
    def test_is_translated(self) -> None:
        flags = filtered(
            "-x cuda --cuda-gpu-arch=sm_80 --offload-arch=sm_90a -std=c++17 -O3 -ffast-math "
            "-fgpu-rdc -Iinc -iquote q -mavx2 -Xcuda-ptxas -O2 --cuda-device-only -Wno-unknown-x "
            "-c a.cu -o a.o",
            dialect="clang",
        )
        assert flags.arches == ("sm_80", "sm_90a")
        assert flags.kept == ("--std=c++17", "--optimize=3", "--use_fast_math")
        assert flags.host == ("-iquote", "/src/q", "-mavx2", "-I/src/inc")
        assert flags.ptxas == ("-O2",)
        assert flags.is_rdc
        assert refused(flags) == ""

    @pytest.mark.parametrize(
        "command",
        ["-Xclang -load -Xclang evil.so", "-mllvm -load=evil.so", "-fplugin=evil.so"],
    )
    def test_plugins_are_refused(self, command: str) -> None:
        flags = filtered(command, dialect="clang")
        assert flags.host == flags.kept == ()
        assert refused(flags)


class TestCommandStrings:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("a 'b c' d\\ e", ["a", "b c", "d e"]),
            ('-DS="\\"x\\"" y', ['-DS="x"', "y"]),
            ("a  \t\n b", ["a", "b"]),
            ("'half open", ["half open"]),
            ("a'b'\"c\"d ''", ["abcd", ""]),
            ("$(touch x) `y` ; z", ["$(touch", "x)", "`y`", ";", "z"]),
        ],
    )
    def test_posix(self, text: str, words: list[str]) -> None:
        assert split_posix(text) == words

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (r"C:\cuda\nvcc.exe -IC:\inc a.cu", [r"C:\cuda\nvcc.exe", r"-IC:\inc", "a.cu"]),
            (r'"C:\Program Files\nvcc.exe" x', [r"C:\Program Files\nvcc.exe", "x"]),
            (r"nvcc.exe -DS=\"x\" y", ["nvcc.exe", '-DS="x"', "y"]),
            (r'nvcc.exe "C:\a b\\" c', ["nvcc.exe", "C:\\a b\\", "c"]),
            (r'nvcc.exe -I"a b"c ""', ["nvcc.exe", "-Ia bc", ""]),
        ],
    )
    def test_windows(self, text: str, words: list[str]) -> None:
        assert split_command(text) == words
        assert split_windows(text) == words

    def test_half_a_megabyte_is_split_at_once(self) -> None:
        assert len(split_posix("-Ia\\ b'c'\"d\" " * 40_000)) == 40_000

    def test_commas_behind_a_backslash_are_not_of_the_list(self) -> None:
        assert split_commas(r"a,b\,c,,d") == ["a", "b,c", "d"]


class TestLaunchers:
    @pytest.mark.parametrize(
        "command",
        [
            "nvcc -DX",
            "/opt/cuda/bin/nvcc -DX",
            "ccache nvcc -DX",
            "/usr/bin/sccache /usr/bin/nvcc-13.0 -DX",
            "cmake -E env A=1 --unset=B nvcc -DX",
            "/usr/bin/cmake -E __run_co_compile --launcher=ccache --source=a.cu -- nvcc -DX",
            "occlsp record --reports-dir r -- ccache nvcc -DX",
            "C:\\cuda\\bin\\NVCC.EXE -DX",
        ],
    )
    def test_known_ones_are_peeled_off(self, command: str) -> None:
        assert peel(split_command(command)).arguments == ("-DX",)

    @pytest.mark.parametrize(
        ("command", "why"),
        [
            ("sh -c 'nvcc -DX'", "`sh` is not a compiler we know"),
            ("./build.sh nvcc", "`./build.sh` is not a compiler we know"),
            ("python3 nvcc", "not a compiler we know"),
            ("cmake -P evil.cmake", "`cmake` is not a compiler we know"),
            ("occlsp record", "`occlsp` is not a compiler we know"),
            ("/usr/bin/g++ -c a.cpp", "a compiler of the host"),
            ("ccache", "the command is empty"),
        ],
    )
    def test_any_other_command_is_ignored(self, command: str, why: str) -> None:
        peeled = peel(split_command(command))
        assert peeled.compiler is None
        assert why in (peeled.reason or "")


class TestCompileCommands:
    def write(self, folder: Path, content: object) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "compile_commands.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def test_both_forms_of_a_command(self, tmp_path: Path) -> None:
        path = self.write(
            tmp_path / "build",
            [
                {"directory": str(tmp_path), "file": "a.cu", "command": "nvcc -DA='x y' -c a.cu"},
                {"directory": "..", "file": "b.cu", "arguments": ["nvcc", "-Iinc", "-c", "b.cu"]},
            ],
        )
        commands = load(path)
        (a,) = commands.of(tmp_path / "a.cu")
        (b,) = commands.of(tmp_path / "b.cu")
        assert isinstance(flags := a.filtered(()), Filtered)
        assert flags.host == ("-DA=x y",)
        assert isinstance(flags := b.filtered(()), Filtered)
        assert flags.host == (f"-I{tmp_path}/build/../inc",)
        assert commands.problems == ()

    def test_what_cmake_sets_in_the_environment_is_filtered(self) -> None:
        command = Command(
            "/a.cu", HERE, "cmake -E env NVCC_APPEND_FLAGS='-DX -run' PATH=/evil nvcc"
        )
        flags = command.filtered((), {"PATH": "/usr/bin"})
        assert isinstance(flags, Filtered)
        assert flags.host == ("-DX",)
        assert "-run" in refused(flags)

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("[{", "not valid JSON"),
            ("", "not valid JSON"),
            ('{"a": 1}', "not a list"),
            ("[" * 100_000, "not valid JSON"),
            ([3, {"file": "a.cu"}, {"file": 1}], "entry 1 is ignored: it is not an object"),
        ],
    )
    def test_what_is_broken_is_told(self, tmp_path: Path, content: object, told: str) -> None:
        path = self.write(tmp_path, content)
        commands = load(path)
        assert told in commands.problems[0]
        assert str(path) in commands.problems[0]

    def test_a_broken_entry_costs_that_one(self, tmp_path: Path) -> None:
        good = {"directory": ".", "file": "a.cu", "command": "nvcc -c a.cu"}
        commands = load(self.write(tmp_path, [*[{"file": 3}] * 20, good]))
        assert commands.units() == (str(tmp_path / "a.cu"),)
        assert len(commands.problems) == 6

    def test_is_found_where_builds_put_it(self, tmp_path: Path) -> None:
        assert find(tmp_path) is None
        assert load(find(tmp_path)).units() == ()
        deep = self.write(tmp_path / "out" / "build" / "x64-Debug", [])
        assert find(tmp_path) == deep
        usual = self.write(tmp_path / "build-release", [])
        assert find(tmp_path) == usual
        root = self.write(tmp_path, [])
        assert find(tmp_path) == root
        assert find(tmp_path, "build-release") == usual

    def test_a_header_takes_the_flags_of_a_near_unit(self, tmp_path: Path) -> None:
        entries = [
            {"directory": ".", "file": name, "command": f"nvcc -D{name[0].upper()} -c {name}"}
            for name in ("lib/a.cu", "app/b.cu", "app/c.cu")
        ]
        commands = load(self.write(tmp_path, entries))
        near = commands.near(tmp_path / "app" / "c.cuh")
        assert near is not None
        assert near.file == str(tmp_path / "app" / "c.cu")
