"""What a launch's configuration can be, followed through the function that it stands in."""

from __future__ import annotations

import pytest

from occlsp.source.facts import FileFacts, Launch
from occlsp.source.workspace import Workspace

KERNEL = "template <int N, class T> __global__ void t(T* p) {}\n__global__ void k(int* p) {}\n"


def facts(source: str, **files: str) -> FileFacts:
    """The facts of a file; others are named by keyword (`common_h="…"` is common.h)."""
    workspace = Workspace(reader=None)
    for name, text in files.items():
        workspace.update("/" + name.replace("_", "."), text.encode())
    workspace.update("/main.cu", (KERNEL + source).encode())
    return workspace.facts("/main.cu")


def launch(body: str, parameters: str = "int* p, int n", before: str = "", **files: str) -> Launch:
    """The last launch of a function with this body."""
    return facts(f"{before}\nvoid f({parameters}) {{ {body} }}\n", **files).launches[-1]


def blocks(body: str, **more: str) -> tuple[tuple[int, int, int], ...] | None:
    return launch(body, **more).block.values


class TestVariables:
    def test_a_dim3_of_the_function(self) -> None:
        assert blocks("dim3 b(16, 16); k<<<n, b>>>(p);") == ((16, 16, 1),)

    def test_a_uint3_is_as_good(self) -> None:
        body = "uint3 b = make_uint3(16, 8, 1); b.x *= 2; k<<<n, b>>>(p);"
        assert blocks(body) == ((32, 8, 1),)
        assert blocks("k<<<n, make_uint3(16, 8, 2)>>>(p);") == ((16, 8, 2),)

    def test_a_dim3_set_by_its_parts(self) -> None:
        assert blocks("dim3 b; b.x = 16; b.y = b.x / 2; k<<<n, b>>>(p);") == ((16, 8, 1),)

    def test_a_macro_on_a_line_before_a_declaration_is_no_type(self) -> None:
        body = "SKIP_IF_BEGIN\n dim3 b(64);\n k<<<n, b>>>(p);\n SKIP_IF_END"
        assert blocks(body) == ((64, 1, 1),)
        opens = "#define SKIP_IF_BEGIN if (!skip) {\n#define SKIP_IF_END }\n"
        assert blocks(body, before=opens) == ((64, 1, 1),)
        assert blocks("BLOCK_SIZE_T\n t = 64; k<<<n, t>>>(p);") == ((64, 1, 1),)

    def test_the_same_on_every_path(self) -> None:
        body = "int t; if (n) { t = 64; } else { t = 64; } k<<<n, t>>>(p);"
        assert blocks(body) == ((64, 1, 1),)

    def test_different_on_two_paths_is_a_set(self) -> None:
        assert blocks("int t = 64; if (n) t = 128; k<<<n, t>>>(p);") == ((64, 1, 1), (128, 1, 1))

    def test_assigned_on_one_path_only_is_unknown(self) -> None:
        assert blocks("int t; if (n) t = 128; k<<<n, t>>>(p);") is None

    def test_a_path_that_returned_does_not_count(self) -> None:
        assert blocks("int t = 64; if (n) { t = 32; return; } k<<<n, t>>>(p);") == ((64, 1, 1),)

    def test_what_a_loop_changes_is_unknown(self) -> None:
        assert blocks("int t = 64; while (n) { k<<<n, t>>>(p); t *= 2; }") is None
        assert blocks("int t = 64; while (n) { t *= 2; } k<<<n, t>>>(p);") is None

    def test_a_loop_that_only_doubles_leaves_a_set(self) -> None:
        launches = "k<<<n, t>>>(p);"
        some = ((32, 1, 1), (64, 1, 1), (128, 1, 1))
        for loop in (
            "while (t < n && t < 128) t *= 2;",
            "while (t < 128 && (t < n || n < 0)) { t <<= 1; }",
            "const int most = n > 9 ? 64 : 128; while (t < most && t < n) t *= 2;",
        ):
            assert blocks(f"int t = 32; {loop} {launches}") == some, loop
        assert blocks(f"int t = 32; while (t < 100) t *= 2; {launches}") == ((128, 1, 1),)
        assert blocks(f"int t = 512; while (t > 64) t /= 2; {launches}") == ((64, 1, 1),)

    def test_a_loop_of_which_it_is_not_known_where_it_ends_leaves_nothing(self) -> None:
        for loop in (
            "while (t < n) t *= 2;",
            "while (t < n && t < 128) { t *= 2; if (n == 7) break; t += 1; }",
            "while (t < n && t < 128) if (p) t *= 2;",
            "while (t < 128 && t++ < n) t *= 2;",
            "while (t > n && t > 0) t /= 2;",
            "while (t < n && t < limit) { t *= 2; }",
            "while (t < 128) { t *= n; }",
            "while (n++ < t && t < limit) t += 32;",
        ):
            body = f"int limit = 64; limit = read(); int t = 32; {loop} k<<<1, t>>>(p);"
            assert blocks(body) is None, loop

    def test_a_constant_of_the_same_name_in_a_loop_is_another(self) -> None:
        body = "const int t = 64; while (n) { const int t = 512; n -= t; } k<<<1, t>>>(p);"
        assert blocks(body) == ((64, 1, 1),)

    def test_a_loop_over_sizes_is_a_set(self) -> None:
        body = "for (int t = 32; t <= 128; t *= 2) { k<<<n, t>>>(p); }"
        assert blocks(body) == ((32, 1, 1), (64, 1, 1), (128, 1, 1))
        for written in ("t = t * 2", "t = t << 1", "t=t+t"):
            told = "t+t" not in written
            found = blocks(body.replace("t *= 2", written))
            assert (found == ((32, 1, 1), (64, 1, 1), (128, 1, 1))) == told
        assert blocks(body.replace("t *= 2", "t = t * 2 + 1")) is None

    def test_a_number_in_braces(self) -> None:
        assert blocks("size_t t = {64}; dim3 b(t); k<<<1, b>>>(p);") == ((64, 1, 1),)
        assert blocks("int t = {}; k<<<1, t + 32>>>(p);") is None

    def test_cases_of_a_switch(self) -> None:
        body = "int t = 32; switch (n) { case 1: t = 64; break; case 2: t = 96; } k<<<1, t>>>(p);"
        assert blocks(body) == ((32, 1, 1), (64, 1, 1), (96, 1, 1))

    def test_a_case_says_what_the_switched_is(self) -> None:
        assert blocks("switch (n) { case 64: k<<<1, n>>>(p); break; }") == ((64, 1, 1),)

    def test_a_condition_bounds_a_parameter(self) -> None:
        found = launch("if (n <= 256 && n > 0) k<<<1, n>>>(p);").block
        assert found.values is None
        assert found.max == (256, 1, 1)

    def test_an_address_given_away_makes_it_unknown(self) -> None:
        assert blocks("int t = 64; tune(&t); k<<<1, t>>>(p);") is None

    def test_a_function_that_the_build_turns_on_changes_what_its_head_says(self) -> None:
        body = "dim3 b(64); dim3 g = grid_of(n, b); k<<<g, b>>>(p);"
        for taken, known in (("dim3 b", ((64, 1, 1),)), ("dim3& b", None)):
            before = f"#ifdef MY_CUDA_ON\ndim3 grid_of(int n, {taken}) {{ return n; }}\n#endif\n"
            assert blocks(body, before=before) == known
        assert blocks(body) is None

    def test_what_a_stream_reads_is_unknown(self) -> None:
        for body in (
            "coordinates >> t;",
            "if (ok) { input->part(2) >> n >> t; }",
            "if (!(std::cin >> t)) return;",
            "while (words >> t && n) {}",
        ):
            assert blocks(f"int t = 64; {body} k<<<n, t>>>(p);") is None, body

    def test_what_shifts_is_not_read(self) -> None:
        for body in (
            "int m = 1024 >> t;",
            "if (n >> t & 1) {}",
            "g(n >> t);",
            "h(1, n >> t);",
        ):
            assert blocks(f"int t = 6; {body} k<<<n, t>>>(p);") == ((6, 1, 1),), body

    def test_a_reference_parameter_may_change_it(self) -> None:
        before = "void tune(int& t) { t = ask(); }\nvoid look(int t) {}"
        assert blocks("int t = 64; tune(t); k<<<1, t>>>(p);", before=before) is None
        assert blocks("int t = 64; look(t); k<<<1, t>>>(p);", before=before) == ((64, 1, 1),)

    def test_a_function_that_is_not_in_view_may_change_it_in_a_loop(self) -> None:
        for call in ("tune(t);", "if (n) tune(t);", "if (n) { o.tune(t); }"):
            assert blocks(f"int t = 64; while (n--) {{ k<<<1, t>>>(p); {call} }}") is None
        body = "int t = 64; while (n--) { k<<<1, t>>>(p); if (fits(t)) n--; }"
        assert blocks(body) == ((64, 1, 1),)

    def test_a_shadowing_variable(self) -> None:
        before = "constexpr int B = 32;"
        assert blocks("{ int B = n; } k<<<1, B>>>(p);", before=before) == ((32, 1, 1),)
        assert blocks("int B = n; k<<<1, B>>>(p);", before=before) is None

    def test_a_lambda_sees_what_is_known(self) -> None:
        assert blocks("int t = 96; auto f = [&] { k<<<1, t>>>(p); }; f();") == ((96, 1, 1),)
        assert blocks("int t = 96; auto f = [&] { k<<<1, t>>>(p); }; t = 32; f();") is None

    def test_goto_makes_what_is_assigned_unknown(self) -> None:
        assert blocks("int t = 64; again: k<<<1, t>>>(p); t = 32; goto again;") is None

    def test_a_global_variable_is_no_constant(self) -> None:
        assert blocks("k<<<1, G>>>(p);", before="int G = 64;") is None
        assert blocks("k<<<1, G>>>(p);", before="static const int G = 64;") == ((64, 1, 1),)

    def test_a_loop_that_doubles_may_be_left_anywhere(self) -> None:
        body = "int t = 32; while (t < 256) { if (n / t <= 8) break; t *= 2; } k<<<n, t>>>(p);"
        expected = tuple((x, 1, 1) for x in (32, 64, 128, 256))
        assert blocks(body) == expected
        assert blocks(body.replace("n / t <= 8", "n > t++")) is None


