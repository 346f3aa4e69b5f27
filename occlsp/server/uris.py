"""Which documents are ours, and what file a URI means."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePath
from urllib.parse import unquote, urlsplit

CUDA_SUFFIXES = frozenset({".cu", ".cuh"})
CXX_SUFFIXES = frozenset(
    {".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".h++", ".inl", ".inc",
     ".ipp", ".tpp", ".impl"}
)  # fmt: skip
LANGUAGES = frozenset({"cuda", "cuda-cpp", "cpp", "c"})
_DRIVE = re.compile(r"^/[A-Za-z]:")


def to_path(uri: str) -> str | None:
    """The absolute path of a `file:` URI; None for any other, or one that is malformed."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path, errors="surrogateescape")
    if parts.scheme != "file" or not path or "\0" in path:
        return None
    if parts.netloc not in {"", "localhost"}:
        path = f"//{parts.netloc}{path}"
    elif _DRIVE.match(path):
        path = path[1:]
    return os.path.normpath(path)


def from_path(path: str) -> str:
    """The `file:` URI of an absolute path."""
    return Path(path).as_uri()


def is_ours(path: str, language: str | None) -> bool:
    """Whether a file may hold CUDA code: the path decides, the client's language where the path
    does not tell (a user's own mapping of some other suffix)."""
    suffix = PurePath(path).suffix.lower()
    return suffix in CUDA_SUFFIXES or suffix in CXX_SUFFIXES or language in LANGUAGES
