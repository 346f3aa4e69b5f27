"""The what-if: one kernel's PTX under other bounds, and how it compares with recompiling."""

from __future__ import annotations

from pathlib import Path

import pytest

from occlsp.reports.cache import Cache
from occlsp.reports.compile import Context, compile_unit
from occlsp.reports.compile_task import defaults
from occlsp.reports.exact import exact_rows
from occlsp.reports.ptx import Bounds, EntryPtx, NoSuchEntryError
from occlsp.reports.whatif import EXACT_LABEL, LABEL, Row, rows, usual_bounds
from tests.reports.compilers import real_nvcc

PTX = b"""\
// made by hand
.version 9.0
.target sm_90
.address_size 64

.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.const .align 4 .b8 used[64];
.global .align 1 .b8 $str[5] = {37, 59, 123, 125, 0};
.global .align 8 .u64 table[1] = {callee};
.global .align 4 .b8 unused[4096];
.file 1 "a.cu"

.func (.param .b32 r) callee(.param .b32 p)
{
	.loc 1 2 3
	ld.const.u32 %r1, [used];
	ret;
}
.func stranger() { ret; }
.visible .entry one(.param .u64 one_param_0)
.maxntid 16, 16, 1
.minnctapersm 2
{
	mov.u64 %rd1, $str;
	mov.u64 %rd2, table;
	ret;
}
.visible .entry two(
	.param .u64 two_param_0
)
.reqntid 128, 1, 1
{
	call.uni stranger, ();
	ret;
}
.section	.debug_str
{
$L__info: .b8 95
}
"""
HEAVY = """\
template <int N>
__global__ void __launch_bounds__(256, 2) heavy(float *p, int n) {
    float v[N];
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = p[i * 256 + threadIdx.x];
    for (int j = 0; j < n; ++j) {
#pragma unroll
        for (int i = 0; i < N; ++i) v[i] = v[i] * v[(i * 7 + 3) % N] + j;
    }
#pragma unroll
    for (int i = 0; i < N; ++i) p[i * 256 + threadIdx.x] = v[i];
}
template __global__ void heavy<100>(float *, int);
template __global__ void heavy<8>(float *, int);
"""


class TestPtx:
    def test_only_the_entry_and_what_it_reaches(self) -> None:
        cut = EntryPtx(PTX, "one").under(Bounds())
        for kept in (b"callee", b"used[64]", b"$str", b"table", b".entry one", b".version 9.0"):
            assert kept in cut
        for gone in (b"stranger", b"unused", b"entry two", b".loc", b".file", b"debug_str"):
            assert gone not in cut

    def test_bounds_as_the_source_gave_them(self) -> None:
        assert EntryPtx(PTX, "one").bounds == Bounds(256, 2)
        assert EntryPtx(PTX, "two").bounds == Bounds()
        assert EntryPtx(PTX, "two").required_block == (128, 1, 1)

    def test_bounds_are_replaced_whole(self) -> None:
        entry = EntryPtx(PTX, "one")
        cut = entry.under(Bounds(128, 4))
        assert b".maxntid 128\n.minnctapersm 4\n{" in cut
        assert b"16, 16" not in cut
        assert b".maxnreg 40\n{" in entry.under(Bounds(max_registers=40))
        assert b"maxntid" not in entry.under(Bounds(max_registers=40))

    def test_a_fixed_block_gives_way_to_a_bound(self) -> None:
        entry = EntryPtx(PTX, "two")
        assert b"reqntid" in entry.under(Bounds())
        assert b"reqntid" not in entry.under(Bounds(64))

    def test_an_entry_that_is_not_there_is_told_with_those_that_are(self) -> None:
        with pytest.raises(NoSuchEntryError, match=r"three.*one, two"):
            EntryPtx(PTX, "three")

    @pytest.mark.parametrize("end", range(0, len(PTX), 37))
    def test_truncated_text_never_hangs(self, end: int) -> None:
        try:
            EntryPtx(PTX[:end], "one").under(Bounds(32))
        except NoSuchEntryError:
            assert b"entry one" not in PTX[:end] or b"{" not in PTX[PTX.find(b"entry one") : end]