class TestPreprocessor:
    def test_a_branch_that_cannot_be_active(self) -> None:
        before = "#ifdef USE_ROCM\n#define B 64\n#else\n#define B 32\n#endif"
        assert blocks("k<<<1, B>>>(p);", before=before) == ((32, 1, 1),)

    def test_branches_that_the_build_decides_are_a_set(self) -> None:
        before = "#if CUDA_VERSION >= 12000\n#define B 64\n#else\n#define B 32\n#endif"
        assert blocks("k<<<1, B>>>(p);", before=before) == ((32, 1, 1), (64, 1, 1))

    def test_branches_in_a_body(self) -> None:
        body = "int t = 32;\n#if CUDA_VERSION > 11000\nt = 64;\n#endif\nk<<<1, t>>>(p);"
        assert blocks(body) == ((32, 1, 1), (64, 1, 1))
        body = "\n#if 0\nint t = 32;\n#else\nint t = 64;\n#endif\nk<<<1, t>>>(p);"
        assert blocks(body) == ((64, 1, 1),)

    def test_a_default_that_the_build_may_set(self) -> None:
        source = f"#ifndef B\n#define B 256\n#endif\n{KERNEL}void f(int* p) {{ k<<<1, B>>>(p); }}"
        for defines, expected in (({}, 256), ({"B": "128"}, 128)):
            workspace = Workspace(defines=defines, reader=None)
            workspace.update("/a.cu", source.encode())
            assert workspace.facts("/a.cu").launches[0].block.value == (expected, 1, 1)

    def test_a_launch_that_a_macro_makes(self) -> None:
        source = "#define RUN(k, b) k<<<1, b>>>(p)\nvoid f(int* p) { int t = 96; RUN(k, t); }"
        body, use = facts(source).launches
        assert (body.in_macro, body.kernel_known) == (True, False)
        assert (use.in_macro, use.kernel, use.block.value) == (False, "k", (96, 1, 1))

    def test_a_function_that_a_macro_makes_launches_once(self) -> None:
        found = facts(
            "#define TEST(name) void name()\n"
            "#define RUN(size) TEST(run##size) { k<<<1, size>>>(0); }\n"
            "RUN(64)\nRUN(96)\nvoid after() {}\n"
        )
        made = [one.block.values for one in found.launches if not one.in_macro]
        assert made == [((64, 1, 1),), ((96, 1, 1),)]

    def test_a_dispatching_macro(self) -> None:
        before = "#define SWITCH(c, N, ...) if (c) { constexpr int N = 64; __VA_ARGS__(); } \\\n"
        before += "  else { constexpr int N = 128; __VA_ARGS__(); }"
        found = facts(
            f"{before}\nvoid f(int* p, int n) {{ SWITCH(n, N, [&] {{ k<<<1, N>>>(p); }}); }}"
        )
        values = {launch.block.value for launch in found.launches}
        assert values == {(64, 1, 1), (128, 1, 1)}


