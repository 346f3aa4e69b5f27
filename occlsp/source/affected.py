"""Which names mean something else after an edit, and so what has to be evaluated again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache

from occlsp.source.bodies import MOST_BODY
from occlsp.source.fragment import written
from occlsp.source.pieces import Pieces, finished
from occlsp.source.syntax import Condition, Constant, Define, Function, RawKernel, TypeAlias
from occlsp.source.text import Span
from occlsp.source.view import Callable_, FileIndex

_WORD = re.compile(r"[A-Za-z_]\w*")


def texts(conditions: Iterable[Condition]) -> tuple[str, ...]:
    """What conditions say, wherever they stand."""
    return tuple([condition.text for condition in conditions])


def _listed(function: Function) -> tuple[str, ...]:
    """The parameters as written: to read them costs more than all else of a head."""
    text, code = function.listed_text, function.listed_code
    lists = (text,) if text is code else (text, code)
    return tuple([written(one) for one in (*lists, *function.template_heads)])


def function_head(function: Function) -> tuple[object, ...]:
    """What a function is besides the text of its body."""
    return (
        function.qualified_name,
        *_listed(function),
        function.is_template,
        function.is_constexpr,
        function.in_macro,
        texts(function.conditions),
    )


def kernel_head(kernel: RawKernel) -> tuple[object, ...]:
    """What a kernel is besides the text of its definition."""
    return (
        kernel.scope,
        kernel.name,
        kernel.parameters,
        kernel.template_parameters,
        kernel.template_arguments and tuple([one.text for one in kernel.template_arguments]),
        kernel.is_template,
        kernel.in_macro,
        kernel.from_macro,
        kernel.body is None,
        texts(kernel.conditions),
    )


def _laid_out(body: str | None) -> str | None:
    """What a body says, however its lines are laid out: a comment in it changes nothing."""
    return body and " ".join(body.split())


def _said(item: object, index: FileIndex) -> tuple[object, ...]:
    """What a declaration says, without where it stands."""
    match item:
        case Define():
            return item.parameters, item.body.text, item.undefined, texts(item.conditions)
        case Constant():
            return (
                item.scope,
                item.type,
                item.value and item.value.text,
                item.template_parameters,
                item.previous is not None and index.all_constants[item.previous].name,
                texts(item.conditions),
            )
        case Callable_():
            head = function_head(item.function)
            return _laid_out(item.body), item.returns, item.forwards, item.calls, head
        case TypeAlias():
            return item.scope, item.target, item.template_parameters, item.function is None
        case RawKernel():
            return kernel_head(item)
    raise TypeError(item)


_TABLES = ("defines", "constants", "functions", "aliases", "kernels")


def changed_names(old: FileIndex, new: FileIndex) -> set[str] | None:
    """The names that an edit of their file gives another meaning; None where more changed than
    names."""
    # Those in functions are a part of their texts.
    directives = old.directives.everywhere ^ new.directives.everywhere
    if any(one.is_all for one in directives):
        return None
    changed = {one.name for one in directives}
    for table in ("bases", "class_templates"):
        # Compared whole, since a class that is not there any more says something, too.
        was, now = getattr(old, table), getattr(new, table)
        if was != now:
            changed.update(
                name for name in was.keys() | now.keys() if was.get(name) != now.get(name)
            )
    for names in ("dynamic_users", "launching_macros", "kernel_macros"):
        changed |= getattr(old, names) ^ getattr(new, names)
    touched = next((names for token, names in new.steps if token is old.token), None)
    for table in _TABLES:
        before, after = getattr(old, table), getattr(new, table)
        for name in before.keys() | after.keys() if touched is None else touched:
            if name not in changed and not _is_same(before.get(name), after.get(name), old, new):
                changed.add(name)
    return changed


def _is_same(
    before: Sequence[object] | None,
    after: Sequence[object] | None,
    old: FileIndex,
    new: FileIndex,
) -> bool:
    if before is None or after is None:
        return before is after
    if len(before) != len(after):
        return False
    return all(
        its is mine or _said(its, old) == _said(mine, new)
        for its, mine in zip(before, after, strict=True)
    )


@lru_cache(maxsize=1024)
def words_of(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(_WORD.findall(text))


_BOUNDS = re.compile(r"[;{}]")
_DECIDES = re.compile(
    r"#|<<<|\b(?:if|else|for|while|do|switch|case|return|goto|break|continue|throw|catch|co_return|"
    r"using|typedef|template|struct|class|union|enum|\w*exit|abort|terminate|\w*assert)\b"
)
"""What is read wherever it stands."""


def words_in(text: bytes, span: Span) -> frozenset[str]:
    """The words of a piece of a file."""
    return frozenset(_WORD.findall(text[span.start : span.end].decode("latin-1")))


def words_that_count(
    text: bytes, function: Function, head: object, deciding: AbstractSet[str]
) -> frozenset[str]:
    """The words that a function's facts follow from: those of its head, of what decides how it
    goes on, and of the statements with a name in them that decides its facts."""
    start, end = function.body.start, function.body.end
    words = set(_WORD.findall(text[function.span.start : start].decode("latin-1")))
    words.update(_WORD.findall(str(head)))
    words.discard(function.name)
    if end - start > MOST_BODY:
        return frozenset(words | words_in(text, function.body))
    for inside, counts in _statements(text[start:end]):
        if counts or not deciding.isdisjoint(inside):
            words.update(inside)
    return frozenset(words)


@lru_cache(maxsize=16)  # a body is asked for with and without its callers
def _statements(body: bytes) -> list[tuple[frozenset[str], bool]]:
    """The words of a body's statements, and whether they count in any case."""
    found: list[tuple[frozenset[str], bool]] = []
    piece, depth = "", 0
    for part in _BOUNDS.split(body.decode("latin-1")):
        piece += f" {part}"
        depth += part.count("(") - part.count(")")
        if depth <= 0:
            found.append(_statement(piece))
            piece, depth = "", 0
    found.append((frozenset(_WORD.findall(piece)), True))
    return found


