"""What a CUDA source says: the frozen facts that the rest of the program works on.

Produced by `occlsp.source.workspace`. Spans are byte offsets into the file that the fact
is in; a `Definition` names its own file.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from occlsp.source.text import Span

Triple = tuple[int, int, int]


class Definition(Struct, frozen=True):
    """The one place in a source that a value comes from: what a quick fix would edit."""

    path: str
    span: Span
    """The expression or literal that makes the value, in `path`."""
    kind: Literal["literal", "constant", "define", "dim3", "template_argument", "default_argument"]
    name: str | None
    """The constant's, macro's or variable's name; None for a literal in place."""


class Value(Struct, frozen=True):
    """An integer expression of the source and all that is known of what it can be.

    `values` holds every value that it can have (sorted; one element: it is known), `min` and
    `max` bound it where that is all there is. Nothing known: `why` says why.
    """

    text: str
    values: tuple[int, ...] | None = None
    min: int | None = None
    max: int | None = None
    why: str | None = None
    span: Span | None = None
    definition: Definition | None = None
    block_expression: str | None = None
    """Where the block size is a name of the source (`t * sizeof(double)`): the value as an
    expression in `block` that `occlsp.occupancy` evaluates ("8*block")."""

    @property
    def value(self) -> int | None:
        """The value where it is known to be one."""
        return self.values[0] if self.values is not None and len(self.values) == 1 else None


class Value3(Struct, frozen=True):
    """A `dim3` expression: as `Value`, with triples. Absent components of a `dim3` are 1."""

    text: str
    values: tuple[Triple, ...] | None = None
    min: tuple[int | None, int | None, int | None] | None = None
    max: tuple[int | None, int | None, int | None] | None = None
    why: str | None = None
    span: Span | None = None
    definition: Definition | None = None
    components: tuple[Value, ...] = ()
    """x, y, z as written where they are told apart (an integer argument: one component)."""

    @property
    def value(self) -> Triple | None:
        """The triple where it is known to be one."""
        return self.values[0] if self.values is not None and len(self.values) == 1 else None


class LaunchBounds(Struct, frozen=True):
    """`__launch_bounds__(max_threads, min_blocks, max_blocks_per_cluster)`."""

    max_threads: Value
    min_blocks: Value | None = None
    max_blocks_per_cluster: Value | None = None
    span: Span | None = None
    """The whole attribute, as written; None when it comes from `__block_size__`."""


class InstanceBounds(Struct, frozen=True):
    """Launch bounds that depend on template arguments, for one instantiation."""

    template_args: tuple[str, ...]
    max_threads: Value
    min_blocks: Value | None = None


class TemplateParameter(Struct, frozen=True):
    """One template parameter: `int N = 4` has kind "int", name "N", default "4"."""

    kind: str
    """The declared type, or "typename" for a type parameter, or "template"."""
    name: str | None
    default: str | None = None
    is_pack: bool = False


class Kernel(Struct, frozen=True):
    """One `__global__` function, as declared or defined at one place."""

    name: str
    qualified_name: str
    """With enclosing namespaces and classes; anonymous namespaces as "(anonymous namespace)"."""
    name_span: Span
    span: Span
    """From the first token of the declaration (with its template head) to its end."""
    body: Span | None
    parameters: tuple[str, ...] = ()
    """The types of the parameters as written, without names and defaults."""
    template_parameters: tuple[TemplateParameter, ...] = ()
    template_arguments: tuple[str, ...] | None = None
    """Of an explicit specialisation or instantiation."""
    is_template: bool = False
    is_definition: bool = False
    launch_bounds: LaunchBounds | None = None
    per_instance: tuple[InstanceBounds, ...] = ()
    maxnreg: Value | None = None
    block_size: Value3 | None = None
    cluster_dims: Value3 | None = None
    static_smem: int | None = None
    """Bytes of `__shared__` declarations in the body, where all are known. A lower
    bound is no fact: None when any is unknown. The report's number is preferred."""
    uses_dynamic_smem: bool = False
    in_macro: bool = False
    """Written in the body of a `#define`."""
    from_macro: str | None = None
    """The macro whose use makes this kernel, where its name is not in the text."""
    inactive: bool = False
    """In a preprocessor branch that cannot be active for an NVIDIA build."""
    features: frozenset[str] = frozenset()
    """Of "wgmma", "tcgen05", "setmaxnreg": the body is built for low occupancy."""
    fingerprint: str = ""
    """Hash of the definition's tokens and of the macros that it uses: unchanged by comments and
    layout, changed when the compiled code may change."""
    instantiations: tuple[tuple[str, ...], ...] = ()
    """Template arguments in view: launches, explicit instantiations, address-of."""


