"""Notes as paragraphs with their lines and headings, and what they say of themselves."""

from __future__ import annotations

import pytest

from recollect.systems.abmind.cues import front_matter, paragraphs

ABOUT = "---\nTopic: work\nuser: 'anna'\nno field\n---\n"
NOTE = f"{ABOUT}# Week 10\nFirst\nline.\n\n\n## Later #\n \nSecond.\r\n#no heading\n"


def test_paragraphs_know_their_lines_and_the_heading_above_them() -> None:
    found = [(each.text, each.first, each.last, each.heading) for each in paragraphs(NOTE)]
    assert found == [("First\nline.", 7, 8, "Week 10"), ("Second.\n#no heading", 13, 14, "Later")]
    lines = NOTE.splitlines()
    assert all("\n".join(lines[first - 1 : last]) == text for text, first, last, _ in found)


def test_what_a_note_says_of_itself_is_no_paragraph() -> None:
    assert front_matter(NOTE) == {"topic": "work", "user": "anna"}


@pytest.mark.parametrize("text", ["", "\n\n", "# Only\n\n## headings", "---\ntopic: work\n---"])
def test_a_note_without_a_paragraph_has_none(text: str) -> None:
    assert list(paragraphs(text)) == []


@pytest.mark.parametrize("text", ["---\nnever closed", "topic: work\n---", "text\n---\nmore"])
def test_a_line_of_dashes_elsewhere_is_text(text: str) -> None:
    assert front_matter(text) == {}
    assert "".join(each.text for each in paragraphs(text)) == text
