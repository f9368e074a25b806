"""Snippets: the lines that answer, short enough to be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.snippets import snippet

NOTE = "# Tea\n\nWe drink it at noon.\nAnna likes it green.\n\n- bread\n- butter"


@pytest.mark.parametrize(
    ("query", "most", "expected"),
    [
        ("when do we drink?", 25, "We drink it at noon."),
        ("does Anna like tea?", 25, "Anna likes it green."),
        ("liking", 25, "Anna likes it green."),
        ("butter", 17, "- bread - butter"),
        ("nothing of it", 25, "We drink it at noon."),
        ("Anna", 300, "We drink it at noon. Anna likes it green. - bread - butter"),
    ],
)
def test_the_lines_that_answer_are_shown(query: str, most: int, expected: str) -> None:
    assert snippet(NOTE, query, most) == expected


def test_a_heading_is_shown_when_there_is_nothing_else() -> None:
    assert snippet("# Tea", "tea") == "# Tea"
    assert snippet(" \n", "tea") == ""


def test_a_long_line_is_cut_around_what_was_asked() -> None:
    shown = snippet("word " * 200 + "the heron flew " + "word " * 200, "heron", 100)
    assert "heron flew" in shown
    assert (shown[0], shown[-1]) == ("…", "…")


def test_words_of_scripts_without_spaces_are_found_inside_lines() -> None:
    assert snippet("今天天气很好\n杯子在桌子上", "杯子", 8) == "杯子在桌子上"


@given(st.text(), st.text(), st.integers(10, 100))
def test_a_snippet_is_short_and_on_one_line(text: str, query: str, most: int) -> None:
    shown = snippet(text, query, most)
    assert len(shown) <= most + 2
    assert "\n" not in shown
