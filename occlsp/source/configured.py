"""Launches whose configuration was built field by field."""

from __future__ import annotations

from occlsp.source import shown, types
from occlsp.source.evaluate import evaluate, place
from occlsp.source.facts import Value3
from occlsp.source.names import StaticScope
from occlsp.source.numbers import Number, convert, unknown
from occlsp.source.syntax import (
    Expr,
    RawLaunch,
)
from occlsp.source.text import Span
from occlsp.source.values import (
    Abstract,
    Dim,
    Place,
    to_dim,
    to_number,
    unknown_dim,
)


class Configured:
    """A launch whose configuration was built field by field."""

    def __init__(self, raw: RawLaunch, scope: StaticScope) -> None:
        self.scope = scope
        why = "the configuration is not built in this function"
        self.grid: Abstract = unknown_dim(why)
        self.block: Abstract = unknown_dim(why)
        self.memory: Abstract = unknown(why)
        self.cluster: Value3 | None = None
        self.cooperative = False
        key = self.key(raw.arguments[0]) if raw.arguments else None
        if key is None:
            return
        self.grid = self.field(key, ("gridDim",), ("gridDimX", "gridDimY", "gridDimZ"), why)
        self.block = self.field(key, ("blockDim",), ("blockDimX", "blockDimY", "blockDimZ"), why)
        for name in ("dynamicSmemBytes", "sharedMemBytes"):
            value = scope.member(f"{key}.{name}")
            if value is not None:
                self.memory = value
        self.attributes(key)

    def key(self, expr: Expr) -> str | None:
        nodes = self.scope.nodes(expr.text)
        if len(nodes) != 1:
            return None
        value = evaluate(nodes[0], self.scope)
        if isinstance(value, Place):
            return value.key
        return place(nodes[0], self.scope)

    def field(
        self, key: str, whole: tuple[str, ...], single: tuple[str, ...], why: str
    ) -> Abstract:
        for name in whole:
            value = self.scope.member(f"{key}.{name}")
            if value is not None:
                return to_dim(value)
        parts = [self.scope.member(f"{key}.{name}") for name in single]
        if all(part is not None for part in parts):
            unsigned = types.integer("unsigned")
            x, y, z = (convert(to_number(part), unsigned) for part in parts)
            return Dim(((x, y, z),))
        return unknown_dim(why)

    def attributes(self, key: str) -> None:
        scope = self.scope
        array = scope.member(f"{key}.attrs")
        count = scope.member(f"{key}.numAttrs")
        if not isinstance(array, Place):
            return
        total = to_number(count).high
        for index in range(min(total if total is not None else 4, 16)):
            prefix = f"{array.key}[{index}]" if "[" not in array.key else array.key
            name = scope.variables.get(f"{prefix}.id")
            if name is None and index == 0 and f"{array.key}.id" in scope.variables:
                prefix = array.key
                name = scope.variables[f"{prefix}.id"]
            why = name.why if isinstance(name, Number) and name.why else ""
            if "ClusterDimension" in why or "CLUSTER_DIMENSION" in why:
                self.cluster = self.cluster_of(prefix)
            elif "Cooperative" in why or "COOPERATIVE" in why:
                value = scope.variables.get(f"{prefix}.val.cooperative")
                self.cooperative = to_number(value).value != 0

    def cluster_of(self, prefix: str) -> Value3:
        unsigned = types.integer("unsigned")
        parts = []
        for name in "xyz":
            for holder in ("val", "value"):
                value = self.scope.variables.get(f"{prefix}.{holder}.clusterDim.{name}")
                if value is not None:
                    break
            parts.append(convert(to_number(value, "not set"), unsigned))
        return shown.value3(Expr("", Span(0, 0)), Dim(((parts[0], parts[1], parts[2]),)))
