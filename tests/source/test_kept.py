"""What is kept of pieces of text is bounded by their size."""

from __future__ import annotations

from occlsp.source.kept import Kept


def test_what_was_not_asked_for_the_longest_goes() -> None:
    kept: Kept[str, int] = Kept(10)
    kept.put("a", 1, 4)
    kept.put("b", 2, 4)
    assert kept.get("a") == 1
    kept.put("c", 3, 4)
    assert [kept.get(key) for key in "abc"] == [1, None, 3]


def test_what_is_too_large_is_not_kept_and_takes_nothing_else_with_it() -> None:
    kept: Kept[str, int] = Kept(10)
    kept.put("small", 1, 5)
    assert kept.put("large", 2, 11) == 2
    assert (kept.get("small"), kept.get("large")) == (1, None)


def test_a_key_that_is_put_again_counts_once() -> None:
    kept: Kept[str, int] = Kept(10)
    for _ in range(5):
        kept.put("a", 1, 6)
    kept.put("b", 2, 4)
    assert (kept.get("a"), kept.get("b")) == (1, 2)
