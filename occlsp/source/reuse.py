"""What an earlier reading of a file found: kept where an edit left it alone, its offsets moved.

What is known of a function or kernel follows from its text, from what the names in it mean, and
from what its callers give. So it holds as long as the edit is elsewhere and gives none of these
names another meaning; what callers give is compared where it was asked for.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from msgspec import Struct, structs

from occlsp.source.affected import (
    Declared,
    affected_names,
    changed_names,
    function_head,
    words_in,
    words_of,
    words_that_count,
)
from occlsp.source.collect import FunctionFacts
from occlsp.source.downstream import Downstream
from occlsp.source.facts import InstanceBounds, Kernel
from occlsp.source.harmless import harmless_words, parameters_of
from occlsp.source.includes import UNITS
from occlsp.source.incremental import difference
from occlsp.source.mentions import Mentions
from occlsp.source.moving import Given, Move
from occlsp.source.naming import Naming
from occlsp.source.sentences import NO_VARIABLES
from occlsp.source.sites import Call
from occlsp.source.syntax import FileSyntax, Function, RawKernel
from occlsp.source.text import Span
from occlsp.source.view import FileIndex, View

if TYPE_CHECKING:
    from occlsp.source.beside import Seen
    from occlsp.source.local_facts import LocalFacts

AskedElsewhere = tuple[str, str, tuple[int, int], Naming, tuple[bool, ...] | None, int]
"""The path of another file, a function's name and arity, how it is named, which of its parameters
decide a launch, and how many callers were followed."""


class Asked(NamedTuple):
    """What of a file's text says something of its functions besides what is kept of each."""

    names: frozenset[str]
    """Those that were looked for all over it."""
    bodies: frozenset[int]
    """Where the braces of functions open whose bodies were read all the same."""


def nothing_beside(seen: Seen) -> bool:
    """For a workspace that looks at no other units."""
    return True


NOTHING_ASKED = Asked(frozenset(), frozenset())

MAX_WAITED = 50
"""Edits for which a reading is kept that found more: then what is not there is gone."""
Packed = tuple[bytes, dict[str, Any]]
"""The environment, and what was found."""
PACKED = ("kernel_names", "variables", "kernels", "functions", "calls", "elsewhere", "beside")
"""What of a memory is handed to another process."""
K = TypeVar("K", "KeptKernel", "KeptFunction", "KeptCalls")


class KeptKernel(Struct, frozen=True):
    """One kernel's facts, and what they depend on besides its text."""

    head: tuple[object, ...]
    words: frozenset[str]
    facts: Kernel
    arguments: tuple[tuple[str, ...], ...] = ()
    """Of the instantiations in view, and the bounds for each."""
    instances: tuple[InstanceBounds, ...] = ()

    def moved(self, move: Move) -> KeptKernel:
        instances = tuple([move.instance(one) for one in self.instances])
        facts = move.kernel(self.facts)
        return KeptKernel(self.head, self.words, facts, self.arguments, instances)


class KeptFunction(Struct, frozen=True):
    """One function's facts, and what they depend on besides its text."""

    head: tuple[object, ...]
    words: frozenset[str]
    names: AbstractSet[str]
    """The names in its body that decide its facts."""
    bare: FunctionFacts | None
    """Where nothing is known of its callers; None where nobody asked for that."""
    asks: bool = False
    """Whether its callers may say more."""
    given: Given | None = None
    """What its callers gave."""
    facts: FunctionFacts | None = None
    """With what they gave."""
    uncalled: bool | None = None
    """Whether nobody calls it that might; None where its callers are to be asked."""

    def moved(self, move: Move) -> KeptFunction:
        bare, facts = _facts_moved(self.bare, move), _facts_moved(self.facts, move)
        return structs.replace(self, bare=bare, given=move.given(self.given), facts=facts)


def _facts_moved(facts: FunctionFacts | None, move: Move) -> FunctionFacts | None:
    if facts is None:
        return None
    launches, attributes = move.launches(facts.launches), move.attributes(facts.attributes)
    return replace(facts, launches=launches, attributes=attributes)


class KeptCalls(Struct, frozen=True):
    """The calls in one function, and what they depend on besides its text."""

    head: tuple[object, ...]
    words: frozenset[str]
    wanted: frozenset[str]
    """The functions that calls were looked for of."""
    decides: Mapping[str, tuple[bool, ...] | None]
    """Which of their parameters decide a launch, as far as they are called."""
    given: Given | None
    names: AbstractSet[str]
    """The names in its body that decide them."""
    calls: dict[int, Call] | None
    is_idle: bool = False
    """Whether nobody in view instantiates it."""

    def moved(self, move: Move) -> KeptCalls:
        calls = None
        if self.calls is not None:
            calls = {move.offset(start): call.moved(move) for start, call in self.calls.items()}
        return structs.replace(self, given=move.given(self.given), calls=calls)


