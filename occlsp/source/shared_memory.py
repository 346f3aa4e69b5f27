"""Shared memory that a kernel's source declares, and whether it uses dynamic memory."""

from __future__ import annotations

import re

from occlsp.source import types
from occlsp.source.bodies import readable
from occlsp.source.evaluate import evaluate
from occlsp.source.fingerprint import words_of
from occlsp.source.flow import Interpreter
from occlsp.source.names import StaticScope
from occlsp.source.sizes import size_of
from occlsp.source.state import Body, FlowScope, State
from occlsp.source.syntax import FileSyntax, RawKernel, RawShared
from occlsp.source.values import to_number
from occlsp.source.view import View

_DECLARED = re.compile(rb"\b(?:const|constexpr|using|typedef)\b[^;]*")
_NAME = re.compile(r"[A-Za-z_]\w*")


def users_in_view(view: View) -> frozenset[str]:
    """The functions and classes in view that declare `extern __shared__`."""
    return frozenset().union(*(index.dynamic_users for index in view.indexes))


class SharedMemory:
    """The shared variables of one file, by the kernel that they are in."""

    def __init__(self, path: str, syntax: FileSyntax, view: View, users: frozenset[str]) -> None:
        self.path = path
        self.syntax = syntax
        self.view = view
        self.users = users

    def variables(self, kernel: RawKernel) -> list[RawShared]:
        """Those that stand in the kernel's body and may be active."""
        body = kernel.body
        if body is None:
            return []
        macros = self.view.macros
        return [
            shared
            for shared in self.syntax.shared
            if body.start <= shared.span.start < body.end
            and macros.active(shared.conditions, self.path) is not False
        ]

    def is_dynamic(self, kernel: RawKernel) -> bool:
        """Whether the kernel, or what it calls, declares `extern __shared__`."""
        if any(shared.is_extern for shared in self.variables(kernel)):
            return True
        if kernel.body is None or not self.users:
            return False
        body = self.syntax.masked[kernel.body.start : kernel.body.end]
        return not self.users.isdisjoint(words_of(body))

    def static_bytes(self, kernel: RawKernel, scope: StaticScope) -> int | None:
        """Bytes of the kernel's own declarations; None where any is not known."""
        variables = [v for v in self.variables(kernel) if not v.is_extern]
        if any(v.conditions != kernel.conditions and v.conditions for v in variables):
            maybe = [self.view.macros.active(v.conditions, self.path) for v in variables]
            if None in maybe:
                return None
        total = 0
        for variable in variables:
            size = self.size(variable, scope)
            if size is None:
                size = self.size_in_body(variable, kernel, scope)
            if size is None:
                return None
            alignment = self.alignment(variable, scope)
            total = -(-total // alignment) * alignment + size
        return total

    def size(self, variable: RawShared, scope: StaticScope) -> int | None:
        element = size_of(variable.type, scope)
        if element is None:
            return None
        for extent in variable.extents:
            values = {to_number(evaluate(n, scope)).value for n in scope.nodes(extent.text)}
            count = values.pop() if len(values) == 1 else None
            if count is None:
                return None
            element *= count
        return element

    def alignment(self, variable: RawShared, scope: StaticScope) -> int:
        if variable.alignment is not None:
            for node in scope.nodes(variable.alignment.text):
                value = to_number(evaluate(node, scope)).value
                if value is not None and 0 < value <= 4096:
                    return value
        size = types.size(scope.type_text(variable.type)) or 4
        return size if size in (1, 2, 4, 8, 16) else 4

    def size_in_body(
        self, variable: RawShared, kernel: RawKernel, scope: StaticScope
    ) -> int | None:
        """The size where constants of the body itself make it."""
        body = kernel.body
        names = set(_NAME.findall(" ".join([variable.type, *(e.text for e in variable.extents)])))
        if body is None or body.end - body.start > 200_000:
            return None
        base = body.start + 1
        raw = self.syntax.masked[base : body.end - 1].decode("latin-1")
        text = readable(raw, self.path, base, self.view.macros)
        declared = _DECLARED.findall(self.syntax.masked, base, variable.span.start)
        if names.isdisjoint(words_of(b" ".join(declared))):
            return None
        sizes: list[int | None] = []

        def handle(event: int, inner: FlowScope, state: State) -> None:
            sizes.append(self.size(variable, inner))

        interpreter = Interpreter(
            self.view,
            Body(text, self.path, base),
            kernel.scope,
            scope.template,
            {},
            [variable.span.start - base],
            names,
            handle,
        )
        interpreter.run()
        return sizes[0] if len(sizes) == 1 else None