class TestCallers:
    def test_what_all_callers_give(self) -> None:
        source = "static void run(int* p, int t) { k<<<1, t>>>(p); }\n"
        source += "void a(int* p) { run(p, 64); }\nvoid b(int* p) { run(p, 96); }"
        assert facts(source).launches[0].block.values == ((64, 1, 1), (96, 1, 1))

    def test_one_that_is_not_known_makes_it_unknown(self) -> None:
        source = "static void run(int* p, int t) { k<<<1, t>>>(p); }\n"
        source += "void a(int* p) { run(p, 64); }\nvoid b(int* p, int n) { run(p, n); }"
        assert facts(source).launches[0].block.values is None

    def test_what_is_made_of_a_parameter_follows_it(self) -> None:
        body = "dim3 b(32, t); switch (t) { case 8: k<<<1, b>>>(p); } }"
        run = f"static void run(int* p, int t) {{ {body}\n"
        for given in ("n < 32 ? n : 32", "n ? 4 : 8"):
            found = facts(f"{run}void f(int* p, int n) {{ run(p, {given}); }}\n").launches
            assert found[0].block.values == ((32, 8, 1),)

    def test_callers_out_of_view(self) -> None:
        source = "void run(int* p, int t) { k<<<1, t>>>(p); }\nvoid a(int* p) { run(p, 64); }"
        assert facts(source).launches[0].block.values is None

    def test_template_arguments(self) -> None:
        source = "template <int N> void run(int* p) { t<N, int><<<1, N * 32>>>(p); }\n"
        source += "void a(int* p) { run<2>(p); }"
        found = facts(source).launches[0]
        assert found.block.values == ((64, 1, 1),)
        assert found.template_args_known == ("2", "int")

    def test_a_template_that_nobody_instantiates(self) -> None:
        source = "template <int N> void run(int* p) { k<<<1, 2048>>>(p); }\n"
        assert facts(source).launches[0].in_uninstantiated_template
        assert (
            not facts(source + "void f(int* p) { run<1>(p); }")
            .launches[0]
            .in_uninstantiated_template
        )


