"""German and Chinese texts, which the local model reads word by word in English."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from recollect import Mind
from recollect.embed import embed_texts, embed_with_sketches
from recollect.embed.local import LocalEmbedder, LocalEmbedderV2
from recollect.embed.minilm import glossary
from recollect.embed.minilm.glossary import FOLDER, LANGUAGES, gloss

FILES = [FOLDER / f"{language}.txt" for language in LANGUAGES]
ENGLISH = [
    "The blue cup is on the top shelf.",
    "Gift shop, hand cream, warm bath",
    "Where was the war?",
    "Die Hard",
    "",
]


def english(text: str) -> str | None:
    return found.english if (found := gloss(text)) else None


@pytest.mark.parametrize("file", FILES, ids=LANGUAGES)
def test_every_word_is_listed_once(file: Path) -> None:
    lines = file.read_text("utf-8").splitlines()
    parts = [line.split(": ") for line in lines]
    assert all(len(each) == 2 and all(each) for each in parts), "a line is “english: word word”"
    words = Counter(word for _, listed in parts for word in listed.split(" "))
    assert [word for word, count in words.items() if count > 1 or not word or word != word.lower()] == []
    assert len(words) > 4_000


def test_another_glossary_has_another_name() -> None:
    """Vectors of one name must be the same everywhere. Where this fails, change the name of ``LocalEmbedder``, too."""
    digest = sha256(b"".join(file.read_bytes() for file in FILES)).hexdigest()[:12]
    assert (LocalEmbedder.name, digest) == ("all-MiniLM-L6-v2-int8-glossed", "75d167afbc45")


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_read_as_it_is(text: str) -> None:
    assert english(text) is None
    assert embed_texts(LocalEmbedder(), [text]).tolist() == embed_texts(LocalEmbedderV2(), [text]).tolist()
    assert embed_with_sketches(LocalEmbedder(), [text])[0][1] == embed_with_sketches(LocalEmbedderV2(), [text])[0][1]


def test_words_are_found_by_form_by_stem_and_by_the_parts_of_compounds() -> None:
    assert english("Wo ist der Hund?") == "where is the dog ?"
    assert english("Wo sind die Hausschlüssel?") == "where are the house key ?"
    assert english("Zahnarzttermin Freitag") == "dentist appointment friday"  # no function word tells the language


def test_names_and_identifiers_stay_as_they_are() -> None:
    found = english("Wann hat Xaverl das Ticket OPS-4711 an max_retries geschickt?")
    assert found is not None
    assert {"Xaverl", "OPS", "4711", "max_retries"} <= set(found.split())


def test_chinese_is_read_word_by_word_without_particles() -> None:
    assert english("我的狗在吃苹果吗？") == "my dog in eat apple ？"


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("Wo hat Anna ihre Schlüssel gelassen?", "Anna left her keys in the garage."),
        ("谁对花生过敏？", "Tom is allergic to peanuts."),
        ("Where did I put my umbrella?", "Den Regenschirm habe ich im Büro vergessen."),
        ("How much is the rent?", "房租每个月八百五十块。"),
        ("Wann fährt der Zug?", "火车早上七点出发。"),
    ],
)
def test_a_question_in_one_language_finds_a_memory_in_another(tmp_path: Path, question: str, right: str) -> None:
    with Mind(tmp_path / "memory.db") as mind:
        mind.remember("Anna left her keys in the garage.")
        mind.remember("Tom is allergic to peanuts.")
        mind.remember("Den Regenschirm habe ich im Büro vergessen.")
        mind.remember("房租每个月八百五十块。")
        mind.remember("火车早上七点出发。")
        mind.remember("The meeting was moved to Monday.")
        assert mind.recall(question)[0].text == right


def test_tokens_are_at_the_words_that_they_were_read_from() -> None:
    text = "  Der Hausschlüssel liegt bei Oma."
    (spans,), (tokens,) = LocalEmbedder().token_spans([text]), LocalEmbedder().token_vectors([text])
    assert tuple(span.token for span in spans) == tokens.tokens
    assert {text[span.start : span.end] for span in spans if span.token in ("house", "key")} == {"Hausschlüssel"}
    words = {word: tokens.tokens[pieces] for word, pieces in tokens.word_tokens()}
    assert words["hausschlüssel"] == ("house", "key")


def test_the_cache_keeps_the_words(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedding_cache=True) as mind:
        mind.remember("Den Regenschirm habe ich im Büro vergessen.", created="2026-11-01")
        mind.remember("Der Schrank im Büro ist zu klein.", created="2026-11-02")
        first, second = (mind.recall("Wo ist mein Schirm?", track=False, now="2026-11-18") for _ in range(2))
        assert [(each.id, each.score) for each in first] == [(each.id, each.score) for each in second]


def test_a_file_without_the_glossary_keeps_its_vectors(tmp_path: Path) -> None:
    path, text = tmp_path / "memory.db", "Den Regenschirm habe ich im Büro vergessen."
    with Mind(path, embedder=LocalEmbedderV2()) as mind:
        mind.remember(text)
    with Mind(path) as mind:
        assert mind.status().embedder == LocalEmbedderV2.name
        assert mind.recall("Wo ist der Regenschirm?")[0].text == text
    Mind.reembed(path)
    with Mind(path) as mind:
        assert mind.status().embedder == LocalEmbedder.name
        assert mind.recall("where is my umbrella?")[0].text == text


def test_a_long_text_is_read_to_the_limit() -> None:
    vectors = embed_texts(LocalEmbedder(), ["Der Hund schläft. " * 5_000, "我的狗在花园里。" * 5_000])
    assert np.isfinite(vectors).all()


def test_a_run_of_one_character_is_looked_up_in_short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """jieba takes it for one word of the whole length."""
    lookups: list[object] = []

    class Counting(dict[str, str]):
        def __contains__(self, word: object) -> bool:
            lookups.append(word)
            return super().__contains__(word)

    table = Counting(glossary._table("zh"))
    monkeypatch.setattr(glossary, "_table", lambda language: table)
    found = gloss("京" * 4000)
    assert found is not None
    assert {word.text for word in found.words} == {"京"}
    assert len(lookups) < 4000 * max(map(len, table))