@dataclass(slots=True)
class Memory:
    """What is kept of one reading of a file."""

    environment: bytes
    """Digest of what the files that it includes declare."""
    syntax: FileSyntax
    index: FileIndex
    declared: Declared
    kernel_names: dict[str, bool] = field(default_factory=dict)
    """Names that were asked for, and whether they were kernels of the workspace."""
    variables: dict[str, tuple[object, ...] | None] = field(default_factory=dict)
    """Names of which was asked whether they are variables that nothing changes."""
    kernels: dict[Span, list[KeptKernel]] = field(default_factory=dict)
    functions: dict[Span, list[KeptFunction]] = field(default_factory=dict)
    calls: dict[Span, list[KeptCalls]] = field(default_factory=dict)
    elsewhere: dict[AskedElsewhere, tuple[bytes, list[Call] | None]] = field(default_factory=dict)
    """The calls in other files, and the state of those that they were found in."""
    beside: dict[tuple[str, str], tuple[tuple[str, bytes], ...] | None] = field(
        default_factory=dict
    )
    """By a file and a function of it: the units beside it that may call it, with their states."""
    fuller: Memory | None = None
    """An earlier reading, where this one found less, or much else: a brace or comment that is not
    closed yet hides what stands behind it."""
    waited: int = 0
    """For how many readings it was kept."""
    told: LocalFacts | None = None
    """What was told of the file, without this."""
    is_alone: bool = False
    """Whether no other file was asked for calls."""
    others: bytes = b""
    """Digest of all other files in view, where what they call says something of this one."""
    mentions: Mentions = field(init=False)
    asked: Asked = NOTHING_ASKED

    def __post_init__(self) -> None:
        self.mentions = Mentions(self.syntax.code)

    def instances(
        self,
        span: Span,
        kernel: Kernel,
        arguments: tuple[tuple[str, ...], ...],
        find: Callable[[], tuple[InstanceBounds, ...]],
    ) -> tuple[InstanceBounds, ...]:
        """The bounds of a kernel's instantiations, found where they are not known."""
        many = self.kernels.get(span, [])
        number = next((i for i, kept in enumerate(many) if kept.facts is kernel), None)
        if number is None:
            return find()
        kept = many[number]
        if kept.arguments != arguments:
            words = kept.words.union(*map(words_of, chain.from_iterable(arguments)))
            kept = many[number] = KeptKernel(kept.head, words, kernel, arguments, find())
        return kept.instances

    def packed(self) -> bytes:
        """What was found, for another process that has read the same text."""
        found = {name: getattr(self, name) for name in PACKED}
        return pickle.dumps((self.environment, found))

    @staticmethod
    def unpacked(
        packed: Packed, syntax: FileSyntax, index: FileIndex, declared: Declared
    ) -> Memory:
        """What another process found, as it was loaded, in a text that is read here, too."""
        environment, found = packed
        return Memory(environment, syntax, index, declared, **found)

    @property
    def found(self) -> int:
        """How much was found."""
        calls = [kept for many in self.calls.values() for kept in many if kept.calls is not None]
        return len(self.kernels) + len(self.functions) + len(calls)


