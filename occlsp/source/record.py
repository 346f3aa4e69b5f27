"""Values that nobody changes, cheap to make: evaluation makes hundreds of thousands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

__all__ = ["record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(*, frozen: bool, slots: bool) -> Any:
        """A frozen data class for who checks types; at run time it is one that is compared and
        hashed by its fields: to hold fast each of them makes a value several times as dear."""
        return lambda kind: _as_values(dataclass(slots=slots, unsafe_hash=frozen)(kind))


def _as_values(kind: Any) -> Any:
    """Has a class pickled by its values alone: scans hand many from one process to another."""
    names = tuple(kind.__dataclass_fields__)

    def state(self: object) -> list[object]:
        return [getattr(self, name) for name in names]

    def restore(self: object, values: list[object]) -> None:
        for name, value in zip(names, values, strict=True):
            setattr(self, name, value)

    kind.__getstate__ = state
    kind.__setstate__ = restore
    return kind