class TestKernels:
    def test_a_pointer_to_a_kernel(self) -> None:
        found = launch("auto fp = &t<4, float>; fp<<<1, 8>>>(p);")
        assert (found.kernel, found.template_args) == ("t", ("4", "float"))

    def test_one_of_two_kernels(self) -> None:
        found = launch(
            "auto fp = k; if (n) fp = other; fp<<<1, 8>>>(p);",
            before="__global__ void other(int* p) {}",
        )
        assert (found.kernel_known, set(found.candidates)) == (False, {"k", "other"})

    def test_bounds_for_each_instantiation(self) -> None:
        source = "template <int N> __global__ void __launch_bounds__(N * 32, 2) b(int* p) {}\n"
        source += "void f(int* p) { b<4><<<1, 128>>>(p); b<8><<<1, 256>>>(p); }"
        kernel = facts(source).kernels[-1]
        found = {i.template_args: i.max_threads.value for i in kernel.per_instance}
        assert found == {("4",): 128, ("8",): 256}

    def test_bounds_of_a_declaration(self) -> None:
        source = "__global__ void __launch_bounds__(96) d(int*);\n__global__ void d(int* p) {}"
        bounds = facts(source).kernels[-1].launch_bounds
        assert bounds is not None
        assert bounds.max_threads.value == 96

    def test_block_size_is_the_bound(self) -> None:
        kernel = facts("__global__ void __block_size__((16, 8)) s(int* p) {}").kernels[-1]
        assert kernel.block_size is not None
        assert kernel.block_size.value == (16, 8, 1)
        assert kernel.launch_bounds is not None
        assert kernel.launch_bounds.max_threads.value == 128

    def test_shared_memory(self) -> None:
        source = "constexpr int W = 8;\n__global__ void s(int* p) { constexpr int N = W * 4;\n"
        source += "__shared__ float a[N][W]; __shared__ int b; extern __shared__ char d[]; }"
        kernel = facts(source).kernels[-1]
        assert (kernel.static_smem, kernel.uses_dynamic_smem) == (32 * 8 * 4 + 4, True)

    def test_dynamic_memory_of_what_it_calls(self) -> None:
        source = "__device__ void h() { extern __shared__ int m[]; }\n"
        source += "__global__ void s(int* p) { h(); }"
        assert facts(source).kernels[-1].uses_dynamic_smem

    def test_the_fingerprint_follows_the_code_and_what_it_names(self) -> None:
        def of(source: str) -> str:
            return facts(source).kernels[-1].fingerprint

        first = of("#define N 4\n__global__ void s(int* p) { p[0] = N; }")
        assert of("#define N 4\n__global__ void s(int* p) {\n  // why\n  p[0]=N; }") == first
        assert of("#define N 5\n__global__ void s(int* p) { p[0] = N; }") != first
        assert of("#define N 4\n__global__ void s(int* p) { p[1] = N; }") != first

    @pytest.mark.parametrize(
        ("one", "other", "is_same"),
        [
            ("unsigned x; p[x] = 1;", "unsignedx; p[x] = 1;", False),
            ("int x = p[0]+ 1;", "int  x=p [ 0 ] +1 ;", True),
            ('printf("a b");', 'printf("ab");', False),
            ('f("a", p);', 'f(p, "a");', False),
            ('printf("//", 1);  // one\n', 'printf("//", 1 /* two */);', True),
            ("p[0] = 'a';", "p[0] = 'b';", False),
            ("p[0] = 1;\n#if 0\np[1] = 2;\n#endif\n", "p[0] = 1;\n#if 0\n#endif\n", True),
        ],
    )
    def test_the_fingerprint_is_that_of_the_tokens(
        self, one: str, other: str, is_same: bool
    ) -> None:
        prints = {
            facts(f"__global__ void s(int* p) {{ {body} }}").kernels[-1].fingerprint
            for body in (one, other)
        }
        assert len(prints) == (1 if is_same else 2)


