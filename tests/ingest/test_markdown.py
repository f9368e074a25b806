"""Markdown into chunks: exact lines, bounded sizes, and cuts where the writing pauses."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import InvalidInput
from recollect.ingest.chunking import CHARACTERS_PER_TOKEN, Chunk, ChunkSize
from recollect.ingest.markdown import find_date, parse_front_matter, parse_markdown, split_lines
from recollect.text.words import SPACELESS

SMALL = ChunkSize(40, 8)

line = st.one_of(
    st.sampled_from(
        [
            "",
            "   ",
            "# One",
            "## Two ##",
            "### Three",
            "#",
            "Title",
            "=====",
            "---",
            "```python",
            "```",
            "~~~",
            "- item",
            "  - nested item with a few words",
            "1. first",
            "| a | b |",
            "|---|---|",
            "> quoted",
            "    indented",
            "<!-- note -->",
            "日本語の文章はここで終わります。次の文です。",
        ]
    ),
    st.text("ab .!?#-|`~中", max_size=30),
    st.integers(1, 60).map(lambda count: " ".join(["word"] * count)),
    st.integers(1, 300).map(lambda count: "x" * count),
)
documents = st.lists(line, max_size=40).map("\n".join)
chunk_sizes = st.integers(1, 60).flatmap(lambda tokens: st.integers(0, tokens - 1).map(lambda n: ChunkSize(tokens, n)))


def size(text: str) -> int:
    return len(text) + (CHARACTERS_PER_TOKEN - 1) * sum(map(len, SPACELESS.findall(text)))


def texts(source: str, chunk_size: ChunkSize = SMALL) -> list[str]:
    return [chunk.text for chunk in parse_markdown(source, chunk_size).chunks]


@given(documents, chunk_sizes)
@settings(max_examples=300)
def test_a_chunk_is_the_text_of_its_lines(source: str, chunk_size: ChunkSize) -> None:
    lines = split_lines(source)
    for chunk in parse_markdown(source, chunk_size).chunks:
        here = "\n".join(lines[chunk.first - 1 : chunk.last])
        assert chunk.text == here or (chunk.text in here and is_cut(chunk, lines, chunk_size))


def is_cut(chunk: Chunk, lines: list[str], chunk_size: ChunkSize) -> bool:
    """Only a line that is too long for a chunk, or of which the overlap repeats the end, may be there in part."""
    ends = {chunk.first, chunk.last}
    too_long = any(size(lines[number - 1]) > chunk_size.tokens * CHARACTERS_PER_TOKEN for number in ends)
    return too_long or "\n".join(lines[chunk.first - 1 : chunk.last]).endswith(chunk.text)


@given(documents, chunk_sizes)
@settings(max_examples=300)
def test_every_line_with_content_is_in_a_chunk(source: str, chunk_size: ChunkSize) -> None:
    lines = split_lines(source)
    begin = parse_front_matter(lines).end
    covered = {
        number for chunk in parse_markdown(source, chunk_size).chunks for number in range(chunk.first, chunk.last + 1)
    }
    assert {number for number, line in enumerate(lines, 1) if line.strip() and number > begin} <= covered


@given(documents, chunk_sizes)
@settings(max_examples=300)
def test_no_character_is_lost(source: str, chunk_size: ChunkSize) -> None:
    lines = split_lines(source)
    begin = parse_front_matter(lines).end
    held = "".join(texts(source, chunk_size))
    for line in lines[begin:]:
        for word in line.split():
            assert word in held or size(line) > chunk_size.tokens * CHARACTERS_PER_TOKEN
    assert all(held.count(letter) >= "".join(lines[begin:]).count(letter) for letter in "abwx中")


@given(documents, chunk_sizes)
@settings(max_examples=300)
def test_no_chunk_is_larger_than_was_asked_for_nor_blank(source: str, chunk_size: ChunkSize) -> None:
    for text in texts(source, chunk_size):
        assert text.strip()
        assert size(text) <= max(chunk_size.tokens * CHARACTERS_PER_TOKEN, size(text[:1]))


@given(documents, chunk_sizes)
@settings(max_examples=300)
def test_chunks_go_forward(source: str, chunk_size: ChunkSize) -> None:
    for before, after in pairwise(parse_markdown(source, chunk_size).chunks):
        assert (after.first, after.last) >= (before.first, before.last)


@given(st.lists(st.integers(0, 60), max_size=30), chunk_sizes)
@settings(max_examples=300)
def test_at_most_the_overlap_is_repeated(counts: list[int], chunk_size: ChunkSize) -> None:
    numbers = iter(range(10_000))  # no two words are equal
    source = "\n".join(" ".join(f"w{next(numbers)}" for _ in range(count)) for count in counts)
    for before, after in pairwise(texts(source, chunk_size)):
        assert size(repeated(before, after)) <= chunk_size.overlap * CHARACTERS_PER_TOKEN


def test_nothing_is_repeated_twice_even_if_nearly_a_whole_chunk_may_be() -> None:
    source = " ".join(f"Sentence {number} ends." for number in range(2000))
    assert sum(map(len, texts(source, ChunkSize(500, 499)))) < 2.2 * len(source)


def repeated(before: str, after: str) -> str:
    """The longest end of a text with which another begins."""
    return next(before[at:] for at in range(len(before) + 1) if after.startswith(before[at:]))


def prose(paragraphs: int, sentences: int) -> str:
    """One line for each paragraph, as editors that wrap lines write them; every sentence is another."""
    return "\n\n".join(
        " ".join(f"In paragraph {p} the sentence {n} says what nobody else says." for n in range(sentences))
        for p in range(paragraphs)
    )


@pytest.mark.contract("O13")
@pytest.mark.parametrize("sentences", [3, 6, 10, 20, 21, 40])  # a sentence has about 14 tokens
def test_chunks_of_long_lines_overlap_too(sentences: int) -> None:
    source = prose(12, sentences)
    chunks = parse_markdown(source).chunks
    assert len(chunks) > 1
    for before, after in pairwise(chunks):
        assert 80 - 15 <= len(repeated(before.text, after.text)) / CHARACTERS_PER_TOKEN <= 80
        assert after.text.startswith("In paragraph")  # a whole sentence
        assert after.text.split("\n")[0] in source.split("\n")[after.first - 1]


@pytest.mark.contract("O13")
def test_a_long_line_without_sentences_is_repeated_by_words() -> None:
    words = [" ".join(f"word{p}x{n}" for n in range(100)) for p in range(6)]
    for before, after in pairwise(parse_markdown("\n\n".join(words)).chunks):
        assert 80 - 3 <= len(repeated(before.text, after.text)) / CHARACTERS_PER_TOKEN <= 80
        assert after.text.startswith("word")


def test_a_paragraph_that_nearly_fills_a_chunk_stays_whole_and_leaves_less_room_to_repeat() -> None:
    source = prose(4, 27)  # about 380 tokens each
    chunks = parse_markdown(source).chunks
    assert len(chunks) == 4
    for paragraph, chunk in zip(source.split("\n\n"), chunks, strict=True):
        assert paragraph in chunk.text
        assert len(chunk.text) <= 400 * CHARACTERS_PER_TOKEN


@given(documents)
def test_reading_twice_gives_the_same(source: str) -> None:
    assert parse_markdown(source, SMALL) == parse_markdown(source, SMALL)


def test_a_short_file_is_one_chunk() -> None:
    assert [(chunk.text, chunk.first, chunk.last) for chunk in parse_markdown("one\n\ntwo\n").chunks] == [
        ("one\n\ntwo", 1, 3)
    ]


def test_the_end_of_the_last_line_begins_no_other() -> None:
    assert (
        split_lines("a\nb\n") == split_lines("a\nb") == split_lines("a\r\nb\r\n") == split_lines("a\rb\r") == ["a", "b"]
    )
    assert split_lines("a\n\n") == ["a", ""]
    assert split_lines("") == split_lines("\n") == [""]


def test_a_blank_file_has_no_chunks() -> None:
    assert parse_markdown("").chunks == parse_markdown(" \n\n\t\n").chunks == parse_markdown("\ufeff").chunks == ()


def test_a_section_is_a_chunk_and_knows_the_headings_above_it() -> None:
    body = "word " * 20
    source = f"# Plan\n{body}\n## Money\n{body}\n### Cash\n{body}\n## Time\n{body}"
    found = [(chunk.first, chunk.last, chunk.headings) for chunk in parse_markdown(source, SMALL).chunks]
    assert found == [
        (1, 2, ("Plan",)),
        (3, 4, ("Plan", "Money")),
        (5, 6, ("Plan", "Money", "Cash")),
        (7, 8, ("Plan", "Time")),
    ]


def test_small_sections_share_a_chunk_under_what_they_have_in_common() -> None:
    (chunk,) = parse_markdown("# Plan\n\n## Money\nNone.\n\n## Time\nLittle.").chunks
    assert (chunk.headings, chunk.first, chunk.last) == (("Plan",), 1, 7)
    (chunk,) = parse_markdown("# Plan\n\n## Money\n" + "word " * 100).chunks
    assert chunk.headings == ("Plan", "Money")


def test_a_new_chapter_does_not_join_a_small_section_before_it() -> None:
    found = parse_markdown("## Small\nhere\n\n# Chapter\ntext").chunks
    assert [chunk.headings for chunk in found] == [("Small",), ("Chapter",)]


def test_an_underlined_heading_is_one() -> None:
    source = "Plan\n====\n" + "word " * 20 + "\n\nMoney\n-----\n" + "word " * 20
    assert [chunk.headings for chunk in parse_markdown(source, SMALL).chunks] == [("Plan",), ("Plan", "Money")]


@pytest.mark.parametrize(
    ("line", "headings"),
    [
        ("# Plan", ("Plan",)),
        ("  ##\tPlan ##", ("Plan",)),
        ("# C#", ("C#",)),
        ("# **Bold** `move`", ("Bold move",)),
        ("#tag", ()),
        ("####### seven", ()),
        ("    # indented", ()),
        ("#", ()),
        ("text # no", ()),
    ],
)
def test_what_is_a_heading(line: str, headings: tuple[str, ...]) -> None:
    assert parse_markdown(f"{line}\n\ntext").chunks[0].headings == headings


@pytest.mark.parametrize(
    "source",
    [
        "# " + " " * 200_000 + "x",
        "---\n" + "a" + " " * 200_000 + "\n---\n",
        "`" * 200_000,
        "." * 200_000 + ")" * 200_000,
        "[[" * 100_000,
        "中" * 400_000,
        "x" * 400_000,
        "#\n" * 100_000,
        "- \n" * 100_000,
        "```\n" * 100_000,
    ],
    ids=lambda source: source[:6],
)
def test_strange_files_are_cut_in_no_time_to_speak_of(source: str) -> None:
    lines = split_lines(source)
    for chunk in parse_markdown(source).chunks:
        assert chunk.text in "\n".join(lines[chunk.first - 1 : chunk.last])


def test_what_is_fenced_is_no_heading() -> None:
    source = "# Real\n\n```sh\n# not a heading\n```\n\n~~~~\n# nor this\n```\n# nor this\n~~~~\nafter"
    assert {chunk.headings for chunk in parse_markdown(source).chunks} == {("Real",)}


def test_a_code_block_that_fits_is_kept_whole() -> None:
    code = "```python\n" + "\n".join(f"line_{number} = {number}" for number in range(8)) + "\n```"
    source = "word " * 25 + f"\n\n{code}\n\n" + "word " * 25
    assert any(code in text for text in texts(source))


def test_a_code_block_with_blank_lines_is_one_block() -> None:
    code = "```\nfirst\n\n\nsecond\n```"
    source = "word " * 28 + f"\n\n{code}\n"
    assert any(code in text for text in texts(source))


def test_a_code_block_that_does_not_fit_is_cut_between_lines() -> None:
    code = ["```", *(f"value_{number} = {number}" for number in range(40)), "```"]
    for chunk in parse_markdown("\n".join(code), SMALL).chunks:
        assert chunk.text.split("\n") == code[chunk.first - 1 : chunk.last]


def test_a_table_and_a_list_that_fit_are_kept_whole() -> None:
    table = "| name | age |\n|---|---|\n| Ada | 36 |\n| Bob | 40 |"
    items = "- bread\n- milk\n  - of oats\n- tea"
    source = "word " * 25 + f"\n\n{table}\n\n" + "word " * 25 + f"\n\n{items}\n"
    found = texts(source)
    assert any(table in text for text in found)
    assert any(items in text for text in found)


def test_a_long_list_is_cut_between_items() -> None:
    items = [f"- item {number} goes on for a while\n  and has a second line" for number in range(20)]
    for text in texts("\n".join(items), ChunkSize(40, 0)):
        assert text.startswith("- item")
        assert text.endswith("second line")


def test_a_heading_goes_with_what_follows_it() -> None:
    for text in texts("## A heading of its own\n\n" + "\n".join(["word " * 6] * 12)):
        assert text != "## A heading of its own"


def test_a_chunk_repeats_the_end_of_the_one_before_it() -> None:
    source = "\n".join(f"line number {number} of a long paragraph" for number in range(12))
    first, second, *_ = parse_markdown(source, ChunkSize(40, 12)).chunks
    assert second.first == first.last
    first, second, *_ = parse_markdown(source, ChunkSize(40, 0)).chunks
    assert second.first == first.last + 1


def test_nothing_is_repeated_across_headings() -> None:
    source = "# One\n" + "word " * 20 + "\n# Two\n" + "word " * 20
    one, two = parse_markdown(source, SMALL).chunks
    assert (one.last, two.first) == (2, 3)


def test_a_long_line_is_cut_between_sentences() -> None:
    sentences = [f"This is sentence number {number}, and it ends." for number in range(12)]
    found = texts(" ".join(sentences), ChunkSize(40, 12))
    assert all(text.startswith("This is") and text.endswith("ends.") for text in found)
    assert found[1].startswith(found[0].split(". ")[-1])  # the overlap


def test_a_letter_of_a_script_without_spaces_counts_as_a_token() -> None:
    assert max(map(len, texts("中文" * 200, ChunkSize(40, 0)))) == 40


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_editors_do(end: str) -> None:
    (chunk,) = parse_markdown(end.join(["", "# A", "", "line\x0bwith\x0c odd\u2028marks", "last"])).chunks
    assert (chunk.first, chunk.last) == (2, 5)
    assert chunk.text == "# A\n\nline\x0bwith\x0c odd\u2028marks\nlast"


def test_front_matter_is_understood_and_is_no_text() -> None:
    read_ = parse_markdown(
        "---\ntitle: 'The plan: a draft'\ntags: [home, \"big ideas\", '#garden']\naliases:\n  - Plan A\n  - The Draft\n"
        "date: 2025-03-14\n---\n# Heading\ntext\n"
    )
    assert (read_.title, read_.tags, read_.aliases) == (
        "The plan: a draft",
        ("home", "big ideas", "garden"),
        ("Plan A", "The Draft"),
    )
    assert read_.date == datetime(2025, 3, 14, tzinfo=UTC)
    assert [(chunk.text, chunk.first) for chunk in read_.chunks] == [("# Heading\ntext", 9)]


@pytest.mark.parametrize(
    ("said", "tags"),
    [
        ("tags: home, garden", ("home", "garden")),
        ("tags: '#home, #garden'", ("home", "garden")),
        ("Tag: home/garden", ("home/garden",)),
        ("tags:\n- home\n-  big ideas\n", ("home", "big ideas")),
        ("tags: [2024, 1.10, true, ~, '']", ("2024", "1.10", "true")),
        ("tags: [[home, garden], shed]", ("shed",)),
        ("tags: [home]  # for now", ("home",)),
        ("tags: #home", ()),  # a comment, to YAML
        ("tags:", ()),
        ("tags: {home: 1}", ()),
    ],
)
def test_tags_may_be_written_in_several_ways(said: str, tags: tuple[str, ...]) -> None:
    assert (parse_markdown(f"---\n{said}\n---\ntext").tags, parse_markdown(f"---\n{said}\n---\ntext").problem) == (
        tags,
        "",
    )


def test_a_title_is_a_text_on_one_line() -> None:
    assert parse_markdown("---\ntitle: 2024\n---\n").title == "2024"
    assert parse_markdown("---\ntitle: >\n  The\n  plan\n---\n").title == "The plan"
    assert parse_markdown("---\ntitle: null\n---\n").title == parse_markdown("---\ntitle: [[x]]\n---\n").title == ""


def test_an_alias_needs_no_list() -> None:
    assert parse_markdown("---\naliases: Plan A\n---\n").aliases == ("Plan A",)


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ("tags: [a", "did not find expected ',' or ']'"),
        ('note: "open', "unexpected end of stream on line 4"),
        ("tags:\n\t- a", "cannot start any token on line 5"),
        ("note: one: two", "mapping values are not allowed"),
        ("note: {{note}}", "not a text"),
        ("note: @ann", "cannot start any token"),
        ("note: [*aliases]", "aliases"),
        (f"note: {'[' * 100}{']' * 100}", "nested too deep"),
        (f"note: {'[' * 50_000}", "nested too deep"),
        ("note: \x01", "control characters"),
    ],
)
def test_a_field_that_is_no_yaml_is_told_and_stays_text(broken: str, problem: str) -> None:
    document = parse_markdown(
        f"---\ntitle: Plan\ndate: 2025-03-14\n{broken}\n---\n# Heading\n#real\n", ChunkSize(20_000, 0)
    )
    assert (document.title, document.tags, document.date) == ("Plan", (), datetime(2025, 3, 14, tzinfo=UTC))
    assert document.problem.startswith("its front matter is not valid YAML: ")
    assert problem in document.problem
    first = document.chunks[0]
    assert (first.first, first.text.startswith(f"title: Plan\ndate: 2025-03-14\n{broken}")) == (2, True)
    assert [chunk.tags for chunk in document.chunks] in ([("real",)], [(), ("real",)])


def test_what_else_front_matter_says_is_its_context_and_its_words() -> None:
    document = parse_markdown(
        "---\ntitle: Plan\nauthor: Ann\nrating: 4.50\npages: -12\ndone: true\nversion: '1.10'\nid: 20230101123045123\n"
        "place: {room: kitchen, at: [1, 2]}\nempty:\ndate: 14 March\ncolor: '#fff'\n---\ntext"
    )
    assert document.context == {
        "author": "Ann",
        "rating": 4.5,
        "pages": -12,
        "done": True,
        "version": "1.10",
        "id": "20230101123045123",
        "place": {"room": "kitchen", "at": [1, 2]},
        "date": "14 March",
        "color": "#fff",
    }
    assert document.other_fields[:2] == ("author: Ann", "rating: 4.50")
    assert "place: room: kitchen, at: 1, 2" in document.other_fields
    assert document.chunks[0].tags == ()


def test_a_long_text_in_front_matter_is_words_alone() -> None:
    document = parse_markdown(f"---\nabstract: {'otter ' * 200}\n---\ntext")
    assert (document.context, document.other_fields[0].count("otter")) == ({}, 200)


def test_a_note_that_is_nothing_but_front_matter_is_its_text() -> None:
    (chunk,) = parse_markdown("---\ntype: person\nemail: ann@example.org\n---\n").chunks
    assert (chunk.text, chunk.first, chunk.last) == ("type: person\nemail: ann@example.org", 2, 3)
    assert parse_markdown("---\n---\n").chunks == parse_markdown("---\n# nothing\n---\n").chunks == ()


def test_front_matter_that_nobody_closes_is_text() -> None:
    assert parse_markdown("---\ntitle: x\n\ntext").title == ""
    assert parse_markdown("---\ntitle: x\n\ntext").chunks[0].first == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-03-14.md", datetime(2025, 3, 14, tzinfo=UTC)),
        ("2025-03-14T09:30:00+01:00", datetime(2025, 3, 14, 8, 30, tzinfo=UTC)),
        ("2025-03-14 09:30", datetime(2025, 3, 14, 9, 30, tzinfo=UTC)),
        ("note", None),
        ("2025-13-45", None),
        ("12025-03-14", None),
        ("0001-01-01T00:00:00+23:00", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_the_date_in_a_text(text: str, expected: datetime | None) -> None:
    assert find_date(text) == expected


def test_tags_and_links_in_the_text_are_seen_but_not_in_code() -> None:
    (chunk,) = parse_markdown(
        "Ask [[Ada Lovelace|Ada]] or [[Bob#Work]] #todo/now, see #42.\n\n```\n#include [[x]]\n```\n"
    ).chunks
    assert (chunk.tags, chunk.links) == (("todo/now",), ("Ada Lovelace", "Bob"))


@pytest.mark.parametrize(("tokens", "overlap"), [(0, 0), (10, 10), (10, -1), (-5, 0)])
def test_sizes_that_cannot_be_are_refused(tokens: int, overlap: int) -> None:
    with pytest.raises(InvalidInput, match="tokens must be at least 1"):
        ChunkSize(tokens, overlap)


@pytest.mark.parametrize("text", ["Otters swim, as we all know.", "- Otters swim\n- [and", "\n*Otters swim*: [always"])
def test_a_text_between_two_rules_is_no_front_matter(text: str) -> None:
    document = parse_markdown(f"---\n{text}\n---\n\n# Title\n")
    assert (text in document.chunks[0].text, document.problem) == (True, "")
