"""A text's words: where each stands, and which stand by themselves."""

from __future__ import annotations

from occlsp.source.words import Words

TEXT = "int f = g(1.0f, a.b->c); // f2\nf += b;"


def test_names_are_found_where_they_stand_by_themselves() -> None:
    words = Words(TEXT)
    assert words.places_of("f") == [4, TEXT.index("f +=")]
    assert words.places_of("b") == [TEXT.index("b->"), TEXT.index("b;")]
    assert words.places_of("x") == []


def test_what_stands_between_words_is_told() -> None:
    words = Words(TEXT)
    (number,) = words.named("g")
    assert (words.gaps[number], words.gaps[number + 1]) == (" = ", "(1.0f, ")
    assert "".join(map("".join, zip(words.gaps, [*words.all, ""], strict=True))) == TEXT


def test_members_are_not_bare() -> None:
    assert Words(TEXT).bare(0, TEXT.index(";")) == {"int", "f", "g", "a"}
    assert Words(TEXT).bare(TEXT.index("b->"), TEXT.index("c")) == set()


def test_marks_are_in_the_order_of_the_text() -> None:
    assert [mark for _, mark in Words("f(\x01a[1];\x03) {}").marks] == list("(\x01[];\x03){}")
