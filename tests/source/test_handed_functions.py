"""Functions that launch and are handed to others, which call them."""

from __future__ import annotations

from occlsp.source.workspace import Workspace

RUN = "__global__ void k(int* p) {}\nvoid run(int* p, int t) { k<<<1, t>>>(p); }\n"
BENCH = """
template <class F, class... A> float bench(int times, F f, A&&... a) {
    for (int i = 0; i < times; i++) f(std::forward<A>(a)...);
    return 0;
}
"""


def blocks(source: str, **files: str) -> list[int] | None:
    """The threads of the one launch in `run`, which stands in the file that is given."""
    workspace = Workspace("/", reader=None)
    for name, text in files.items():
        workspace.update("/" + name.replace("_", "."), text.encode())
    workspace.update("/main.cu", source.encode())
    values = workspace.facts("/main.cu").launches[0].block.values
    return None if values is None else [x for x, _, _ in values]


class TestForwarded:
    def test_with_all_that_follows_it(self) -> None:
        main = (
            "int main() { run(0, 32); bench(100, run, nullptr, 64); bench(9, &run, nullptr, 96); }"
        )
        assert blocks(RUN + BENCH + main) == [32, 64, 96]

    def test_by_a_template_in_a_header(self) -> None:
        main = '#include "bench.h"\n' + RUN + "int main() { bench(1, run, nullptr, 64); }"
        assert blocks(main, bench_h=BENCH) == [64]

    def test_through_a_function_that_chooses(self) -> None:
        choose = "void choose(int n, int* p, int t) { switch (n) { case 1: run(p, t); break; } }\n"
        main = """int main() {
            int sizes[] = {32, 64, 128};
            for (int i = 0; i < sizeof(sizes) / sizeof(int); i++) {
                int size = sizes[i];
                choose(1, nullptr, size);
                bench(100, choose, 1, nullptr, size);
            }
        }"""
        assert blocks(RUN + choose + BENCH + main) == [32, 64, 128]

    def test_one_value_that_is_not_known_makes_it_unknown(self) -> None:
        main = "int main(int n, char**) { run(0, 32); bench(100, run, nullptr, n); }"
        assert blocks(RUN + BENCH + main) is None

    def test_what_does_more_with_it_is_not_followed(self) -> None:
        main = "int main() { bench(1, run, nullptr, 64); }"
        assert blocks(RUN + BENCH.replace("return 0;", "keep(f);") + main) is None
        assert blocks(RUN + BENCH.replace("(a)...", "(a)..., 1") + main) is None

    def test_a_pack_is_any_number_of_arguments(self) -> None:
        forward = "template <class... A> void go(A&&... a) { run(std::forward<A>(a)...); }\n"
        assert blocks(RUN + forward + "int main() { run(0, 32); go(nullptr, 64); }") is None


class TestAKernelOfTheSameName:
    def test_its_launch_is_no_call_of_the_function(self) -> None:
        source = """
            __global__ void run(int* p, int n) {}
            void run(int* p, int n, int t) { run<<<n, t>>>(p, n); }
            int main() { run(0, 5, 64); run(0, 5, 96); }
        """
        assert blocks(source) == [64, 96]

    def test_of_a_template(self) -> None:
        source = """
            template <int N> __global__ void run(int* p, int n) {}
            template <int N> void run(int* p, int n, int) { run<N><<<n, N>>>(p, n); }
            void go() { run<64>(0, 5, 1); run<96>(0, 5, 1); }
        """
        assert blocks(source) == [64, 96]

    def test_a_kernel_that_launches_itself_is_used(self) -> None:
        source = """
            template <int N> __global__ void run(int n) { if (n) run<N><<<1, N>>>(n - 1); }
            int main() { run<64><<<1, 64>>>(5); }
        """
        workspace = Workspace("/", reader=None)
        workspace.update("/main.cu", source.encode())
        assert not workspace.facts("/main.cu").launches[0].in_uninstantiated_template


class TestCalledByATemplate:
    APPLY = "template <class F> void apply(int* p, F&& f, int t) { f(p, t * 2); }\n"

    def test_with_what_its_callers_give(self) -> None:
        main = "int main() { apply(nullptr, run, 32); apply(nullptr, run, 64); }"
        assert blocks(RUN + self.APPLY + main) == [64, 128]

    def test_and_handed_on_it_is_unknown(self) -> None:
        main = "int main() { apply(nullptr, run, 32); }"
        assert blocks(RUN + self.APPLY.replace("f(p", "keep(f); f(p") + main) is None

    def test_kept_in_a_variable_it_is_unknown(self) -> None:
        main = "int main() { run(0, 32); auto kept = run; kept(0, 64); }"
        assert blocks(RUN + main) is None


class TestInstancesOfATemplate:
    RUN = """
        __global__ void k(int* p) {}
        template <class T, int N> void run(int* p) { k<<<1, N>>>(p); }
    """

    def test_in_a_table(self) -> None:
        choose = """template <class T> void choose(int i) {
            constexpr int most = 128;
            static const Function table[] = {run<T, 32>, &run<T, 64>, i ? run<T, 96> : 0};
            table[i](0);
            Function last = run<T, most>;
        }"""
        assert blocks("constexpr int most = 7;" + self.RUN + choose) == [32, 64, 96, 128]
        table = "Function table[] = {run<int, 32>, run<int, 64>};\n"
        assert blocks(self.RUN + table) == [32, 64]

    def test_with_calls_of_others(self) -> None:
        source = "void go(int* p) { run<int, 32>(p); later(run<float, 64>); }"
        assert blocks(self.RUN + source) == [32, 64]

    def test_with_arguments_that_anybody_may_give(self) -> None:
        run = "template <int N> void run(int* p, int t) { k<<<1, t>>>(p); }\n"
        source = "void go(int* p) { run<32>(p, 64); later(&run<32>); }"
        assert blocks("__global__ void k(int* p) {}\n" + run + source) is None

    def test_one_that_is_not_known_makes_it_unknown(self) -> None:
        for one in ("run<int, N>", "run<int>", "run"):
            source = f"template <int N> void go() {{ later(run<int, 64>); later({one}); }}"
            assert blocks(self.RUN + source) is None, one
