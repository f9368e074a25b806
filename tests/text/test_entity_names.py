"""Names in texts: where a sentence begins decides whether a capitalised word is one."""

from __future__ import annotations

import pytest

from recollect.text.entity_names import find_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Cups are blue.", []),
        ("We met Anna.", ["Anna"]),
        ("It rained. Cups broke.", []),
        ("It rained.\n\n  Cups broke.", []),
        ("He said “Cups are blue” and left (Cups too).", []),
        ("It rained – Cups broke; Saucers, too; then Anna came", ["Anna"]),
        ("Anna came. We saw Anna.", ["Anna"]),
    ],
)
def test_a_word_at_the_beginning_of_a_sentence_is_no_name(text: str, names: list[str]) -> None:
    assert find_names(text) == names


def test_a_long_text_of_short_sentences_is_read_once() -> None:
    """Looking back from each word to the beginning of the text took 8 s of CPU for 100,000 characters."""
    assert find_names("A. ```" * 16_000 + " We met Anna.") == ["Anna"]