class Earlier:
    """One earlier reading, and what is still true of it."""

    def __init__(
        self,
        path: str,
        before: Memory,
        now: Memory,
        changed: set[str],
        launching: AbstractSet[str],
        *,
        is_last: bool,
    ) -> None:
        self.before = before
        self.is_last = is_last
        """It is the one just before this reading."""
        self.now = now
        self.launching = launching
        self.affected = affected_names(changed, now.index, now.declared)
        old, new = before.syntax, now.syntax
        self.edit = difference([(old.text, new.text), (old.masked, new.masked)])
        self.move = Move(path, self.edit)
        self.is_same_beside = True
        """Whether what was looked at of other units is as it was."""
        self.classes: Collection[str] | None = None
        """The class templates in view, where the callers of the file's functions are all in it, or
        as they were."""

        self._downstream: Downstream | None = None

    @property
    def is_told(self) -> bool:
        """Whether it is known what was given in it, and may be given now."""
        return self.classes is not None and self.before.told is not None

    def kernels(self, raw: RawKernel, head: tuple[object, ...]) -> Iterator[KeptKernel]:
        """What was kept of a kernel."""
        if not self.is_inside(raw.span):
            yield from self.valid(self.before.kernels, raw.span, head)

    def functions(self, function: Function, head: tuple[object, ...]) -> Iterator[KeptFunction]:
        """What was kept of a function."""
        for kept in self.valid(self.before.functions, function.span, head):
            words = self.words_if_harmless(function, kept.names, self.launching)
            if words is None:
                continue
            if kept.uncalled is not None and self.may_be_given_else(function):
                kept = structs.replace(kept, uncalled=None)
            yield structs.replace(kept, words=kept.words | words) if words else kept

    def may_be_given_else(self, function: Function) -> bool:
        """Whether callers may give a function something else than before."""
        if self._downstream is None and self.is_told:
            assert self.classes is not None
            told = self.before, self.now, self.edit
            self._downstream = Downstream(*told, self.affected, self.classes)
        return self._downstream is None or self._downstream.reaches(function)

    def calls(self, function: Function, head: tuple[object, ...]) -> Iterator[KeptCalls]:
        """What was kept of the calls in a function, by what its callers gave."""
        for kept in self.valid(self.before.calls, function.span, head):
            words = self.words_if_harmless(function, kept.names, kept.wanted)
            if words is not None:
                yield structs.replace(kept, words=kept.words | words) if words else kept

    def valid(
        self, table: dict[Span, list[K]], span: Span, head: tuple[object, ...]
    ) -> Iterator[K]:
        """What was kept of a piece of text, as far as its names mean what they did."""
        for kept in table.get(self.old_span(span), ()):
            if kept.head == head and kept.words.isdisjoint(self.affected):
                self.move.is_lost = False
                moved = kept.moved(self.move)
                if not self.move.is_lost:
                    yield moved

    def old_span(self, span: Span) -> Span:
        """Where a piece of text stood, if it did and the edit is not at its border."""
        return self.edit.before(span)

    def is_inside(self, span: Span) -> bool:
        """Whether the edit is in a piece of text."""
        return span.end > self.edit.start and span.start < self.edit.new_end

    def words_if_harmless(
        self, function: Function, deciding: AbstractSet[str], telling: AbstractSet[str]
    ) -> frozenset[str] | None:
        """Words that were edited in a function and decide nothing there; None where some may."""
        if not self.is_inside(function.span):
            return frozenset()
        body, delta = function.body, self.edit.delta
        old, new = self.before.syntax.masked, self.now.syntax.masked
        was, parameters = Span(body.start, body.end - delta), parameters_of(function)
        return harmless_words(old, new, was, body, self.edit, deciding, telling, parameters)


