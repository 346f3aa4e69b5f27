"""Members that a class has from its bases, and what they say in terms of its own arguments.

template <int N> struct Sizes { static const int kThreads = N; using Shape = Tile<N>; };
template <int N> struct Wide : Sizes<2 * N> {};    // Wide<64>::kThreads is 128
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from occlsp.source import types
from occlsp.source.instances import NOT_KNOWN, Part, closed, spelled_parts
from occlsp.source.lexer import Token, spelled, tokenize
from occlsp.source.lookup import MAX_BASES, base_names, scope_of
from occlsp.source.numbers import Number
from occlsp.source.view import parts

if TYPE_CHECKING:
    from occlsp.source.facts import TemplateParameter
    from occlsp.source.names import Binding, StaticScope
    from occlsp.source.syntax import Constant, TypeAlias
    from occlsp.source.view import View

Arguments = tuple[str, ...] | None
MAX_NAME = 100
"""Characters of a name with all its template arguments that is put into others."""
Target = tuple[tuple[Token, ...], tuple[str, ...]]
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


def meant_outside(scope: StaticScope, alias: TypeAlias, named: Sequence[Part]) -> str:
    """What an alias that `named` names stands for outside of the scope that declares it: template
    arguments put in, and what is declared beside it named as it is from anywhere."""
    view, declared = scope.view, scope_of(alias)
    of_class = view.class_templates.get(declared[-1], ())
    target, beside = _beside(view, alias, declared)
    given: dict[str, list[Token]] = {}
    arguments = declaring_arguments(scope, named[:-1], declared) if of_class else None
    if beside:
        around = _as_named(named[:-1], declared, arguments)
        given |= {one: _from_anywhere(scope, around, one) for one in beside}
    if of_class:
        put_in(given, of_class, arguments)
    if alias.template_parameters and named[-1][1]:
        put_in(given, alias.template_parameters, named[-1][1])
    return spelled(replaced(target, given))


def with_arguments(alias: TypeAlias, arguments: Arguments) -> str:
    """What an alias stands for in the scope that declares it."""
    if not alias.template_parameters or not arguments:
        return alias.target
    given: dict[str, list[Token]] = {}
    put_in(given, alias.template_parameters, arguments)
    return spelled(replaced(tokenize(alias.target), given))


def _beside(view: View, alias: TypeAlias, declared: Sequence[str]) -> Target:
    """What an alias stands for, without names that only stand for others, and those in it that its
    scope declares."""
    key = (alias.target, alias.name, declared)
    found = view.beside.get(key)
    if found is None:
        own = {alias.name, *(one.name for one in alias.template_parameters)}
        renamed: dict[str, list[Token]] = {}
        names: list[str] = []
        for token in tokenize(alias.target):
            if token.kind == "name" and token.text not in own:
                name = _renamed(view, token.text, declared)
                renamed[token.text] = [Token("name", name, -1)]
                if any(scope_of(one) == declared for one in _declarations(view, name)):
                    names.append(name)
        tokens = tuple(replaced(tokenize(alias.target), renamed))
        found = view.beside[key] = (tokens, tuple(dict.fromkeys(names)))
    return found


def _declarations(view: View, name: str) -> Iterator[TypeAlias | Constant]:
    """The types and constants of a name."""
    for table in (view.aliases, view.constants):
        yield from (item for _, item in table(name))


def _renamed(view: View, name: str, declared: Sequence[str]) -> str:
    """What a name of a scope stands for there, where that is another name."""
    for _ in range(MAX_BASES):
        found = [one for _, one in view.aliases(name) if scope_of(one) == declared]
        targets = {types.plain(one.target) for one in found}
        if len(targets) != 1 or not (target := targets.pop()).isidentifier():
            break
        name = target
    return name


def _as_named(qualifiers: Sequence[Part], declared: Sequence[str], arguments: Arguments) -> str:
    """A scope with the template arguments that are known of it."""
    own: list[Part] = [(name, None) for name in declared]
    for place in range(1, min(len(own), len(qualifiers)) + 1):
        if qualifiers[-place][0] != declared[-place]:
            break
        own[-place] = qualifiers[-place]
    if arguments is not None:
        own[-1] = (declared[-1], arguments)
    return spelled_parts(own)


def _from_anywhere(scope: StaticScope, around: str, name: str) -> list[Token]:
    """A name that a scope declares: a constant's value, or as it is named from anywhere. That can
    grow to any length where such types are arguments of others: a long one is not known."""
    text = f"{around}::{name}"
    value = scope.constant(text, None) if scope.view.constants(name) else None
    if isinstance(value, Number) and value.value is not None:
        text = str(value.value)
    return list(tokenize(text if len(text) < MAX_NAME else NOT_KNOWN))


def put_in(
    given: dict[str, list[Token]], parameters: Sequence[TemplateParameter], arguments: Arguments
) -> None:
    """Adds what stands for a template's parameters where these are its arguments."""
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