class TestConfiguration:
    def test_field_by_field(self) -> None:
        body = "cudaLaunchConfig_t c = {0}; c.gridDim = dim3(4, 2); c.blockDim = 96;"
        body += "cudaLaunchAttribute a[1]; a[0].id = cudaLaunchAttributeClusterDimension;"
        body += "a[0].val.clusterDim.x = 2; a[0].val.clusterDim.y = 1; a[0].val.clusterDim.z = 1;"
        body += "c.attrs = a; c.numAttrs = 1; cudaLaunchKernelEx(&c, k, p);"
        found = launch(body)
        assert (found.kernel, found.grid.value, found.block.value) == ("k", (4, 2, 1), (96, 1, 1))
        assert found.dynamic_smem.value == 0
        assert found.cluster is not None
        assert found.cluster.value == (2, 1, 1)

    def test_the_occupancy_api(self) -> None:
        body = "int g, b; cudaOccupancyMaxPotentialBlockSize(&g, &b, k, 0, 0); k<<<g, b>>>(p);"
        found = launch(body)
        assert found.follows_occupancy_api
        assert found.block.values is None

    def test_shared_memory_that_follows_the_block(self) -> None:
        found = launch("const int t = 256; k<<<1, t, t * sizeof(float) + 16>>>(p);")
        assert found.dynamic_smem.value == 1040
        assert found.dynamic_smem.block_expression == "4*block+16"
        assert (
            launch("dim3 b(n, 2); k<<<1, b, n * 16>>>(p);").dynamic_smem.block_expression
            == "8*block"
        )

    def test_opting_in(self) -> None:
        source = "void f(int* p) { auto fp = t<1, int>; const int size = 64 << 10;\n"
        source += "cudaFuncSetAttribute(fp, cudaFuncAttributeMaxDynamicSharedMemorySize, size); }\n"
        source += "template <class K> void g(K kernel) {\n"
        source += (
            "cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50); }"
        )
        first, second = facts(source).attributes
        assert (first.kernel, first.template_args_known) == ("t", ("1", "int"))
        assert (first.attribute, first.value.value) == ("max_dynamic_smem", 65536)
        assert (second.kernel, second.attribute, second.value.value) == (None, "carveout", 50)