@lru_cache(maxsize=2048)  # an edit leaves most statements alone
def _statement(text: str) -> tuple[frozenset[str], bool]:
    return frozenset(_WORD.findall(text)), bool(_DECIDES.search(text))


def _text_of(item: object, index: FileIndex) -> str:
    """The texts that a declaration takes its meaning from."""
    match item:
        case Define():
            texts = [item.body.text]
        case Constant():
            texts = [item.type, *item.scope]
            if item.value is not None:
                texts.append(item.value.text)
            if item.previous is not None:
                texts.append(index.all_constants[item.previous].name)
        case Callable_():
            function = item.function
            texts = [item.body or "", item.returns, function.qualified_name]
            texts += _listed(function)
            texts += [condition.text for condition in function.conditions]
        case TypeAlias():
            texts = [item.target, *item.scope]
        case str():
            texts = [item]
        case RawKernel():
            texts = [*item.parameters, *item.scope]
            texts += [p.default for p in item.template_parameters if p.default]
        case _:
            raise TypeError(item)
    if isinstance(item, Define | Constant | RawKernel):
        texts += [condition.text for condition in item.conditions]
    return " ".join(texts)


def _declared(index: FileIndex) -> Iterator[tuple[str, object]]:
    for table in _TABLES:
        for name, items in getattr(index, table).items():
            for item in items:
                yield name, item
    yield from index.bases.items()


_PASTED = re.compile(r"(\w*)\s*##\s*(\w*)(?:\s*##\s*(\w+))*")


def _put_together(item: object) -> Iterator[str]:
    """Patterns of the names that a macro puts together by `##`."""
    if not isinstance(item, Define) or "##" not in item.body.text:
        return
    open_ = {"", "__VA_ARGS__", *(name.removesuffix("...") for name in item.parameters or ())}
    for match in _PASTED.finditer(item.body.text):
        parts = [part.strip() for part in match.group().split("##")]
        if parts != ["", "__VA_ARGS__"]:  # a comma that goes with what it stands in front of
            yield "".join(r"\w*" if part in open_ else re.escape(part) for part in parts)


class Pasting:
    """Macros that put names together: which of them may make a name?"""

    def __init__(self, indexes: Iterable[FileIndex]) -> None:
        self._makers: list[tuple[str, re.Pattern[str]]] = []
        for index in indexes:
            for name, defines in index.defines.items():
                patterns = {one for item in defines for one in _put_together(item)}
                if patterns:
                    self._makers.append((name, re.compile("|".join(sorted(patterns)))))

    def making(self, names: Collection[str]) -> set[str]:
        """The macros whose uses may say one of some names."""
        return {
            maker
            for maker, pattern in self._makers
            if maker not in names and any(map(pattern.fullmatch, names))
        }


class Declared:
    """What the files that another includes declare: which names does a name decide there?"""

    def __init__(self, indexes: Sequence[FileIndex]) -> None:
        self._indexes = indexes

    @cached_property
    def _pasting(self) -> Pasting:
        return Pasting(self._indexes)

    def prepare(self) -> Pieces[None]:
        """Reads them now, so that no edit has to wait for it."""
        for index in self._indexes:
            if index.made_of is None:
                index.made_of = _made_of(index)
                yield
        self._pasting  # noqa: B018

    def deciding(self, names: Collection[str]) -> set[str]:
        """The names that others decide there."""
        finished(self.prepare())
        found = self._pasting.making(names)
        for index in self._indexes:
            made = index.made_of or {}
            found.update(*(made[name] for name in made.keys() & names))
        return found


def _made_of(index: FileIndex) -> dict[str, tuple[str, ...]]:
    """The names that are declared by each word in a file."""
    found: dict[str, set[str]] = {}
    for name, item in _declared(index):
        for word in set(_WORD.findall(_text_of(item, index))):
            found.setdefault(word, set()).add(name)
    # Most are single, and a set takes four times the memory.
    return {word: tuple(names) for word, names in found.items()}


def affected_names(changed: set[str], own: FileIndex, included: Declared) -> set[str]:
    """`changed` names with all that are made of them."""
    if not changed:
        return changed
    declared = [(name, words_of(_text_of(item, own))) for name, item in _declared(own)]
    pasting = Pasting([own])
    found, pending = set(changed), changed
    while pending:
        more = included.deciding(pending) | pasting.making(pending)
        more.update(name for name, words in declared if not words.isdisjoint(pending))
        pending = more - found
        found |= pending
    return found
