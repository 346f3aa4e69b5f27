"""Names for contents: of bytes, and of files, remembered while size and time stay."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Digests:
    """Digests of files' contents, remembered while size and time stay."""

    known: dict[str, tuple[tuple[int, int, int], str]] = field(default_factory=dict)

    def of(self, path: str) -> str | None:
        """The digest of the file's content; None where it cannot be read."""
        try:
            status = os.stat(path)  # noqa: PTH116  (hundreds a lookup)
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            known = self.known.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            made = digest(Path(path).read_bytes())
        except (OSError, ValueError):
            return None
        # A file written within the clock's grain could change again under the same time.
        if time.time_ns() - status.st_mtime_ns > 50_000_000:
            self.known[path] = (stamp, made)
        return made


def digest(*parts: bytes) -> str:
    """A name for this content; the lengths of the parts count."""
    made = hashlib.blake2b(digest_size=20)
    for part in parts:
        made.update(b"%d:" % len(part))
        made.update(part)
    return made.hexdigest()
