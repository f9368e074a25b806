"""Queries in a language whose words the embedder translates are weighed as such, and other ones as look-ups."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Mind


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mixed") / "memory.db"
    with Mind(path) as mind:
        mind.remember("Ich habe mir gestern ein neues Fahrrad gekauft.", id="bicycle")
        mind.remember("我昨天在医院看了医生。", id="doctor")
        mind.remember("Notre chat dort sur le canapé.", id="cat")
    return path


@pytest.mark.parametrize(
    ("query", "first", "kind"),
    [
        ("Womit fahre ich seit gestern zur Arbeit?", "bicycle", "translated"),
        ("我昨天为什么去看病？", "doctor", "translated"),
        ("Où est-ce que notre chat aime dormir?", "cat", "lookup"),
        ("what did the physician say to me?", "doctor", "stated"),
    ],
)
def test_the_language_of_a_query_decides_about_the_weights(mixed: Path, query: str, first: str, kind: str) -> None:
    with Mind(mixed) as mind:
        found = mind.recall(query, k=1)
        assert found[0].id == first
        assert f"material: {kind}" in str(found.trace) or f"'material': '{kind}'" in str(found.trace.as_dict())
