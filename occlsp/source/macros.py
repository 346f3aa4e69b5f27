"""Macros: which definition holds at a place, expansion, and the preprocessor's conditions.

A condition is true, false or not known (`None`). What depends on the compiler or the platform
is not known: then every branch counts, and a macro has several definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product

from msgspec import Struct

from occlsp.source import expressions as ast
from occlsp.source.build_macros import DEFINED_BY_NVCC, DEPENDS_ON_BUILD, NOT_FOR_NVIDIA
from occlsp.source.lexer import Token, matching, split_arguments, tokenize
from occlsp.source.preprocessor import NOT_KNOWN, condition_value
from occlsp.source.syntax import Condition, Define, Expr
from occlsp.source.text import Span

MAX_ALTERNATIVES = 8
MAX_NAME = 200
"""A longer text is not the name of one macro."""
MAX_EXPANSION = 20_000
"""Tokens that an expansion may have: more is not read."""
MAX_KEPT = 128
"""Expansions that are kept."""


class Place(Struct, frozen=True, gc=False):
    """Where a name is used: what is defined later in the same file does not count."""

    path: str
    offset: int


class Definition(Struct, frozen=True):
    """A `#define` and the file that it is in."""

    path: str
    define: Define


class Alternatives(Struct, frozen=True):
    """What a macro can be at a place: its definitions, and whether it may be undefined."""

    definitions: tuple[Definition, ...] = ()
    undefined: bool = True

    @property
    def is_defined(self) -> bool | None:
        """Whether `defined(name)` holds."""
        if not self.definitions:
            return False
        return None if self.undefined else True


_NOTHING = Alternatives()


class Macros:
    """The macros that one file sees: its own and those of what it includes, in order."""

    def __init__(
        self,
        definitions: Callable[[str], Sequence[Definition]],
        predefined: dict[str, str],
    ) -> None:
        self._definitions = definitions
        self._predefined = {
            name: Definition("", Define(name, None, Expr(value, Span(0, 0))))
            for name, value in predefined.items()
        }
        self._cache: dict[tuple[str, str, int], Alternatives] = {}
        self._expanded: dict[tuple[tuple[str, int | None], ...], _Kept] = {}
        self._conditions: dict[tuple[str, str, int], bool | None] = {}
        self._open: dict[str, Alternatives] = {}
        self._is_macro: dict[str, bool] = {}
        self._plain: dict[str, tuple[ast.Node]] = {}
        """The trees of expressions that hold no macros."""

    def alternatives(self, name: str, at: Place) -> Alternatives:
        """What `name` can be at a place."""
        found = self._definitions(name)
        given = self._predefined.get(name)
        if not found and given is None:
            return _NOTHING
        if name in self._open:
            return self._open[name]
        path, offset = at.path, at.offset
        seen = 0
        for item in found:
            if item.path == path and item.define.body.span.start <= offset:
                seen += 1
        key = (name, path, seen)
        known = self._cache.get(key)
        if known is None:
            known = self._cache[key] = self._resolve(name, found, at)
        return known

    def _resolve(self, name: str, found: Sequence[Definition], at: Place) -> Alternatives:
        given = self._predefined.get(name)
        now = Alternatives((given,), undefined=False) if given is not None else _NOTHING
        for item in found:
            if item.path == at.path and item.define.body.span.start > at.offset:
                continue
            self._open[name] = now
            try:
                active = self.active(item.define.conditions, item.path)
            finally:
                del self._open[name]
            if active is False:
                continue
            if item.define.undefined:
                now = _NOTHING if active else Alternatives(now.definitions)
            elif active:
                now = Alternatives((item,), undefined=False)
            elif len(now.definitions) < MAX_ALTERNATIVES:
                now = Alternatives((*now.definitions, item), undefined=now.undefined)
        return now

    def is_defined(self, name: str, at: Place) -> bool | None:
        """Whether `defined(name)` holds at a place."""
        if name in NOT_FOR_NVIDIA:
            return False
        if name in DEFINED_BY_NVCC:
            return True
        found = self.alternatives(name, at).is_defined
        return None if found is False and name in DEPENDS_ON_BUILD else found

    def active(self, conditions: Sequence[Condition], path: str) -> bool | None:
        """Whether all conditions hold, each at its own place in `path`."""
        result: bool | None = True
        for condition in conditions:
            key = (condition.text, path, condition.span.start)
            if self._open or key not in self._conditions:
                holds = self.holds(condition.text, Place(path, condition.span.start))
                if not self._open:
                    self._conditions[key] = holds
            else:
                holds = self._conditions[key]
            if holds is False:
                return False
            result = result if holds else None
        return result

    def holds(self, text: str, at: Place) -> bool | None:
        """Whether a preprocessor condition holds."""
        if text.strip() in ("0", "1"):
            return text.strip() == "1"
        tokens = self._with_defined(tokenize(text), at)
        results = set()
        for expanded in self._variants(tokens, at):
            value = condition_value(ast.parse(expanded))
            results.add(None if value.value is None else value.value != 0)
        return results.pop() if len(results) == 1 else None

    def _with_defined(self, tokens: Sequence[Token], at: Place) -> list[Token]:
        """`defined X` and `__has_include(…)` replaced by 0, 1 or a name that is not known."""
        result: list[Token] = []
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.text.startswith("__has_"):
                opened = index + 1 < len(tokens) and tokens[index + 1].text == "("
                index = matching(tokens, index + 1) + 1 if opened else index + 1
                result.append(Token("name", NOT_KNOWN, -1))
                continue
            if token.text != "defined" or index + 1 >= len(tokens):
                result.append(token)
                index += 1
                continue
            bracketed = tokens[index + 1].text == "("
            name = tokens[min(index + 1 + bracketed, len(tokens) - 1)].text
            holds = self.is_defined(name, at)
            text = NOT_KNOWN if holds is None else str(int(holds))
            result.append(Token("name" if holds is None else "number", text, -1))
            index += 4 if bracketed else 2
        return result

    def nodes(self, text: str, at: Place) -> tuple[ast.Node, ...]:
        """The trees that an expression can be, macros expanded."""
        plain = self._plain.get(text)
        if plain is not None:
            return plain
        tokens = tokenize(text)
        if not self.has_macro(tokens):
            self._plain[text] = (ast.parse(text),)
            return self._plain[text]
        return tuple(ast.parse(variant) for variant in self._variants(tokens, at))

    def has_macro(self, tokens: Sequence[Token]) -> bool:
        """Whether any of the tokens may be a macro's name."""
        known = self._is_macro
        for token in tokens:
            if token.kind == "name":
                found = known.get(token.text)
                if found if found is not None else self.is_macro(token.text):
                    return True
        return False

    def is_macro(self, name: str) -> bool:
        """Whether a name has a definition in view."""
        found = self._is_macro.get(name)
        if found is None:
            found = name in self._predefined or bool(self._definitions(name))
            self._is_macro[name] = found
        return found

    def variants(self, tokens: Sequence[Token], at: Place) -> list[list[Token]]:
        """The token lists that an expansion of `tokens` can give.

        A macro that launches is expanded for what it launches and for what it changes, so that
        what a macro with arguments gives is kept while the macros in it are the same.
        """
        if len(tokens) < 3 or self._open:
            return self._variants(tokens, at)
        if not self.has_macro(tokens):
            return [list(tokens)]
        base = tokens[0].start
        key = tuple([(one.text, one.start - base if one.start >= 0 else None) for one in tokens])
        kept = self._expanded.get(key)
        if kept is None or any(
            self.alternatives(name, at) is not meant for name, meant in kept.asked.items()
        ):
            asked: dict[str, Alternatives] = {}
            kept = _Kept(base, asked, self._variants(tokens, at, asked))
            if len(self._expanded) >= MAX_KEPT:
                self._expanded.clear()
            self._expanded[key] = kept
        if kept.base == base:
            return kept.variants
        return [_moved(variant, base - kept.base) for variant in kept.variants]

    def _variants(
        self, tokens: Sequence[Token], at: Place, asked: dict[str, Alternatives] | None = None
    ) -> list[list[Token]]:
        """As `variants`; what would lose something of so much stays as it is written."""
        if not self.has_macro(tokens):
            return [list(tokens)]
        if asked is None:
            asked = {}
        first = _Expansion(self, at, {}, asked)
        expanded = first.expand(list(tokens), frozenset())
        if not first.ambiguous or first.is_cut:
            return [list(tokens) if first.is_cut else expanded]
        names = list(first.ambiguous)[:3]
        choices = [range(first.ambiguous[name]) for name in names]
        variants = []
        for choice in list(product(*choices))[:MAX_ALTERNATIVES]:
            chosen = dict(zip(names, choice, strict=True))
            again = _Expansion(self, at, chosen, asked)
            expanded = again.expand(list(tokens), frozenset())
            variants.append(list(tokens) if again.is_cut else expanded)
        return variants

    def simple(self, text: str, at: Place) -> Definition | None:
        """The one object-like macro that `text` is nothing but the name of."""
        if text.isidentifier():
            return self._alone(text, at) if self.is_macro(text) else None
        if len(text) > MAX_NAME:
            return None
        tokens = tokenize(text)
        while len(tokens) > 2 and tokens[0].text == "(" and matching(tokens, 0) == len(tokens) - 1:
            tokens = tokens[1:-1]
        is_name = len(tokens) == 1 and tokens[0].kind == "name"
        return self._alone(tokens[0].text, at) if is_name else None

    def _alone(self, name: str, at: Place) -> Definition | None:
        """The one object-like macro that has a name at a place."""
        found = self.alternatives(name, at)
        if len(found.definitions) != 1 or found.definitions[0].define.parameters is not None:
            return None
        return found.definitions[0]


