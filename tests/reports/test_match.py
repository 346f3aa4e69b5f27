"""Which kernel an entry is, and which entry a launch runs: all candidates, never a guess."""

from __future__ import annotations

from occlsp.reports.facts import Entry
from occlsp.reports.match import (
    EntryMatch,
    KernelKey,
    TemplateParameterKey,
    match_entries,
    match_launch,
)


def key(
    line: int,
    name: str,
    *parameters: str,
    path: str = "/w/a.cu",
    template: str = "",
    arguments: tuple[str, ...] | None = None,
    defined: bool = True,
    from_macro: bool = False,
) -> KernelKey:
    """A kernel; `template` is "T, N=4"."""
    pieces = [piece.strip().partition("=") for piece in template.split(",") if piece.strip()]
    return KernelKey(
        path,
        line,
        name,
        parameters,
        is_template=bool(template) or arguments is not None,
        template_parameters=tuple(
            TemplateParameterKey(name.removeprefix("..."), default or None, name.startswith("..."))
            for name, _, default in pieces
        ),
        template_arguments=arguments,
        is_definition=defined,
        from_macro=from_macro,
    )


def entry(name: str, place: str | None = None, unit: str | None = None) -> Entry:
    file, _, line = (place or "").rpartition(":")
    return Entry(name, "sm_80", file=file or None, line=int(line) if line else None, unit=unit)


def match(kernels: list[KernelKey], one: Entry) -> EntryMatch:
    (found,) = match_entries(kernels, [one])
    return found


RING = "_ZN2wx4ringILi512EdEEvPT0_PKS1_i"
ADD = "_Z3addPf"


def test_the_line_table_decides() -> None:
    kernels = [key(3, "add", "float *"), key(3, "add", "float *", path="/w/b.cu")]
    assert match(kernels, entry(ADD, "/w/b.cu:3")) == EntryMatch((1,), "line")


def test_a_tree_built_elsewhere_is_known_by_the_end_of_its_paths() -> None:
    kernels = [
        key(3, "add", "float *", path="/w/one/k.cu"),
        key(3, "add", "float *", path="/w/two/k.cu"),
    ]
    assert match(kernels, entry(ADD, "/ci/build/two/k.cu:3")).kernel == 1


def test_a_line_that_holds_another_kernel_by_now_is_not_believed() -> None:
    kernels = [key(3, "mul", "float *"), key(9, "add", "float *")]
    assert match(kernels, entry(ADD, "/w/a.cu:3")) == EntryMatch((1,), "name")


def test_an_entry_of_a_file_that_is_not_in_view_matches_nothing() -> None:
    kernels = [key(3, "add", "float *")]
    assert match(kernels, entry(ADD, "/usr/include/lib.cuh:3")) == EntryMatch(())


def test_kernels_of_one_line_are_told_apart_by_name() -> None:
    kernels = [
        key(3, "add_one", "float *", from_macro=True),
        key(3, "add_two", "float *", from_macro=True),
    ]
    assert match(kernels, entry("_Z7add_twoPf", "/w/a.cu:3")).kernel == 1


def test_overloads_are_told_apart_by_their_parameters() -> None:
    kernels = [
        key(1, "f", "int *"),
        key(2, "f", "const float * __restrict__"),
        key(3, "f", "float *", "unsigned"),
    ]
    found = match_entries(kernels, [entry("_Z1fPi"), entry("_Z1fPKf"), entry("_Z1fPfj")])
    assert [one.kernel for one in found] == [0, 1, 2]


def test_two_programs_with_the_same_kernel_are_both_candidates() -> None:
    kernels = [key(3, "add", "float *"), key(3, "add", "float *", path="/w/b.cu")]
    assert match(kernels, entry(ADD)).kernels == (0, 1)
    assert match(kernels, entry(ADD)).kernel is None
    assert match(kernels, entry(ADD, unit="b.cu")).kernel == 1, "the fatbin says the unit"


def test_a_definition_is_preferred_to_its_declaration() -> None:
    kernels = [key(3, "add", "float *", path="/w/a.cuh", defined=False), key(8, "add", "float *")]
    assert match(kernels, entry(ADD)).kernel == 1


