"""What is kept and sent to other processes comes back as it was, however many values it has."""

from __future__ import annotations

import pickle

import pytest

from occlsp.source.instances import Types
from occlsp.source.text import Span
from occlsp.source.values import KernelName, Kernels, Place


@pytest.mark.parametrize(
    "kept",
    [
        Types(("Shape<1>", "Shape<2>", "Shape<3>")),
        Types(()),
        Kernels((KernelName("k", ("1",)),)),
        Place("config.attrs"),
        Span(1, 2),
    ],
    ids=lambda kept: type(kept).__name__,
)
def test_it_comes_back_as_it_was(kept: object) -> None:
    assert pickle.loads(pickle.dumps(kept)) == kept