class Launch(Struct, frozen=True):
    """One place that launches a kernel."""

    kernel: str
    """The callee's name as far as it is known, qualified as written, without template
    arguments; local aliases resolved. The callee's text where it is not a name."""
    callee_span: Span
    span: Span
    """The token that it stands at: `<<<`, or the API's name."""
    config_span: Span
    """From `<<<` to `>>>`, or the API call's arguments."""
    api: str
    grid: Value3
    block: Value3
    dynamic_smem: Value
    kernel_known: bool = True
    """False for `(*fp)<<<…>>>`, `fns[i]`, a parameter: which kernel runs is not known."""
    candidates: tuple[str, ...] = ()
    """Kernels that it may launch, where a variable can hold several."""
    template_args: tuple[str, ...] = ()
    """As written."""
    template_args_known: tuple[str, ...] | None = None
    """Values of constants put in, typedefs resolved; None where one depends on the enclosing
    template or is not known."""
    function: str | None = None
    """Qualified name of the function that launches."""
    function_span: Span | None = None
    statement_span: Span | None = None
    """The launch statement: an opting-in call is inserted before it."""
    cluster: Value3 | None = None
    cooperative: bool = False
    in_macro: bool = False
    inactive: bool = False
    guarded: bool = False
    """Under a host condition on device properties, or one that is constant and false."""
    in_uninstantiated_template: bool = False
    is_selected: bool = False
    """Some of its values may never reach it: it stands under a condition that chose them."""
    hip_only: bool = False
    follows_occupancy_api: bool = False
    """The block comes from `cudaOccupancyMaxPotentialBlockSize` or a variant of it."""
    stream: str = ""
    arguments: tuple[str, ...] = ()
    """The kernel's arguments, as written."""
    made_by: Span | None = None
    """The launch in the body of a `#define` of the file that a use of it makes this one of."""


class Attribute(Struct, frozen=True):
    """A call that sets a function attribute of a kernel."""

    kernel: str | None
    """None where it may be any kernel (a parameter, a value not known)."""
    template_args: tuple[str, ...]
    template_args_known: tuple[str, ...] | None
    span: Span
    attribute: Literal["max_dynamic_smem", "carveout", "cache_config"]
    value: Value
    function: str | None = None
    function_span: Span | None = None
    in_macro: bool = False
    inactive: bool = False
    guarded: bool = False


class SourceError(Struct, frozen=True):
    """Something in a file that kept a fact from being read, for people."""

    message: str
    line: int
    """1-based."""


class FileFacts(Struct, frozen=True):
    """All that is known of one file, with what its includes and the workspace say."""

    path: str
    kernels: tuple[Kernel, ...] = ()
    launches: tuple[Launch, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    errors: tuple[SourceError, ...] = ()
    includes: tuple[str, ...] = ()
    """Resolved paths of the files that it includes directly."""
    macros_may_set_attributes: bool = False
    ignores: dict[int, frozenset[str]] = field(default_factory=dict)
    """0-based line → codes of `// occlsp: ignore[code]` (empty: all codes)."""
