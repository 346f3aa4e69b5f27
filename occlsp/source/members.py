"""Members that a class has from its bases, and what they say in terms of its own arguments.

template <int N> struct Sizes { static const int kThreads = N; using Shape = Tile<N>; };
template <int N> struct Wide : Sizes<2 * N> {};    // Wide<64>::kThreads is 128
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from occlsp.source.instances import NOT_KNOWN, Part, closed
from occlsp.source.lexer import Token, spelled, tokenize
from occlsp.source.lookup import MAX_BASES, base_names
from occlsp.source.view import parts

if TYPE_CHECKING:
    from occlsp.source.facts import TemplateParameter
    from occlsp.source.names import Binding, StaticScope
    from occlsp.source.syntax import Constant
    from occlsp.source.view import View

Arguments = tuple[str, ...] | None
CARRIED = "__occlsp_carried"
"""The end of names that stand for what others mean in another scope."""


def declaring_arguments(
    scope: StaticScope, qualifiers: Sequence[Part], declared: Sequence[str]
) -> Arguments:
    """The template arguments of the class that declares a member, which is the class that
    `qualifiers` name (without any: the one around), or a base of it; None where they are not
    known, or left out."""
    name = declared[-1] if declared else ""
    if qualifiers and qualifiers[-1][0] == name:
        return qualifiers[-1][1]
    if name not in scope.view.class_templates or (not qualifiers and name in scope.scope):
        return None
    if qualifiers:
        pending = [qualifiers[-1]]
    else:
        pending = [(one, own_arguments(scope, one)) for one in reversed(scope.scope)]
    for part in pending:
        if part[0] == name:
            return part[1]
        if len(pending) > MAX_BASES:
            return None
        pending += bases_of(scope, part)
    return None


def arguments_of(
    constant: Constant,
    parameters: Sequence[TemplateParameter],
    arguments: Arguments,
    view: View,
) -> Arguments:
    """The arguments of a class template as those of the parameters that a member names: a
    specialisation has others, which stand anywhere in what it is of."""
    name = constant.scope[-1] if constant.scope else ""
    own = [one.name for one in view.class_templates.get(name, ())]
    names = [one.name for one in parameters]
    if arguments is None or not own or own == names:
        return arguments
    places = {
        tuple([one.arguments.index(n) if n in one.arguments else -1 for n in names])
        for one in view.specialised(name)
        if list(one.names) == names
    }
    if len(places) != 1:
        return None  # which of them it is of is not known
    return tuple(
        [
            (*arguments, NOT_KNOWN)[place] if place < len(arguments) else NOT_KNOWN
            for place in places.pop()
        ]
    )


def is_of_base(scope: StaticScope, qualifiers: Sequence[Part], declared: Sequence[str]) -> bool:
    """Whether a member is declared by a class template that is a base of the class that
    `qualifiers` name, or of the one around."""
    if not declared or declared[-1] not in scope.view.class_templates:
        return False
    return qualifiers[-1][0] != declared[-1] if qualifiers else declared[-1] not in scope.scope


def bases_of(scope: StaticScope, part: Part) -> Iterator[Part]:
    """The bases of a class with its template arguments, as the scope that names it says them."""
    name, arguments = part
    clause = scope.view.base_clause(name)
    if clause is None:
        return
    inner = scope.inside(name, arguments)
    for base in base_names(clause):
        texts = closed(base, inner, ())
        named = parts(texts[0]) if len(texts) == 1 else ()
        if named:
            yield named[-1]


def own_arguments(scope: StaticScope, name: str) -> Arguments:
    """What a class template's own functions mean by its name."""
    parameters = scope.view.class_templates.get(name)
    if parameters is None:
        return None
    return tuple([parameter.name or NOT_KNOWN for parameter in parameters])


def with_arguments(text: str, parameters: Sequence[TemplateParameter], arguments: Arguments) -> str:
    """A text of a class template with its parameters' arguments put in."""
    given: dict[str, list[Token]] = {}
    for position, parameter in enumerate(parameters):
        argument: str | None = NOT_KNOWN
        if parameter.is_pack or arguments is None:
            pass
        elif position < len(arguments):
            argument = arguments[position]
        elif parameter.default is not None:
            argument = spelled(replaced(tokenize(parameter.default), given))
        if parameter.name is not None:
            tokens = list(tokenize(argument or NOT_KNOWN))
            is_type = parameter.kind in ("typename", "class", "template")
            if len(tokens) > 1 and not is_type:
                tokens = [Token("op", "(", -1), *tokens, Token("op", ")", -1)]
            given[parameter.name] = tokens
    return spelled(replaced(tokenize(text), given))


def replaced(tokens: Sequence[Token], given: dict[str, list[Token]]) -> list[Token]:
    """Tokens with those put in the place of names that these are given; members are no such."""
    found: list[Token] = []
    for token in tokens:
        is_member = bool(found) and found[-1].text in ("::", ".", "->")
        found += [token] if is_member else given.get(token.text, [token])
    return found


def carried(text: str, scope: StaticScope, bound: dict[str, Binding]) -> str:
    """A type that a scope names, as it is named where a template is read that has it as argument:
    what the scope's own names mean is in `bound` there, under names that nothing else has."""
    given: dict[str, list[Token]] = {}
    for token in tokenize(text) if "<" in text else ():
        name = token.text
        if token.kind != "name" or name in given:
            continue
        meant = scope.template.get(name) or scope.variable(name)
        if meant is not None:
            bound[f"{name}{CARRIED}"] = meant
            given[name] = [Token("name", f"{name}{CARRIED}", -1)]
    return spelled(replaced(tokenize(text), given)) if given else text
