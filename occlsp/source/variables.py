"""What statements do to a function's variables: declarations, assignments, other changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from occlsp.source import expressions as ast
from occlsp.source import statements as st
from occlsp.source import types
from occlsp.source.arrays import elements, extents, of_range
from occlsp.source.conversion import converted, named_definition
from occlsp.source.dependents import Dependents
from occlsp.source.effects import (
    Change,
    Declaration,
    assignment,
    changes,
    declarations,
    sets_any,
)
from occlsp.source.evaluate import Budget, Where, evaluate, place
from occlsp.source.known_calls import apply_known_call, may_change
from occlsp.source.lambdas import lambda_value
from occlsp.source.lexer import Token, split_arguments, tokenize
from occlsp.source.linear import itself
from occlsp.source.local_types import LocalTypes
from occlsp.source.macro_statements import apply_macro, macro_end
from occlsp.source.macros import Place as At
from occlsp.source.names import Binding
from occlsp.source.numbers import Number, binary, unknown
from occlsp.source.out_parameters import apply_function
from occlsp.source.slicing import Slice
from occlsp.source.state import Body, FlowScope, State, not_set
from occlsp.source.text import Span
from occlsp.source.values import (
    ONE,
    Abstract,
    Dim,
    Place,
    join_values,
    to_dim,
    to_number,
    unknown_dim,
    with_component,
)
from occlsp.source.view import View


class Variables(LocalTypes):
    """The variables of a body that is followed, and the effects of its statements on them."""

    view: View
    body: Body
    at: At
    scope: tuple[str, ...]
    template: dict[str, Binding]
    budget: Budget | None
    text: str
    names: set[str]
    slice: Slice
    state: State
    declared: list[dict[str, tuple[str | None, dict[str, Abstract]]]]
    parted: set[str]
    dependents: Dependents
    """The variables of whose parts something may be known."""

    def place(self, offset: int) -> At:
        """Where an offset of the text stands, for what macros are seen there."""
        body = self.body
        return At(body.path, body.base + offset if body.seen_from is None else body.seen_from)

    def scope_here(self) -> FlowScope:
        """What names mean in the current state."""
        return FlowScope(self, self.state)

    def scope_at(self, offset: int) -> FlowScope:
        """What names, and macros, mean at an offset of the text that is come to."""
        scope = FlowScope(self, self.state)
        scope.at = self.place(offset)
        return scope

    def enter(self) -> None:
        """Begins a scope: what it declares ends with it."""
        self.declared.append({})

    def leave(self) -> None:
        """Ends a scope: what its declarations hid is back."""
        for name, (kind, hidden) in self.declared.pop().items():
            self.forget(name)
            self.state.types.pop(name, None)
            if kind is not None:
                self.state.types[name] = kind
            self.state.variables.update(hidden)

    def hide(self, name: str, kind: str) -> None:
        """Declares a variable in the current scope."""
        state = self.state
        if name not in self.declared[-1]:
            hidden = {k: state.variables[k] for k in self.keys_of(name)}
            self.declared[-1][name] = (state.types.get(name), hidden)
        self.forget(name)
        state.types[name] = kind

    def keys_of(self, name: str) -> list[str]:
        """A variable and its parts, as far as something is known of them."""
        variables = self.state.variables
        found = [name] if name in variables else []
        if name in self.parted:
            starts = (f"{name}.", f"{name}[")
            found += [key for key in variables if key.startswith(starts)]
        return found

    def forget(self, name: str) -> None:
        """Drops a variable and all that is known of its parts."""
        for key in self.keys_of(name):
            del self.state.variables[key]

    def havoc(self, start: int, end: int) -> None:
        """What a loop may change is not known at its head, nor behind it."""
        for change in self.slice.changes(start, end):
            if types.is_constant(self.state.types.get(change.name, "")):
                continue  # it is another one that is declared in the loop
            if self.is_local(change.name) and self.may_change(change):
                self.spoil_by(change, f"{change.name} changes in a loop")

    def known_names(self) -> set[str]:
        """The roots of the variables of which something is known."""
        return set(map(root_of, self.state.variables)) | set(self.state.types)

    def spoil(self, name: str, why: str) -> None:
        """Nothing is known of a variable any more."""
        value = self.state.variables.get(name)
        number = value if isinstance(value, Number) else Number()
        self.forget(name)
        lost = unknown(why, number.type, device=number.device)
        self.state.variables[name] = unknown_dim(why) if isinstance(value, Dim) else lost

    def spoil_by(self, change: Change, why: str) -> None:
        """Nothing is known any more of what a change is of."""
        key = f"{change.name}{change.part}"
        variables = self.state.variables
        is_whole = isinstance(variables.get(change.name), Dim) or not change.part.startswith(".")
        if is_whole or change.name not in self.parted:
            self.spoil(change.name, why)
            return
        for name in [k for k in variables if k == key or k.startswith((f"{key}.", f"{key}["))]:
            value = variables.pop(name)
            variables[name] = unknown_dim(why) if isinstance(value, Dim) else unknown(why)
        variables.setdefault(key, unknown(why))

    def effect(self, start: int, end: int, followed: Sequence[st.LambdaBody] = ()) -> None:
        """One declaration, assignment or expression, but for what it holds that was followed."""
        written = self.text[start:end]
        for inner in followed:
            first, last = inner.body.start + 1 - start, inner.body.end - 1 - start
            written = f"{written[:first]}{' ' * (last - first)}{written[last:]}"
        written = written.rstrip("; \t\r\n")
        if st.is_marked(written):
            self.side_effects(tokenize(written), every=True)
            return
        tokens = tokenize(written)
        while end_of_macro := macro_end(tokens, written):
            self.call_effect(tokens[:end_of_macro], start)
            tokens = tokens[end_of_macro:]
        if not tokens:
            return
        if tokens[0].text in ("using", "typedef"):
            self.local_alias(written)
        elif tokens[0].text == "enum":
            self.local_enum(tokens)
        elif not self.sets(tokens, start):
            self.call_effect(tokens, start)

    def call_effect(self, tokens: Sequence[Token], start: int) -> None:
        """A statement that is a call or a macro: what it expands to may assign."""
        if not self.view.macros.has_macro(tokens):
            self.called(tokens, start)
            return
        apply_macro(tokens, start, self)

    def one_effect(self, tokens: Sequence[Token], start: int) -> None:
        if tokens and not self.sets(tokens, start):
            self.called(tokens, start)

    def sets(self, tokens: Sequence[Token], start: int) -> bool:
        """Applies a declaration or an assignment; False where a statement is neither."""
        declared = declarations(tokens)
        if declared is not None:
            for item in declared:
                self.declare(item, start)
            return True
        set_ = assignment(tokens)
        if set_ is not None:
            self.assign(list(set_.target), set_.op, list(set_.value), start)
        return set_ is not None

    def called(self, tokens: Sequence[Token], start: int) -> None:
        """A call, or several assignments with commas between them."""
        if apply_known_call(tokens, self) or apply_function(tokens, start, self):
            return
        if sets_any(tokens):
            parts = split_arguments(tokens)
            if len(parts) > 1 and all(assignment(part) for part in parts):
                for part in parts:
                    self.one_effect(part, start)
                return
        for change in changes(tokens, self.names):
            self.apply_change(change)

    def side_effects(self, tokens: Sequence[Token], *, every: bool = False) -> None:
        if every:
            names = self.known_names()
            for token in tokens:
                if token.kind == "name" and token.text in names:
                    self.spoil(token.text, f"{token.text} may change in a macro")
            return
        if apply_known_call(tokens, self):
            return
        for change in changes(tokens, self.names):
            self.apply_change(change)

    def is_local(self, name: str) -> bool:
        """Whether something is known of a variable of this name, or of a part of it."""
        state = self.state
        return name in state.types or bool(self.keys_of(name))

    def apply_change(self, change: Change) -> None:
        if not self.is_local(change.name):
            return
        if change.callee is None:
            self.spoil(change.name, f"{change.name} may be changed")
            return
        kind = self.state.types.get(change.name, "")
        if not types.is_constant(kind) and self.may_change(change):
            self.spoil(change.name, f"{change.callee}() may change {change.name}")

    def may_change(self, change: Change) -> bool:
        """Whether a statement that may change a variable does, as far as is known."""
        is_array = self.state.types.get(change.name, "").endswith("]")
        return may_change(change, self.view, is_array=is_array)

    def evaluated(self, tokens: Sequence[Token], start: int) -> Abstract:
        """What tokens of the statement at `start` evaluate to."""
        if tokens and tokens[0].text == "[" and any(token.text == "{" for token in tokens):
            return lambda_value(tokens)
        scope = FlowScope(self, self.state)
        where = (
            Where(self.body.path, self.body.base + start) if self.body.seen_from is None else None
        )
        if tokens and not self.view.macros.has_macro(tokens):
            return evaluate(ast.parse(tokens), scope, where)
        result: Abstract | None = None
        at = self.place(start + max(tokens[0].start, 0)) if tokens else self.place(start)
        single = self.single_macro(tokens, at)
        if single is not None:
            return single
        for variant in self.view.macros.variants(tokens, at):
            value = evaluate(ast.parse(variant), scope, where)
            result = value if result is None else join_values(result, value, "differs")
        return result if result is not None else unknown("empty")

    def single_macro(self, tokens: Sequence[Token], at: At) -> Abstract | None:
        """A lone macro's value with the `#define` that makes it."""
        if len(tokens) != 1 or tokens[0].kind != "name":
            return None
        if self.view.macros.simple(tokens[0].text, at) is None:
            return None
        from occlsp.source.conversion import evaluate_text
        from occlsp.source.syntax import Expr

        scope = FlowScope(self, self.state)
        scope.at = at
        return evaluate_text(Expr(tokens[0].text, Span(0, 0)), scope, None)

    def declare(self, item: Declaration, start: int) -> None:
        state = self.state
        if item.initial and len(item.initial) > 1:  # a word or a number alone changes nothing
            self.side_effects(item.initial)
        self.share(item)
        self.construct(item)
        if item.name not in self.names:
            self.hide(item.name, f"{item.type}[?]" if item.is_array else item.type)
            return
        if types.is_reference(item.type):
            self.hide(item.name, item.type)
            state.variables[item.name] = unknown(f"{item.name} is a reference")
            return
        value = self.initial(item, start)
        if self.is_set_later(item, start):
            why = f"{item.name} is set later, too"
            value = unknown_dim(why) if isinstance(value, Dim) else unknown(why)
        self.dependents.declare(item, start)
        fields = {}
        if isinstance(value, Number) and "Config" in item.type:
            fields = {k: state.variables[k] for k in self.keys_of(item.name) if k != item.name}
        kind = f"{item.type}{extents(item, start, self)}" if item.is_array else item.type
        self.hide(item.name, kind)
        state.variables[item.name] = value
        if item.is_array and not item.is_function_pointer:
            fields |= elements(item, start, self)
        if fields:
            state.variables.update(fields)
            self.parted.add(item.name)

    def share(self, item: Declaration) -> None:
        """A reference to a variable, or a pointer to an array's elements: what is done by it is not
        followed."""
        is_pointer = item.type.rstrip().endswith(("*", "auto")) and "const" not in item.type
        if item.initial and (is_pointer or types.is_reference(item.type)):
            self.share_named(item.initial, arrays_only=is_pointer)

    def construct(self, item: Declaration) -> None:
        """What the constructor of an object may do to the variables that it is given."""
        callee = types.plain(item.type).partition("<")[0]
        given = item.initial if item.form in ("(", "{") else None
        for position, part in enumerate(split_arguments(given or ())):
            if len(part) == 1 and part[0].kind == "name":
                self.apply_change(Change(part[0].text, callee, position, is_statement=False))

    def share_named(self, tokens: Sequence[Token], *, arrays_only: bool) -> None:
        """What tokens name is known by another name, too."""
        for index, token in enumerate(tokens):
            if token.kind != "name" or token.text not in self.state.variables:
                continue
            is_part = [one.text for one in tokens[index + 1 : index + 2]] == ["["]
            is_array = self.state.types.get(token.text, "").endswith("]")
            if not arrays_only or (is_array and not is_part):
                self.spoil(token.text, f"{token.text} is shared by a reference")

    def is_set_later(self, item: Declaration, start: int) -> bool:
        """Whether a variable that keeps its value between calls, or stands for another that it does
        not change itself, may have another value than where it is declared."""
        tokens = item.initial or ()
        last = start + max((token.start for token in tokens), default=0)
        if "static" in item.type and not types.is_constant(item.type):
            rest = self.body.text[last:]
            return any(map(self.may_change, changes(tokenize(rest), {item.name})))
        if not item.type.rstrip().endswith("&"):
            return False
        named = [token.text for token in tokens if token.kind == "name"]
        return self.is_changed_behind(named, last)

    def is_changed_behind(self, names: Iterable[str], offset: int) -> bool:
        """Whether anything behind an offset may change one of some names."""
        wanted = set(names)
        changes = self.slice.changes(offset, len(self.text))
        return any(one.name in wanted and self.may_change(one) for one in changes)

    def initial(self, item: Declaration, start: int) -> Abstract:
        kind = types.plain(item.type)
        if item.is_array:
            return Place(item.name)
        if item.form == ":":
            return of_range(item, start, self)
        scope = FlowScope(self, self.state)
        resolved = scope.type_text(kind)
        tokens = list(item.initial or ())
        if resolved == "dim3":
            return self.dim_initial(item, tokens, start)
        if not item.form or (not tokens and item.form != "="):
            if item.form == "{" and (types.integer(resolved) or "Config" in kind):
                return (
                    to_number(unknown(f"{item.name} is an object"))
                    if "Config" in kind
                    else converted(_ZERO, kind, scope)
                )
            return not_set(item.name)
        if kind.endswith(("Config_t", "cudaLaunchConfig")):
            return self.configuration(item, tokens, start)
        if item.form == "=" and tokens and tokens[0].text == "{" and types.integer(resolved):
            tokens = tokens[1:-1] or tokens  # `int n = {64}`
        if item.form in ("(", "{") and len(split_arguments(tokens)) > 1:
            return unknown(f"{item.name} is an object")
        value = self.evaluated(tokens, start)
        if item.is_function_pointer or kind.endswith("*"):
            return value if not isinstance(value, Number) else unknown(value.why or "a pointer")
        return self.named(converted(value, kind, scope), item.name, tokens, start)

    def dim_initial(self, item: Declaration, tokens: list[Token], start: int) -> Abstract:
        if not item.form or not tokens:
            return Dim(((ONE, ONE, ONE),))
        if item.form == "=":
            value: Abstract = to_dim(self.evaluated(tokens, start))
        else:
            opening = Token("op", "{", tokens[0].start)
            closing = Token("op", "}", tokens[-1].start)
            value = to_dim(self.evaluated([opening, *tokens, closing], start))
        return self.named(value, item.name, tokens, start)

    def configuration(self, item: Declaration, tokens: list[Token], start: int) -> Abstract:
        """`cudaLaunchConfig_t c = {grid, block, smem, stream}`, designated or not; or zeros."""
        inner = tokens
        if item.form == "=" and tokens and tokens[0].text == "{":
            inner = tokens[1:-1]
        fields = ("gridDim", "blockDim", "dynamicSmemBytes", "stream", "attrs", "numAttrs")
        parts = split_arguments(inner)
        self.parted.add(item.name)
        self.state.variables[f"{item.name}.dynamicSmemBytes"] = _ZERO
        if len(parts) == 1 and parts[0] and parts[0][0].text == "0":
            return unknown(f"{item.name} is an object")
        for position, part in enumerate(parts[:6]):
            key = fields[position]
            if len(part) > 3 and part[0].text == "." and part[2].text == "=":
                key, part = part[1].text, part[3:]
            self.state.variables[f"{item.name}.{key}"] = self.evaluated(part, start)
        return unknown(f"{item.name} is an object")

    def named(self, value: Abstract, name: str, tokens: Sequence[Token], start: int) -> Abstract:
        """The value as this assignment makes it: a symbol of its own, and its place."""
        if not isinstance(value, Number | Dim) or not tokens:
            return value
        first, last = tokens[0], tokens[-1]
        body = self.body
        begin = first.start + start + body.base
        definition = None
        if body.seen_from is None and first.start >= 0 and last.start >= 0:
            span = Span(begin, last.start + len(last.text) + start + body.base)
            definition = named_definition(value, body.path, span, name)
        if isinstance(value, Dim):
            return value if definition is None else value.defined(definition)
        own = itself((f"{body.path}:{name}", begin))
        follows = value.linear if own in value.linear else (*value.linear, own)
        return value.defined(definition or value.definition, follows)

    def assign(self, target: list[Token], op: str, tokens: list[Token], start: int) -> None:
        nested = assignment(tokens)
        if nested is not None:
            self.assign(list(nested.target), nested.op, list(nested.value), start)
            tokens = list(nested.target)
        else:
            self.side_effects(tokens)
        if len(target) == 1:  # what a configuration holds is only read
            self.share_named(tokens, arrays_only=True)
        scope = FlowScope(self, self.state)
        node = ast.parse(target)
        key = place(node, scope)
        if key is None:
            self.unknown_target(target)
            return
        root = root_of(key)
        if root not in self.names and root not in self.state.variables:
            return
        value = self.evaluated(tokens, start)
        if op != "=":
            old = evaluate(node, scope)
            value = binary(op[:-1], to_number(old), to_number(value))
        self.store(key, value, tokens, start)

    def store(self, key: str, value: Abstract, tokens: list[Token], start: int) -> None:
        variables = self.state.variables
        head, _, last = key.rpartition(".")
        if last in ("x", "y", "z") and head and isinstance(variables.get(head), Dim):
            number = self.named(to_number(value), key, tokens, start)
            variables[head] = with_component(variables[head], last, to_number(number))  # type: ignore[arg-type]
            return
        kind = self.state.types.get(key, "")
        if isinstance(variables.get(key), Dim) or types.plain(kind) == "dim3":
            value = to_dim(value)
        elif kind and not isinstance(value, Place):
            value = converted(value, kind, FlowScope(self, self.state))
        root = root_of(key)
        if root in self.parted:
            for name in [k for k in variables if k.startswith((f"{key}.", f"{key}["))]:
                del variables[name]
        if root != key:
            self.parted.add(root)
        variables[key] = self.named(value, key, tokens, start)

    def unknown_target(self, target: list[Token]) -> None:
        """`*p = …`, `a[i] = …`, `(c ? a : b) = …`: the named variables are not known any more, an
        index still is."""
        depth = 0
        for token in target:
            depth += (token.text == "[") - (token.text == "]")
            if depth == 0 and token.kind == "name" and token.text in self.state.variables:
                self.spoil(token.text, f"{token.text} is changed in part")

    def local_enum(self, tokens: Sequence[Token]) -> None:
        opening = next((i for i, t in enumerate(tokens) if t.text == "{"), None)
        if opening is None:
            return
        last: Number | None = None
        for part in split_arguments(list(tokens[opening + 1 : -1])):
            if not part or part[0].kind != "name":
                return
            if len(part) > 2 and part[1].text == "=":
                last = to_number(self.evaluated(part[2:], 0))
            else:
                last = _ZERO if last is None else binary("+", last, ONE)
            self.state.variables[part[0].text] = last
            self.state.types[part[0].text] = "const int"


def root_of(key: str) -> str:
    """The variable that a key stands for a part of."""
    return key if key.isidentifier() else key.split(".", 1)[0].split("[", 1)[0]


_ZERO = Number(types.integer("int"), (0,), 0, 0)
