"""What of a kernel decides its compiled code: a hash that comments and layout do not change."""

from __future__ import annotations

import re
from hashlib import blake2b

from occlsp.source.mask import literals
from occlsp.source.syntax import FileSyntax, RawKernel
from occlsp.source.text import Span
from occlsp.source.view import View

_BETWEEN_WORDS = re.compile(rb" (?<=\w )(?=\w)")
_NEEDED = bytes.maketrans(b"\0", b" ")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_WORDS = re.sub(rb"\W", b" ", bytes(range(256)))
"""Blanks what is in no word."""

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
    small = text[body.start : body.end].lower()
    if not any(word in small for word in _FEATURE_WORDS):
        return frozenset()
    return frozenset(name for name, found in _FEATURES.items() if found.search(small))


def tokens_of(text: bytes, code: bytes) -> bytes:
    """A text without comments, and with the white space that tokens need only; `code` is the
    text with its comments and literals blanked. The literals are at the end."""
    bare = b" ".join(code.split())
    parts = [_BETWEEN_WORDS.sub(b"\0", bare).translate(_NEEDED, b" ")]
    if b'"' in text or b"'" in text:
        parts += [text[start:end] for start, end, comment in literals(text, 0) if not comment]
    return b"\n".join(parts)


def words_of(code: bytes) -> list[str]:
    """The words of a code without comments and literals, and its numbers."""
    return code.translate(_WORDS).decode("latin-1").split()


def fingerprint(syntax: FileSyntax, kernel: RawKernel, view: View) -> str:
    """Hash of a definition, and of the macros and constants that it names."""
    if kernel.body is None:
        return ""
    digest = blake2b(digest_size=12)
    text = syntax.text[kernel.span.start : kernel.span.end]
    code = syntax.masked[kernel.span.start : kernel.span.end]
    digest.update(tokens_of(text, code))
    names = set(words_of(code))
    seen: set[str] = set()
    for name in sorted(view.values_among(names)):
        _add(digest, name, view, seen)
    return digest.hexdigest()


def _add(digest: blake2b, name: str, view: View, seen: set[str]) -> None:
    """A macro or constant with those that it is made of."""
    if name in seen or len(seen) > 500:
        return
    seen.add(name)
    said = view.spelled.get(name)
    if said is None:
        said = view.spelled[name] = _spelled(name, view)
    for text, words in said:
        digest.update(text)
        for word in words:
            _add(digest, word, view, seen)


def _spelled(name: str, view: View) -> list[tuple[bytes, list[str]]]:
    """What a macro or constant says, each time with the macros and constants in it. One that many
    kernels name may be defined anew for each of them: it is read once."""
    texts = [item.define.body.text for item in view.defines(name)]
    texts += [constant.value.text for _, constant in view.constants(name) if constant.value]
    said = []
    for text in texts:
        words = [match.decode() for match in _WORD.findall(text.encode())]
        values = view.values_among(set(words))
        spelled = f"{name}={' '.join(text.split())};".encode()
        said.append((spelled, [word for word in words if word in values]))
    return said
