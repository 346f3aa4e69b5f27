"""What of a kernel decides its compiled code: a hash that comments and layout do not change."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

from occlsp.source.syntax import FileSyntax, RawKernel
from occlsp.source.text import Span
from occlsp.source.view import View

_COMMENT = re.compile(rb"""//[^\n]*|/\*.*?\*/|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""", re.S)
_MARK = re.compile(rb" ?([^\w ]) ?")
_WORD = re.compile(rb"[A-Za-z_]\w*")

_FEATURES = {
    "wgmma": re.compile(rb"wgmma|warpgroup_(?:arrive|wait|commit|fence)"),
    "tcgen05": re.compile(rb"tcgen05|\bumma\b|sm100_mma"),
    "setmaxnreg": re.compile(rb"setmaxnreg|warpgroup_reg_(?:alloc|dealloc)"),
}
_FEATURE_WORDS = (b"wgmma", b"warpgroup_", b"tcgen05", b"umma", b"sm100_mma", b"setmaxnreg")


def features(text: bytes, body: Span | None) -> frozenset[str]:
    """What in a body is built for low occupancy."""
    if body is None:
        return frozenset()
    small = text[slice(*body)].lower()
    if not any(word in small for word in _FEATURE_WORDS):
        return frozenset()
    return frozenset(name for name, found in _FEATURES.items() if found.search(small))


@lru_cache(maxsize=1024)  # each holds a kernel's text twice
def tokens_of(text: bytes) -> bytes:
    """The text without comments, and with the white space that tokens need only."""
    bare = _COMMENT.sub(lambda match: match[1] or b" ", text)
    return _MARK.sub(rb"\1", b" ".join(bare.split()))


def fingerprint(syntax: FileSyntax, kernel: RawKernel, view: View) -> str:
    """Hash of a definition, and of the macros and constants that it names."""
    if kernel.body is None:
        return ""
    digest = blake2b(digest_size=12)
    digest.update(tokens_of(syntax.text[kernel.span.start : kernel.span.end]))
    names = {word.decode() for word in set(_WORD.findall(syntax.masked, *kernel.span))}
    seen: set[str] = set()
    for name in sorted(names & view.value_names):
        _add(digest, name, view, seen)
    return digest.hexdigest()


def _add(digest: blake2b, name: str, view: View, seen: set[str]) -> None:
    """A macro or constant with those that it is made of."""
    if name in seen or len(seen) > 500:
        return
    seen.add(name)
    texts = [item.define.body.text for item in view.defines(name)]
    texts += [constant.value.text for _, constant in view.constants(name) if constant.value]
    for text in texts:
        digest.update(f"{name}={' '.join(text.split())};".encode())
        for match in _WORD.finditer(text.encode()):
            word = match.group().decode()
            if word in view.value_names:
                _add(digest, word, view, seen)
