"""The names that a function gives to types."""

from __future__ import annotations

import re

from occlsp.source import types
from occlsp.source.state import Constant

_USING = re.compile(r"using\s+(\w+)\s*=\s*([^;]+)", re.S)
_TYPEDEF = re.compile(r"typedef\s+(.+?)\s+(\w+)\s*;?$", re.S)


class LocalTypes:
    """What a body that is followed calls types by, as far as it is come."""

    local_types: dict[str, str]
    constants: dict[tuple[str, tuple[str, ...] | None], Constant]
    """What names and template arguments were found to mean outside of the body."""

    def local_alias(self, text: str) -> None:
        """Takes in `using X = …;` and `typedef … X;`."""
        match = _USING.match(text.strip())
        if match:
            self.name_type(match[1], types.plain(match[2].rstrip("; ")))
            return
        match = _TYPEDEF.match(text.strip())
        if match:
            self.name_type(match[2], types.plain(match[1]))

    def name_type(self, name: str, target: str) -> None:
        """Takes in what a name stands for, which others may mean, too."""
        if self.local_types.get(name) != target:
            self.local_types[name] = target
            self.constants.clear()