class _Kept(Struct, frozen=True):
    """What tokens expanded to."""

    base: int
    """Where their first stood."""
    asked: dict[str, Alternatives]
    """What the macros among them were."""
    variants: list[list[Token]]


def _moved(tokens: Sequence[Token], by: int) -> list[Token]:
    return [
        token if token.start < 0 else Token(token.kind, token.text, token.start + by)
        for token in tokens
    ]


class _Expansion:
    """One expansion, with one choice among the definitions of ambiguous macros."""

    def __init__(
        self,
        macros: Macros,
        at: Place,
        choice: dict[str, int],
        asked: dict[str, Alternatives],
    ) -> None:
        self.macros = macros
        self.at = at
        self.choice = choice
        self.asked = asked
        """Takes in what macros are there."""
        self.ambiguous: dict[str, int] = {}
        self.plain: set[str] = set()
        """Names that are no macros': most are, and come again and again."""
        self.size = 0
        self.is_cut = False
        """Whether anything that was given is lost, not only left as it was."""

    def expand(self, tokens: list[Token], hidden: frozenset[str]) -> list[Token]:
        result: list[Token] = []
        append, plain = result.append, self.plain
        index, count = 0, len(tokens)
        taken = 0  # of the result, what the size counts
        while index < count:
            token = tokens[index]
            kind, text = token.kind, token.text
            found = None
            if kind == "name" and text not in plain and text not in hidden:
                self.size += len(result) - taken
                taken = len(result)
                found = self.definition(text)
            if found is None or self.size > MAX_EXPANSION or len(hidden) > 64:
                append(token)
                index += 1
                continue
            inside = hidden | {token.text}
            while found.define.parameters is None:  # `#define SWITCH OTHER_SWITCH`
                only = self.body(found)
                other = only[0].text if len(only) == 1 and only[0].kind == "name" else None
                aliased = self.definition(other) if other and other not in inside else None
                if aliased is None:
                    break
                token, found, inside = only[0], aliased, inside | {only[0].text}
            define = found.define
            if define.parameters is None:
                body = list(self.body(found))
                result.extend(self.expand(body, inside))
                taken = len(result)
                index += 1
                continue
            if index + 1 >= count or tokens[index + 1].text != "(":
                append(token)
                taken += 1
                index += 1
                continue
            close = matching(tokens, index + 1)
            arguments = split_arguments(tokens[index + 2 : close])
            substituted = self.substitute(found, arguments, hidden)
            result.extend(self.expand(substituted, inside))
            taken = len(result)
            index = close + 1
        self.size += len(result) - taken
        return result

    def body(self, definition: Definition) -> tuple[Token, ...]:
        """The tokens of a macro's body: those of launches tell where they stand in the file that
        is read."""
        body = definition.define.body
        text = body.text
        if definition.path == self.at.path and ("<<<" in text or "Launch" in text):
            return _launching(text, body.span.start)
        return _body(text)

    def definition(self, name: str) -> Definition | None:
        found = self.asked.get(name)
        if found is None:
            if not self.macros.is_macro(name):
                self.plain.add(name)
                return None
            found = self.asked[name] = self.macros.alternatives(name, self.at)
        definitions = found.definitions
        if not definitions:
            return None
        if len(definitions) > 1:
            self.ambiguous[name] = len(definitions)
        return definitions[min(self.choice.get(name, 0), len(definitions) - 1)]

    def substitute(
        self, definition: Definition, arguments: list[list[Token]], hidden: frozenset[str]
    ) -> list[Token]:
        named = bind(definition.define, arguments)
        expanded: dict[str, list[Token]] = {}
        body = self.body(definition)
        result: list[Token] = []
        index = 0
        while index < len(body):
            token = body[index]
            following = body[index + 1].text if index + 1 < len(body) else ""
            if token.text == "#" and following in named:
                result.append(Token("string", '""', -1))
                index += 2
                continue
            if token.text == "##" and result and index + 1 < len(body):
                pasted = named.get(following)
                right = pasted if pasted is not None else [body[index + 1]]
                _paste(result, right)
                index += 2
                continue
            if token.text == "__VA_OPT__" and following == "(":
                close = matching(body, index + 1)
                if named.get("__VA_ARGS__"):
                    result.extend(body[index + 2 : close])
                index = close + 1
                continue
            if token.kind == "name" and token.text in named:
                argument = named[token.text]
                if following != "##":
                    if token.text not in expanded:
                        expanded[token.text] = self.expand(list(argument), hidden)
                    argument = expanded[token.text]
                self.size += len(argument)
                if self.size > MAX_EXPANSION:
                    self.is_cut = True
                    return result
                result.extend(argument)
            else:
                result.append(token)
            index += 1
        return result


