"""Whether two spellings mean one file, by text alone."""

from __future__ import annotations

import posixpath


def same_file(reported: str, path: str) -> bool:
    """Whether `reported`, as a compiler wrote it (it may be relative to an unknown folder), can
    be `path`: equal, or the same from the last folder that `reported` names."""
    ours = path.replace("\\", "/")
    theirs = posixpath.normpath(reported.replace("\\", "/"))
    if theirs == ours:
        return True
    if theirs.startswith("/"):
        return False
    while theirs.startswith("../"):
        theirs = theirs[3:]
    return ours.endswith("/" + theirs) or ours == theirs