def test_the_usual_rows_begin_with_the_current_one() -> None:
    found = usual_bounds(Bounds(128, 3))
    assert found[0] == Bounds(128, 3)
    assert [b.min_blocks for b in found[1:]] == [1, 2, 4, 5, 6, 7, 8]
    assert {b.max_threads for b in usual_bounds(Bounds())} == {None, 256}


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    return Context(real_nvcc(), Cache(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("work") / "heavy.cu"
    path.write_text(HEAVY)
    return path


def ask(context: Context, ptx: bytes, entry: str, *bounds: Bounds) -> list[Row]:
    ptxas = context.compiler.tool("ptxas")
    assert ptxas is not None
    cut = EntryPtx(ptx, entry)
    return list(rows(cut, "sm_90", bounds or usual_bounds(cut.bounds), ptxas=ptxas))


def numbers(row: Row) -> tuple[object, ...]:
    return (row.registers, row.spill_stores, row.spill_loads, row.static_smem, row.stack)


@pytest.mark.slow
class TestCompiler:
    """With the real compiler."""

    def test_the_current_row_is_the_compiled_entry(self, context: Context, unit: Path) -> None:
        result = compile_unit(context, unit, "sm_90", defaults())
        assert result.ptx is not None
        for entry in result.entries:
            current = ask(context, Path(result.ptx).read_bytes(), entry.entry)[0]
            assert current.is_current
            assert current.label == LABEL
            assert current.registers == entry.registers
            assert (current.spill_stores, current.spill_loads) == (
                entry.spill_stores,
                entry.spill_loads,
            )

    def test_more_blocks_never_get_more_registers(self, context: Context, unit: Path) -> None:
        result = compile_unit(context, unit, "sm_90", defaults())
        assert result.ptx is not None
        entry = next(e.entry for e in result.entries if "100" in e.entry)
        bounds = [Bounds(256, blocks) for blocks in (1, 2, 4, 8)]
        found = ask(context, Path(result.ptx).read_bytes(), entry, *bounds)
        registers = [row.registers or 0 for row in found]
        assert registers == sorted(registers, reverse=True)
        assert registers[-1] <= 32
        assert (found[-1].spill_stores or 0) > 0
        capped = ask(context, Path(result.ptx).read_bytes(), entry, Bounds(max_registers=40))
        assert capped[0].registers == 40

    def test_it_answers_as_recompiling_does(self, context: Context, unit: Path) -> None:
        result = compile_unit(context, unit, "sm_90", defaults())
        assert result.ptx is not None
        entry = next(e for e in result.entries if "100" in e.entry)
        bounds = [Bounds(256, 1), Bounds(256, 4), Bounds()]
        quick = ask(context, Path(result.ptx).read_bytes(), entry.entry, *bounds)
        exact = list(
            exact_rows(context, unit, "sm_90", defaults(), entry, bounds, current=Bounds(256, 2))
        )
        assert {row.label for row in exact} == {EXACT_LABEL}
        assert [numbers(row) for row in exact] == [numbers(row) for row in quick]

    def test_a_refusal_is_told(self, context: Context) -> None:
        (row,) = ask(context, PTX.replace(b"ret;", b"nonsense;"), "two", Bounds())
        assert row.registers is None
        assert "ptxas" in (row.problem or "")

    def test_cancelled_rows_end(self, context: Context) -> None:
        ptxas = context.compiler.tool("ptxas")
        assert ptxas is not None
        cut = EntryPtx(PTX, "two")
        found = rows(cut, "sm_90", usual_bounds(cut.bounds), ptxas=ptxas, cancelled=lambda: True)
        assert list(found) == []