def bind(define: Define, arguments: list[list[Token]]) -> dict[str, list[Token]]:
    """A macro's parameters with the tokens given for them; `__VA_ARGS__` with the rest."""
    parameters = define.parameters or ()
    named: dict[str, list[Token]] = {}
    for position, parameter in enumerate(parameters):
        if parameter.endswith("..."):
            rest: list[Token] = []
            for offset, argument in enumerate(arguments[position:]):
                if offset:
                    rest.append(Token("op", ",", -1))
                rest.extend(argument)
            named[parameter.removesuffix("...").strip() or "__VA_ARGS__"] = rest
            break
        named[parameter] = arguments[position] if position < len(arguments) else []
    return named


def _paste(result: list[Token], right: list[Token]) -> None:
    if not right:
        return
    left = result.pop()
    joined = tokenize(left.text + right[0].text)
    if len(joined) == 1:
        result.append(Token(joined[0].kind, joined[0].text, -1))
    elif left.text == ",":
        result.extend([left, right[0]])
    else:
        result.extend(Token(t.kind, t.text, -1) for t in joined)
    result.extend(right[1:])


@lru_cache(maxsize=256)
def _body(text: str) -> tuple[Token, ...]:
    return tuple(
        Token(token.kind, token.text, -1) for token in tokenize(text.replace("\\\n", "  "))
    )


@lru_cache(maxsize=64)
def _launching(text: str, base: int) -> tuple[Token, ...]:
    """A body's tokens; the start of one that may launch is `in_body` of its offset."""
    tokens = tokenize(text.replace("\\\n", "  "))
    return tuple(
        Token(one.kind, one.text, in_body(base + one.start) if _may_launch(one.text) else -1)
        for one in tokens
    )


def _may_launch(word: str) -> bool:
    return word == "<<" or "Launch" in word


def in_body(offset: int) -> int:
    """What the start of a token says that a macro's body made: where it stands there. Its own
    inverse."""
    return -2 - offset
