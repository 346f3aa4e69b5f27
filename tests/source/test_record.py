"""Records are pickled and changed by their values, however many they have."""

from __future__ import annotations

import pickle

import pytest

from occlsp.source.instances import Types
from occlsp.source.record import changed
from occlsp.source.text import Span
from occlsp.source.values import KernelName, Kernels, Place


@pytest.mark.parametrize(
    "record",
    [
        Types(("Shape<1>", "Shape<2>", "Shape<3>")),
        Types(()),
        Kernels((KernelName("k", ("1",)),)),
        Place("config.attrs"),
        Span(1, 2),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_record_comes_back_as_it_was(record: object) -> None:
    assert pickle.loads(pickle.dumps(record)) == record


def test_one_value_of_a_record_is_changed() -> None:
    assert changed(Types(("int",)), texts=("int", "float")) == Types(("int", "float"))