class TestGuards:
    def test_a_device_property(self) -> None:
        body = "cudaDeviceProp prop; cudaGetDeviceProperties(&prop, 0);"
        assert launch(body + "if (prop.major >= 9) { k<<<1, 64>>>(p); }").guarded
        assert launch(body + "if (prop.major < 9) return; k<<<1, 64>>>(p);").guarded
        assert not launch(body + "if (prop.major < 9) { n = 1; } k<<<1, 64>>>(p);").guarded

    def test_a_queried_attribute(self) -> None:
        body = "int most; cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerBlock, 0);"
        assert launch(body + "if (most >= 2048) k<<<1, 2048>>>(p);").guarded

    def test_a_condition_that_is_false(self) -> None:
        assert launch("if (false) k<<<1, 2048>>>(p);").guarded
        assert not launch("if (n) k<<<1, 2048>>>(p);").guarded

    def test_a_condition_that_chose_the_size_may_choose_among_its_values(self) -> None:
        body = "int t = n > 1 ? 256 : 512; "
        assert launch(body + "if (n > 1) k<<<1, t>>>(p);").is_selected
        assert launch(body + "if (n <= 1) return; k<<<1, t>>>(p);").is_selected
        assert launch("int t = 512; if (n) t = 256; if (!n) k<<<1, t>>>(p);").is_selected
        chosen = body.replace("> 1", "> q") + "switch (n) { case 0: k<<<1, t>>>(p); }"
        assert launch(chosen).is_selected
        assert not launch(chosen.replace("> q", "> 1")).is_selected  # it is 512
        assert not launch(body + "if (q) k<<<1, t>>>(p);").is_selected
        assert not launch(body + "k<<<1, t>>>(p);").is_selected
        assert not launch("if (n > 1) k<<<1, n > 1 ? 256 : 256>>>(p);").is_selected


