"""Names that a header leaves to the files that include it."""

from __future__ import annotations

from occlsp.source.workspace import Workspace

HEADER = """
__global__ void k(int* p) {}
const int kTwice = THREADS * 2;
static void run(int* p) { k<<<1, THREADS>>>(p); }
static void twice(int* p) { k<<<1, kTwice>>>(p); }
"""
MAIN = '#define THREADS 128\n#include "run.cuh"\n#undef THREADS\n#define THREADS 7\n'


def workspace(header: str = HEADER, **files: str) -> Workspace:
    """A workspace with `run.cuh`; others are named by keyword (`main_cu="…"` is main.cu)."""
    made = Workspace("/", reader=None)
    made.update("/run.cuh", header.encode())
    for name, text in files.items():
        made.update("/" + name.replace("_", "."), text.encode())
    return made


def blocks(made: Workspace) -> list[list[int] | None]:
    """The threads of each launch in the header."""
    found = [launch.block.values for launch in made.facts("/run.cuh").launches]
    return [None if values is None else [x for x, _, _ in values] for values in found]


def test_a_macro_that_is_defined_before_the_include() -> None:
    assert blocks(workspace(main_cu=MAIN)) == [[128], [256]]


def test_a_constant_of_another_header_that_is_included_first() -> None:
    main = '#include "sizes.h"\n#include "run.cuh"\n'
    sizes = "constexpr int THREADS = 96;\n"
    assert blocks(workspace(main_cu=main, sizes_h=sizes)) == [[96], [192]]


def test_any_of_the_files_that_include_it_may_be_meant() -> None:
    made = workspace(main_cu=MAIN, other_cu=MAIN.replace("128", "64"))
    assert blocks(made) == [[64, 128], [128, 256]]
    again = '#define THREADS 32\n#include "run.cuh"\n' + MAIN
    assert blocks(workspace(main_cu=again)) == [[32, 128], [64, 256]]


def test_one_that_does_not_say_makes_it_unknown() -> None:
    silent = '#include "run.cuh"\n'
    assert blocks(workspace(main_cu=MAIN, other_cu=silent)) == [None, None]
    assert blocks(workspace(main_cu=MAIN.replace("128", "count()"))) == [None, None]
    assert blocks(workspace(main_cu=silent + MAIN[:20])) == [None, None]
    assert blocks(workspace()) == [None, None]


def test_an_edit_of_a_file_that_includes_it_is_seen() -> None:
    made = workspace(main_cu=MAIN)
    assert blocks(made) == [[128], [256]]
    made.update("/main.cu", MAIN.replace("128", "64").encode())
    assert blocks(made) == [[64], [128]]
    made.update("/run.cuh", HEADER.replace("void run", "\nvoid run").encode())
    assert blocks(made) == [[64], [128]]
    made.update("/other.cu", MAIN.encode())
    assert blocks(made) == [[64, 128], [128, 256]]
    made.remove("/other.cu")
    made.update("/main.cu", b'#include "run.cuh"\n')
    assert blocks(made) == [None, None]
    made.update("/main.cu", MAIN.encode())
    assert blocks(made) == [[128], [256]]


class TestMembers:
    """Of a type that a file hands to a template of a header which does not see it."""

    RUN = """
__global__ void k(int* p) {}
template <class Policy> void run(int* p) { k<<<1, Policy::kThreads>>>(p); }
"""
    MAIN = """
#include "run.cuh"
struct Small { enum { kThreads = 64 }; };
void f(int* p) { run<Small>(p); }
"""

    def test_of_a_type_that_is_declared_behind_the_include(self) -> None:
        made = workspace(self.RUN, main_cu=self.MAIN)
        assert blocks(made) == [[64]]
        made.update("/main.cu", self.MAIN.replace("64", "96").encode())
        assert blocks(made) == [[96]]

    def test_of_any_of_several_types(self) -> None:
        other = self.MAIN.replace("Small", "Large").replace("64", "256")
        assert blocks(workspace(self.RUN, main_cu=self.MAIN, other_cu=other)) == [[64, 256]]

    def test_two_types_of_a_name_are_not_told_apart(self) -> None:
        other = self.MAIN.replace("64", "256")
        assert blocks(workspace(self.RUN, main_cu=self.MAIN, other_cu=other)) == [None]


class TestMembersOfBases:
    """Each file has its own class of a name, of which all get what they have from a base."""

    HEADER = """
__global__ void k(int* p) {}
template <class P> void run() { k<<<1, P::kThreads>>>(0); }
"""
    BASE = '#include "run.cuh"\nstruct Base { enum { kThreads = 64 }; };\n'
    USE = """#include "base.cuh"
template <class T> struct Policy : Base {};
void a() { run<Policy<int>>(); }
"""

    def test_of_all_files_that_declare_it(self) -> None:
        made = workspace(self.HEADER, base_cuh=self.BASE, a_cu=self.USE, b_cu=self.USE)
        assert blocks(made) == [[64]]

    def test_they_may_differ(self) -> None:
        other = self.USE.replace(": Base", ": Other").replace("template", OTHER + "template")
        made = workspace(self.HEADER, base_cuh=self.BASE, a_cu=self.USE, b_cu=other)
        assert blocks(made) == [[64, 96]]

    def test_one_that_is_not_known_makes_it_unknown(self) -> None:
        other = self.USE.replace(": Base", ": Unseen")
        made = workspace(self.HEADER, base_cuh=self.BASE, a_cu=self.USE, b_cu=other)
        assert blocks(made) == [None]
        own = self.USE.replace("Base {}", "Base { enum { kThreads = 32 }; }")
        header = '#include "run.cuh"\n'
        made = workspace(self.HEADER, base_cuh=self.BASE, a_cu=header + self.USE, b_cu=header + own)
        assert blocks(made) == [None]

    def test_an_edit_of_one_is_seen(self) -> None:
        made = workspace(self.HEADER, base_cuh=self.BASE, a_cu=self.USE, b_cu=self.USE)
        assert blocks(made) == [[64]]
        other = self.USE.replace(": Base", ": Other").replace("template", OTHER + "template")
        made.update("/b.cu", other.encode())
        assert blocks(made) == [[64, 96]]
        made.update("/c.cu", other.replace("96", "128").encode())
        assert blocks(made) == [[64, 96, 128]]


OTHER = "struct Other { enum { kThreads = 96 }; };\n"


def test_a_header_that_was_read_before_anybody_included_it() -> None:
    """As one that is opened while the workspace is still being scanned."""
    made = workspace()
    assert blocks(made) == [None, None]
    made.update("/main.cu", MAIN.encode())
    assert blocks(made) == [[128], [256]]


def test_an_open_header_that_was_read_before_anybody_included_it() -> None:
    made = Workspace("/", reader=None)
    header = "static void run(int* p) { k<<<1, THREADS>>>(p); }\n"
    made.update("/run.cuh", header.encode(), is_open=True)
    assert blocks(made) == [None]
    kernels = "__global__ void k(int* p) {}\nconst int THREADS = 32;\n"
    made.update("/kernels.cuh", kernels.encode())
    made.update("/main.cu", b'#include "kernels.cuh"\n#include "run.cuh"\n')
    assert blocks(made) == [[32]]