class Reuse:
    """Looks up what is still true after an edit, and keeps what is read for the next one."""

    def __init__(
        self,
        path: str,
        before: Memory | None,
        environment: bytes,
        syntax: FileSyntax,
        view: View,
        is_kernel: Callable[[str], bool] = lambda name: False,
        is_same_beside: Callable[[Seen], bool] = nothing_beside,
        others: Callable[[], bytes] = bytes,
        *,
        keeps: bool = True,
    ) -> None:
        """`is_same_beside` tells whether what was looked at of other units is as it was, and
        `others` gives a digest of all other files."""
        self.others = others
        self.path = path
        self.keeps = keeps
        """Whether there is to be a next reading."""
        if before is not None and before.environment != environment:
            before = None
        declared = before.declared if before else Declared(view.indexes[:-1])
        self.memory = Memory(environment, syntax, view.indexes[-1], declared)
        self.launching = view.launching_macros | view.kernel_macros
        """Macros whose uses are read in place, as they launch something or make a kernel."""
        self.earlier: list[Earlier] = []
        self.anew = 0
        """Functions and kernels that were evaluated."""
        self._is_kernel = is_kernel
        self._variables = view.variables
        self._classes = view.class_templates
        self._is_same_beside = is_same_beside
        self._fuller = before and before.fuller
        if before is not None:
            self.memory.beside.update(before.beside)
            self.memory.mentions = Mentions(syntax.code, before.mentions)
            self._take(before, is_last=True)

    def readings(self) -> Iterator[Earlier]:
        """The earlier readings, the last one first: one before it is looked at where it is come
        to."""
        yield from list(self.earlier)
        if self._fuller is not None:
            known = len(self.earlier)
            self._take(self._fuller, is_last=False)
            self._fuller = None
            yield from self.earlier[known:]

    def _take(self, before: Memory, *, is_last: bool) -> None:
        changed = changed_names(before.index, self.memory.index)
        if changed is None:
            return
        for name, answer in before.kernel_names.items():
            if self._is_kernel(name) != answer:
                changed.add(name)
            else:
                self.memory.kernel_names[name] = answer
        for name, said in before.variables.items():
            if self._variables.says(name) != said:
                changed.add(name.removesuffix("()"))
            else:
                self.memory.variables[name] = said
        is_same = before.told is None or self._is_same_beside(before.told.beside)
        earlier = Earlier(self.path, before, self.memory, changed, self.launching, is_last=is_last)
        earlier.is_same_beside = is_same
        if is_same and self._is_called_as_before(before, earlier):
            earlier.classes = self._classes
        self.earlier.append(earlier)

    def _is_called_as_before(self, before: Memory, earlier: Earlier) -> bool:
        """Whether nobody but the file itself may call its functions with something else."""
        if self.path.endswith(UNITS):
            return True
        # The others see what it declares: they go on as before where that means what it did.
        is_apart = before.is_alone or not earlier.affected
        asked = before.told is not None and before.told.asks_callers
        return asked and is_apart and before.others == self.others()

    def carry(self) -> None:
        """Takes over what nobody asked for in this reading, as nothing changes it."""
        memory = self.memory
        for one in self.earlier:
            if not one.is_told:
                continue
            memory.is_alone &= one.before.is_alone
            for function in memory.syntax.functions:
                span = function.span
                if span not in memory.calls and one.old_span(span) in one.before.calls:
                    many = list(one.calls(function, function_head(function)))
                    if many:
                        memory.calls[span] = many
            for asked, (key, calls) in one.before.elsewhere.items():
                if asked not in memory.elsewhere:
                    one.move.is_lost = False
                    moved = calls and [call.moved(one.move) for call in calls]
                    if not one.move.is_lost:
                        memory.elsewhere[asked] = (key, moved)
            functions, classes = memory.index.functions, self._classes
            names = one.before.asked.names
            if self.path.endswith(UNITS):
                names = frozenset([n for n in names if n in functions or n in classes])
            bodies = map(one.move.offset, one.before.asked.bodies)
            memory.asked = Asked(memory.asked.names | names, memory.asked.bodies.union(bodies))

    def seen_beside(self, now: Seen) -> Seen:
        """What was looked at of the units beside the file, in this reading and in those of which
        something is taken over."""
        told = [one.before.told for one in self.earlier if one.is_told]
        seen = {each[:2]: each for one in told if one is not None for each in one.beside}
        seen.update({each[:2]: each for each in now})
        return tuple(seen.values())

    def finish(self) -> Memory:
        """What to keep for the next reading."""
        self.carry()
        self.memory.mentions.settle({*self.memory.index.functions, *self._classes})
        kept: Memory | None = None
        for one in self.earlier:
            before = one.before
            # What an edit has evaluated anew is as it was once the edit is taken back.
            is_lost = self.anew > 0 if one.is_last else bool(one.affected)
            if before.waited < MAX_WAITED and (before.found > self.memory.found or is_lost):
                kept = before if kept is None or before.found >= kept.found else kept
        if kept is not None:
            self.memory.fuller, kept.fuller = kept, None
            kept.waited += 1
        return self.memory

    def kernel(self, raw: RawKernel, head: tuple[object, ...]) -> KeptKernel | None:
        """What was kept of a kernel."""
        return next((k for one in self.earlier for k in one.kernels(raw, head)), None)

    def functions(self, function: Function, head: tuple[object, ...]) -> Iterator[KeptFunction]:
        """What was kept of a function, by each of the readings."""
        return (kept for one in self.earlier for kept in one.functions(function, head))

    def calls(self, function: Function, head: tuple[object, ...]) -> Iterator[KeptCalls]:
        """What was kept of the calls in a function, by what its callers gave."""
        return (kept for one in self.earlier for kept in one.calls(function, head))

    def calls_elsewhere(
        self, asked: AskedElsewhere, key: bytes
    ) -> list[Call] | Literal[False] | None:
        """What was kept of a function's calls in another file; False where nothing was."""
        for one in self.earlier:
            kept = one.before.elsewhere.get(asked)
            if kept is not None and kept[0] == key:
                one.move.is_lost = False
                calls = kept[1] and [call.moved(one.move) for call in kept[1]]
                if not one.move.is_lost:
                    return calls
        return False

    def kernel_words(self, raw: RawKernel, head: tuple[object, ...]) -> frozenset[str]:
        """The words that a kernel's facts follow from."""
        self.anew += 1
        if not self.keeps:
            return frozenset()
        return words_in(self.memory.syntax.masked, raw.span) | words_of(str(head))

    def words(
        self, function: Function, head: tuple[object, ...], deciding: AbstractSet[str]
    ) -> frozenset[str]:
        """The words that a function's facts follow from, by the names that decide them."""
        self.anew += 1
        if not self.keeps:
            return frozenset()
        names = (deciding | self.launching) - NO_VARIABLES
        return words_that_count(self.memory.syntax.masked, function, head, names)