class TestDefinitions:
    def edited(self, source: str) -> tuple[str, str]:
        """Kind and text of what makes the block of the last launch."""
        text = KERNEL + source
        found = facts(source).launches[-1].block.definition
        assert found is not None
        return found.kind, text[found.span.start : found.span.end]

    def test_each_kind(self) -> None:
        cases = {
            "void f(int* p) { k<<<1, 256>>>(p); }": ("literal", "256"),
            "constexpr int B = 4 * 32;\nvoid f(int* p) { k<<<1, B>>>(p); }": ("constant", "4 * 32"),
            "#define B 128\nvoid f(int* p) { k<<<1, B>>>(p); }": ("define", "128"),
            "void f(int* p) { int t = 192; dim3 b(t); k<<<1, b>>>(p); }": ("constant", "192"),
            "void f(int* p) { dim3 b(16, 8); k<<<1, b>>>(p); }": ("dim3", "16, 8"),
        }
        assert {source: self.edited(source) for source in cases} == cases


class TestConstantsOfTheFile:
    def test_a_dim3_initialised_in_any_way(self) -> None:
        for initialiser in ("(W * 32, 4)", "{64, 4}", " = {64, 4}", " = dim3(64, 4)"):
            before = f"constexpr int W = 2;\nconst dim3 shape{initialiser};"
            assert blocks("k<<<n, shape>>>(p);", before=before) == ((64, 4, 1),), initialiser


class TestBoundsOfDimensions:
    def test_a_minimum_is_a_bound(self) -> None:
        for expression in ("min(n, 512)", "std::min<int>(n, 512)", "n < 512 ? n : 512"):
            assert launch(f"k<<<1, {expression}>>>(p);").block.max == (512, 1, 1), expression

    def test_by_component(self) -> None:
        block = launch("dim3 b(32); b.y = min(n, 8); k<<<1, b>>>(p);").block
        assert (block.min, block.max) == ((32, None, 1), (32, 8, 1))


class TestConfigurations:
    def test_a_launch_leaves_its_configuration_as_it_is(self) -> None:
        body = """
            cudaLaunchConfig_t c = {}; c.gridDim = 7; c.blockDim = dim3(48, 2);
            CHECK(cudaLaunchKernelEx(&c, k, p)); cudaLaunchKernelExC(&c, (void*)k, args);
        """
        assert blocks(body) == ((48, 2, 1),)
        assert blocks(body.replace("CHECK(cudaLaunchKernelEx(", "CHECK(fill(")) is None


class TestKernelHeads:
    def test_a_macro_without_semicolon_makes_no_bounds_of_the_next(self) -> None:
        made, plain = facts("""
            #define DEFINE(name, n) __global__ void __launch_bounds__(n * 2) name() {}
            DEFINE(made, 64)
            __global__ void plain() {}
        """).kernels[-2:]
        assert made.name == "made"
        assert made.launch_bounds is not None
        assert made.launch_bounds.max_threads.value == 128
        assert plain.launch_bounds is None

    def test_a_cluster_in_the_block_size(self) -> None:
        kernel = facts("__global__ void __block_size__((64, 1, 1), (2, 1, 1)) c() {}").kernels[-1]
        assert kernel.block_size is not None
        assert kernel.block_size.value == (64, 1, 1)
        assert kernel.cluster_dims is not None
        assert kernel.cluster_dims.value == (2, 1, 1)

    def test_a_macro_that_launches_is_no_instantiation(self) -> None:
        bounded = facts("""
            template <class T, int N> __global__ void __launch_bounds__(N) b(T* p) {}
            #define RUN(T, N) b<T, N><<<1, N>>>(p)
            void go(float* p) { RUN(float, 96); }
        """).kernels[-1]
        assert [one.template_args for one in bounded.per_instance] == [("float", "96")]