def test_a_template_and_its_specialisation() -> None:
    kernels = [
        key(3, "wx::ring", "T *", "const T *", "int", template="N, T"),
        key(9, "wx::ring", "double *", "const double *", "int", arguments=("512", "double")),
        key(12, "wx::ring", arguments=("256", "float"), defined=False),
    ]
    assert match(kernels, entry(RING)).kernel == 1
    assert match(kernels, entry("_ZN2wx4ringILi256EfEEvPT0_PKS1_i")).kernel == 0


def test_a_plain_kernel_is_not_a_template_of_the_same_name() -> None:
    kernels = [key(3, "add", "T *", template="T"), key(4, "add", "float *")]
    assert match(kernels, entry(ADD)).kernel == 1
    assert match(kernels, entry("_Z3addIfEvPT_")).kernel == 0


def test_an_alias_in_a_parameter_does_not_rule_a_kernel_out() -> None:
    assert match([key(3, "add", "real_t *")], entry(ADD)).kernel == 0


def test_namespaces_hidden_in_macros_give_a_candidate_only() -> None:
    found = match([key(3, "ring", "T *", "const T *", "int", template="N, T")], entry(RING))
    assert (found.kernels, found.by, found.kernel) == ((0,), "suffix", None)


def test_names_that_went_through_a_filter() -> None:
    kernels = [key(3, "wx::ring", "T *", "const T *", "int", template="N, T")]
    assert match(kernels, entry("void wx::ring<8, float>(float*, float const*, int)")).kernel == 0


RINGS = [
    entry("_ZN2wx4ringILi512EdEEvPT0_PKS1_i"),
    entry("_ZN2wx4ringILi256EfEEvPT0_PKS1_i"),
    entry("_ZN2wx4ringILi256EdEEvPT0_PKS1_i"),
]
RING_KERNEL = key(3, "wx::ring", "T *", "const T *", "int", template="N, T=float")


def test_literal_arguments_pick_one_instantiation() -> None:
    assert match_launch(("512", "double"), RING_KERNEL, RINGS) == (RINGS[0],)
    assert match_launch(("0x100u", "double"), RING_KERNEL, RINGS) == (RINGS[2],)


def test_left_out_arguments_are_the_defaults_where_such_an_entry_is() -> None:
    assert match_launch(("256",), RING_KERNEL, RINGS) == (RINGS[1],)
    assert match_launch(("512",), RING_KERNEL, RINGS) == (RINGS[0],), "deduced"


def test_arguments_that_are_not_known_leave_all() -> None:
    assert match_launch(None, RING_KERNEL, RINGS) == tuple(RINGS)
    assert match_launch(("256", "real_t"), RING_KERNEL, RINGS) == tuple(RINGS[1:])


def test_one_argument_that_is_known_leaves_those_that_have_it() -> None:
    assert match_launch((None, "double"), RING_KERNEL, RINGS) == (RINGS[0], RINGS[2])
    assert match_launch(("512", None), RING_KERNEL, RINGS) == (RINGS[0],)
    assert match_launch((None, "int"), RING_KERNEL, RINGS) == ()


def test_an_instantiation_that_no_report_has_is_none() -> None:
    assert match_launch(("7", "float"), RING_KERNEL, RINGS) == ()


def test_half_types_are_the_same_under_both_names() -> None:
    kernel = key(3, "scale", "T *", template="T")
    entries = [entry("_Z5scaleI7__half2EvPT_"), entry("_Z5scaleIfEvPT_")]
    assert match_launch(("half2",), kernel, entries) == (entries[0],)


def test_packs() -> None:
    kernel = key(3, "sum", "float *", "Ts...", template="...Ts")
    entries = [entry("_Z3sumIJEEvPfDpT_"), entry("_Z3sumIJidEEvPfDpT_")]
    assert [one.kernel for one in match_entries([kernel], entries)] == [0, 0]
    assert match_launch(("int", "double"), kernel, entries) == (entries[1],)
