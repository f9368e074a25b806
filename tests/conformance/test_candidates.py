"""Candidates and the numbers that recall scores them by: words, vectors, signatures, spellings, order and values."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from recollect.model import STATUSES, Filter, Use
from recollect.model.validation import micros
from recollect.store.base import Store, Term, UseRecord
from recollect.text.query_language import Word, parse_query
from recollect.text.signatures import text_signature
from recollect.text.words import words
from tests.conformance.kit import (
    NOON,
    TEXT,
    bm25_query,
    cosines,
    embed,
    encoded,
    everything,
    ids_in,
    lexical,
    link,
    relate,
    remember,
    revise,
    rows,
)

EVERYWHERE = dict.fromkeys(
    ("text", "title", "summary", "keywords", "tags", "entities", "path", "speaker", "original"), 1.0
)


def frequencies(store: Store, id: str, *terms: Term, fields: Any = TEXT) -> list[float]:
    with store.snapshot() as snapshot:
        found = snapshot.term_frequencies(terms, fields, rows(snapshot, id))
        assert found.shape == (len(terms), 1)
        return [float(each) for each in found[:, 0]]


# Words.


def test_terms_are_counted_by_stem_as_written_and_as_a_prefix(store: Store) -> None:
    remember(store, "cups cup cupboard Cup café", "m")
    found = frequencies(
        store,
        "m",
        *(Term("cup"), Term("cups", match="exact"), Term("cup", match="exact"), Term("cup", match="prefix")),
        *(Term("cafes"), Term("cafe", match="exact"), Term("café", match="exact"), Term("plate")),
    )
    assert found == [3.0, 1.0, 2.0, 4.0, 1.0, 0.0, 1.0, 0.0]


def test_terms_are_counted_by_the_stem_of_their_language(store: Store) -> None:
    remember(store, "Die Schlüssel, der Schluessel und drei Schlüsseln; geparkt, parkte, parkt.", "german")
    remember(store, "des chevaux, un cheval, une lettre réparée", "french")
    german = [Term("Schlüssel".lower(), language="de"), Term("parken", language="de"), Term("parken")]
    assert frequencies(store, "german", *german) == [3.0, 3.0, 0.0]
    french = [Term("cheval", language="fr"), Term("reparee", language="fr"), Term("lettres", language="fr")]
    assert frequencies(store, "french", *french) == [2.0, 1.0, 1.0]
    assert frequencies(store, "french", Term("letters", language="zh"), Term("lettre", language="xx")) == [0.0, 1.0]


def test_compounds_are_counted_by_their_first_and_last_part(store: Store) -> None:
    remember(store, "Gartentisch, Tisch, Tischlerei, Schreibtische, Gartenzaun, Tischbein", "m")
    tisch, garten, bein, zaun = (
        Term(word, match="compound", language="de") for word in ("tische", "garten", "bein", "zaun")
    )
    assert frequencies(store, "m", tisch, garten, bein, zaun) == [4.0, 2.0, 1.0, 1.0]
    with store.snapshot() as snapshot:
        known = snapshot.term_statistics([tisch, garten, Term("rad", match="compound")], TEXT, everything(snapshot))
        assert (known.frequencies, known.occurs) == ([1, 1, 0], [True, True, False])


def test_words_that_are_added_later_are_found_by_their_stem(store: Store) -> None:
    remember(store, "Apfelbaum", "first")
    apple = Term("äpfel", language="de"), Term("baum", match="compound", language="de")
    assert frequencies(store, "first", *apple) == [0.0, 1.0]
    remember(store, "Apfel Birnbaum", "second")
    assert frequencies(store, "second", *apple) == [1.0, 1.0]


def test_phrases_are_counted_in_order_and_without_overlaps(store: Store) -> None:
    remember(store, "blue cup, blue cup and cup blue. La la la la. Café au lait", "m")

    def phrase(text: str) -> Term:
        return Term(text, match="phrase")

    found = frequencies(
        store,
        "m",
        *map(phrase, ("blue cup", "cup blue", "cup and", "la la la", "cafe au", "cups", "cup", "", "cup cup")),
    )
    assert found == [2.0, 2.0, 1.0, 1.0, 1.0, 0.0, 3.0, 0.0, 0.0]


def test_a_phrase_does_not_cross_from_one_tag_into_the_next(store: Store) -> None:
    remember(store, "text", "m", tags=("blue", "cup"), keywords=("blue cup",), files=("blue", "cup.md"), path="x")
    phrase = Term("blue cup", match="phrase")
    for field, count in (("tags", 0.0), ("keywords", 1.0), ("path", 0.0)):
        assert frequencies(store, "m", phrase, fields={field: 1.0}) == [count]


def test_frequencies_are_weighted_by_field(store: Store) -> None:
    remember(store, "cup cup", "m", title="Cup", summary="cup cup cup", speaker="cup", path="cup.md", files=("cup/a",))
    fields = {"text": 1.0, "title": 2.0, "summary": 0.0, "path": 0.5}
    assert frequencies(store, "m", Term("cup"), fields=fields) == [5.0]
    assert frequencies(store, "m", Term("cup"), fields=EVERYWHERE) == [9.0]
    assert frequencies(store, "m", Term("cup"), fields={}) == [0.0]


def test_lengths_count_the_words_of_the_fields_that_have_a_weight(store: Store) -> None:
    remember(store, "one two three", "m", title="four five")
    with store.snapshot() as snapshot:
        chosen = rows(snapshot, "m")
        assert snapshot.field_lengths(TEXT, chosen).tolist() == [3.0]
        assert snapshot.field_lengths({"text": 0.5, "title": 2.0}, chosen).tolist() == [5.0]
        assert snapshot.field_lengths({"text": 0.0}, chosen).tolist() == [0.0]


def test_any_script_has_words(store: Store) -> None:
    remember(store, "杯子在架子上", "chinese")
    remember(store, "maxRetries in HTTPServer", "code")
    with store.snapshot() as snapshot:
        scope = everything(snapshot)
        for query, id in (("架子", "chinese"), ("retries", "code"), ("maxretries", "code")):
            assert lexical(snapshot, [Term(query)], scope) == [id]


@pytest.fixture
def cups(store: Store) -> Store:
    remember(store, "blue cup", "a")
    remember(store, "red cup on the red table", "b")
    remember(store, "a plate", "c")
    remember(store, "green cup", "d", collection="other")
    remember(store, "forgotten cup", "e", status="forgotten")
    remember(store, "superseded cup", "f", status="superseded")
    return store


def test_statistics_are_those_of_all_memories_that_are_not_forgotten(cups: Store) -> None:
    with cups.snapshot() as snapshot:
        terms = [Term("cup"), Term("forgotten"), Term("superseded"), Term("green")]
        found = snapshot.term_statistics(terms, TEXT, snapshot.scope(Filter(topic=""), ("active",), NOON))
        assert found.documents == 5
        assert found.average_length == 14 / 5
        assert found.frequencies == [4, 0, 1, 1]
        assert found.occurs == [True, False, False, True]


def test_a_filter_by_collection_bounds_the_statistics(cups: Store) -> None:
    with cups.snapshot() as snapshot:
        other = Filter(collection="other")
        found = snapshot.term_statistics([Term("cup")], TEXT, snapshot.scope(other, ("active",), NOON))
        assert (found.documents, found.average_length, found.frequencies) == (1, 2.0, [1])
        for filter in (~other, other | Filter(topic="")):
            found = snapshot.term_statistics([Term("cup")], TEXT, snapshot.scope(filter, ("active",), NOON))
            assert found.documents == 5


def test_statistics_of_an_empty_store_have_an_average_of_1(store: Store) -> None:
    with store.snapshot() as snapshot:
        found = snapshot.term_statistics([Term("cup")], TEXT, everything(snapshot))
        assert (found.documents, found.average_length, found.frequencies, found.occurs) == (0, 1.0, [0], [False])
        assert snapshot.term_statistics([], TEXT, everything(snapshot)).frequencies == []


def test_statistics_follow_every_change(cups: Store) -> None:
    revise(cups, "a", text="blue bowl")
    revise(cups, "f", status="forgotten")
    with cups.snapshot() as snapshot:
        found = snapshot.term_statistics([Term("cup"), Term("bowl")], TEXT, everything(snapshot))
        assert (found.documents, found.frequencies) == (4, [2, 1])


def test_lexical_candidates_are_at_least_the_best_n_in_scope(cups: Store) -> None:
    with cups.snapshot() as snapshot:
        scope = snapshot.scope(None, ("active",), NOON)
        terms = [Term("red"), Term("cup")]
        assert lexical(snapshot, terms, scope, 10) == ["b", "a", "d"]
        query = bm25_query(snapshot, terms, scope)
        for n in (1, 2, 3, 9):
            found = snapshot.lexical_candidates(query, scope, n)
            assert found.total == 3
            assert len(found.rows) >= min(n, 3)
            assert lexical(snapshot, terms, scope, n) == ["b", "a", "d"][:n]
        assert len(snapshot.lexical_candidates(query, scope, 0).rows) == 0
        assert lexical(snapshot, [Term("saucer")], scope) == []


def test_all_terms_can_be_required(cups: Store) -> None:
    with cups.snapshot() as snapshot:
        scope = snapshot.scope(None, ("active",), NOON)
        assert lexical(snapshot, [Term("red"), Term("cup")], scope, require_all=True) == ["b"]
        assert lexical(snapshot, [Term("red"), Term("plate")], scope, require_all=True) == []


def test_terms_and_a_tree_can_be_required_together(cups: Store) -> None:
    with cups.snapshot() as snapshot:
        scope = snapshot.scope(None, ("active",), NOON)
        tree = parse_query("cup NOT blue")
        assert lexical(snapshot, [Term("red"), Term("cup")], scope, require_all=True, where=tree) == ["b"]


def test_a_snapshot_keeps_several_scopes_apart(cups: Store) -> None:
    phrase = Term("green cup", match="phrase")
    with cups.snapshot() as snapshot:
        for filter, having, alike in (
            (Filter(collection="main"), 0, []),
            (Filter(collection="other"), 1, ["green"]),
            (None, 1, ["green"]),
            (Filter(topic="none"), 1, []),
        ):
            scope = snapshot.scope(filter, ("active",), NOON)
            statistics = snapshot.term_statistics([phrase], TEXT, scope)
            assert statistics.frequencies == [having]
            assert statistics.occurs == [bool(alike)]
            assert [word for word, _ in snapshot.similar_words("greens", scope, 0.3, 5)] == alike
            del scope


def test_phrases_are_found_in_forgotten_memories_that_a_hidden_scope_has(cups: Store) -> None:
    tree = parse_query('"forgotten cup"')
    assert tree is not None
    with cups.snapshot() as snapshot:
        scope = snapshot.scope(None, STATUSES, NOON, hidden=True)
        assert snapshot.term_statistics([Term("forgotten cup", match="phrase")], TEXT, scope).occurs == [True]
        assert "e" not in ids_in(snapshot, snapshot.excluding(tree, TEXT, scope))
        assert snapshot.matches(tree, TEXT, rows(snapshot, "e")).tolist() == [True]


TREES = {
    "cup AND red": ["b"],
    "cup NOT red": ["a", "d"],
    '"blue cup" OR plate': ["a", "c"],
    "gre* OR tabl*": ["b", "d"],
    "(blue OR green) AND cups": ["a", "d"],
}


@pytest.mark.parametrize("text", TREES)
def test_a_query_tree_decides_which_memories_match(cups: Store, text: str) -> None:
    tree = parse_query(text)
    assert tree is not None
    with cups.snapshot() as snapshot:
        scope = snapshot.scope(None, ("active",), NOON)
        all_rows = snapshot.page(scope, "oldest", 100)
        fulfilling = all_rows[snapshot.matches(tree, TEXT, all_rows)]
        assert sorted(snapshot.ids(fulfilling)) == TREES[text]
        assert sorted(lexical(snapshot, [Term("cup"), Term("plate")], scope, where=tree)) == TREES[text]
        assert sorted(ids_in(snapshot, snapshot.excluding(tree, TEXT, scope))) == sorted(
            {"a", "b", "c", "d"}.difference(TREES[text])
        )


def test_similar_words_are_those_of_memories_in_scope(cups: Store) -> None:
    remember(cups, "cupboard tables taple", "g")
    with cups.snapshot() as snapshot:
        scope = snapshot.scope(None, ("active",), NOON)
        found = snapshot.similar_words("table", scope, 0.3, 10)
        assert [word for word, _ in found] == ["table", "tables", "taple"]
        assert found[0][1] == 1.0
        assert found[2][1] == pytest.approx(1 - 1 / 5)  # one letter is wrong
        assert [word for word, _ in snapshot.similar_words("cup", scope, 0.3, 10)] == ["cup", "cupboard"]
        assert snapshot.similar_words("table", scope, 0.3, 1) == found[:1]
        assert snapshot.similar_words("superseded", scope, 0.3, 5) == []
        assert snapshot.similar_words("xyz", scope, 0.3, 5) == []
        assert ("plate", 1.0) in snapshot.similar_words("plate", scope, 0.3, 5)


def test_a_similar_word_has_no_diacritics(store: Store) -> None:
    remember(store, "Das Café", "m")
    with store.snapshot() as snapshot:
        assert snapshot.similar_words("caffe", everything(snapshot), 0.3, 5)[0][0] == "cafe"


# Vectors, signatures and slugs.


def test_the_nearest_are_those_with_the_highest_cosine_in_scope(store: Store) -> None:
    for at in range(6):
        remember(store, str(at), str(at), topic="even" if at % 2 == 0 else "odd")
        if at < 5:
            embed(store, str(at), 1.0, float(at))
    query = encoded(1.0)[0]
    with store.snapshot() as snapshot:
        for filter, expected in ((None, ["0", "1", "2", "3", "4"]), (Filter(topic="odd"), ["1", "3"])):
            scope = snapshot.scope(filter, ("active",), NOON)
            for n in (1, 2, 9):
                found = snapshot.nearest(query, scope, n)
                assert found.total == len(expected)
                ranked = sorted(zip(cosines(snapshot, query, found.rows), snapshot.ids(found.rows), strict=True))[::-1]
                assert [id for _, id in ranked][:n] == expected[:n]


def test_rows_as_near_as_the_last_are_all_proposed(store: Store) -> None:
    for id in ("a", "b", "c"):
        remember(store, id, id)
        embed(store, id, 1.0, 2.0)
    with store.snapshot() as snapshot:
        found = snapshot.nearest(encoded(1.0)[0], everything(snapshot), 1)
        assert len(found.rows) == 3


def test_signatures_are_those_of_the_text(store: Store) -> None:
    remember(store, "The robot charges at the dock", "a", title="not this")
    remember(store, "Completely different words here", "b")
    with store.snapshot() as snapshot:
        mine = text_signature(words("The robot charges at the dock"), 64)
        found = snapshot.signatures(64, rows(snapshot, "b", "a"))
        assert found.shape == (2, 8)
        assert found[1].tolist() == mine.tolist()
        scope = everything(snapshot)
        assert snapshot.ids(snapshot.signature_candidates(mine, scope, 0.9)) == ["a"]
        assert len(snapshot.signature_candidates(mine, scope, 0.0)) == 2
        assert len(snapshot.signature_candidates(mine, snapshot.scope(Filter(topic="x"), ("active",), NOON), 0.0)) == 0


def test_slugs_are_found_by_their_spelling(store: Store) -> None:
    remember(store, "one", "a", path="notes/User-Preference_Tea.md")
    remember(store, "two", "b", title="Coffee preference")
    remember(store, "three", "teapot")
    with store.snapshot() as snapshot:
        scope = everything(snapshot)
        assert sorted(snapshot.ids(snapshot.slug_candidates(["preference"], scope, 0.3))) == ["a", "b"]
        assert snapshot.ids(snapshot.slug_candidates(["teapots"], scope, 0.5)) == ["teapot"]
        assert sorted(snapshot.ids(snapshot.slug_candidates(["tea", "coffee"], scope, 0.15))) == ["a", "b", "teapot"]
        assert len(snapshot.slug_candidates([], scope, 0.0)) == 0
        assert snapshot.paths(rows(snapshot, "a", "b", "teapot")) == [
            *("notes/User-Preference_Tea.md", "coffee-preference", "teapot"),
        ]


# Order.


def test_pages_are_in_the_order_of_creation_and_of_writing(store: Store) -> None:
    for id, days in (("c", 1), ("a", 2), ("d", 1), ("b", 1)):
        remember(store, id, id, created=NOON - timedelta(days=days))
    with store.snapshot() as snapshot:
        scope = everything(snapshot)
        assert snapshot.ids(snapshot.page(scope, "oldest", 9)) == ["a", "c", "d", "b"]
        assert snapshot.ids(snapshot.page(scope, "newest", 9)) == ["b", "d", "c", "a"]
        assert snapshot.ids(snapshot.page(scope, "stored", 9)) == ["c", "a", "d", "b"]
        assert snapshot.ids(snapshot.page(scope, "oldest", 2, 1)) == ["c", "d"]
        assert len(snapshot.page(scope, "oldest", 2, 9)) == 0


# Time.


DAY = 86_400e6  # microseconds
MIDNIGHT = micros(NOON.replace(hour=0))


def ids_during(store: Store, first_day: float, days: float, told: bool = True) -> set[str]:
    """The ids of the memories of some days, counted from today."""
    interval = (MIDNIGHT + first_day * DAY, MIDNIGHT + (first_day + days) * DAY)
    with store.snapshot() as snapshot:
        scope = snapshot.during([interval], snapshot.scope(None, ("active", "superseded"), NOON), told)
        return set(snapshot.ids(snapshot.page(scope, "stored", 99)))


def test_memories_are_of_the_time_in_which_they_were_created_or_valid_or_that_they_tell_of(store: Store) -> None:
    remember(store, "The kettle broke.", "created", created=NOON - timedelta(days=3))
    remember(store, "The kettle broke yesterday.", "told", created=NOON - timedelta(days=2))
    remember(store, "We rent a flat.", "valid", valid_from=NOON - timedelta(days=9), valid_to=NOON - timedelta(days=3))
    remember(store, "The kettle works.", "today")
    assert ids_during(store, -3, 1) == {"created", "told", "valid"}
    assert ids_during(store, -3, 1, told=False) == {"created"}
    assert ids_during(store, -2, 1) == {"told"}
    assert ids_during(store, -40, 20) == set()
    assert ids_during(store, -99, 100) == {"created", "told", "valid", "today"}


def test_the_end_of_an_interval_is_not_part_of_it(store: Store) -> None:
    remember(store, "a", "midnight", created=NOON.replace(hour=0))
    assert ids_during(store, -1, 1) == set()
    assert ids_during(store, 0, 1) == {"midnight"}


def test_what_is_out_of_scope_is_of_no_time(store: Store) -> None:
    remember(store, "a", "kept")
    remember(store, "b", "forgotten", status="forgotten")
    assert ids_during(store, 0, 1) == {"kept"}


def test_a_stated_period_is_of_each_of_its_days_and_a_vague_time_is_not(store: Store) -> None:
    first, last = NOON + timedelta(days=10), NOON + timedelta(days=40)
    remember(store, f"The pool is closed from {first:%Y-%m-%d} to {last:%Y-%m-%d}.", "period")
    remember(store, "The pool was closed last year.", "vague")
    assert ids_during(store, 10, 1) == ids_during(store, 25, 1) == ids_during(store, 40, 1) == {"period"}
    assert ids_during(store, 9, 1) == ids_during(store, 41, 1) == ids_during(store, -366, 1) == set()


def test_told_times_follow_the_text_and_the_creation(store: Store) -> None:
    remember(store, "It broke yesterday.", "a")
    with store.snapshot() as snapshot:
        assert snapshot.told_times(rows(snapshot, "a")) == [[(MIDNIGHT - DAY, MIDNIGHT)]]
    revise(store, "a", text="It broke.")
    with store.snapshot() as snapshot:
        assert snapshot.told_times(rows(snapshot, "a")) == [[]]
    revise(store, "a", text="It broke today.", created=NOON - timedelta(days=1))
    with store.snapshot() as snapshot:
        assert snapshot.told_times(rows(snapshot, "a")) == [[(MIDNIGHT - DAY, MIDNIGHT)]]


def neighbours(store: Store, id: str, reach: int = 2) -> tuple[list[str], list[str]]:
    with store.snapshot() as snapshot:
        (found,) = snapshot.neighbours(rows(snapshot, id), reach)
        ids = snapshot.ids(found)
    return [each for each in ids[:reach] if each], [each for each in ids[reach:] if each]


def test_neighbours_are_before_and_after_in_the_session(store: Store) -> None:
    for at in (3, 1, 4, 0, 2):
        remember(store, f"said {at}", str(at), session="monday", position=at)
        remember(store, f"said {at}", f"tuesday {at}", session="tuesday", position=at)
        remember(store, f"said {at}", f"bob {at}", session="monday", position=at, user="bob")
    assert neighbours(store, "2") == (["1", "0"], ["3", "4"])
    assert neighbours(store, "0", reach=1) == ([], ["1"])
    assert neighbours(store, "4") == (["3", "2"], [])
    with store.snapshot() as snapshot:
        assert snapshot.neighbours(np.array([999, -1]), 2).tolist() == [[-1] * 4] * 2
        assert snapshot.neighbours(np.empty(0, np.int64), 2).shape == (0, 4)


def test_without_positions_a_session_is_in_the_order_of_creation_and_of_writing(store: Store) -> None:
    for id, hours in (("c", 3), ("b", 2), ("z", 2), ("a", 1)):
        remember(store, id, id, session="monday", created=NOON - timedelta(hours=hours))
    assert neighbours(store, "b") == (["c"], ["z", "a"])


@pytest.mark.parametrize(("similar", "found"), [(True, (["4", "3"], ["6", "7"])), (False, ([], []))])
def test_without_a_session_only_coherent_memories_have_neighbours(
    store: Store, similar: bool, found: tuple[list[str], list[str]]
) -> None:
    for at in range(10):
        remember(store, f"day {at}", str(at), created=NOON + timedelta(days=at))
        angle = at / 2 if similar else at * 2.4
        embed(store, str(at), np.cos(angle), np.sin(angle))
    assert neighbours(store, "5") == found


def test_a_few_memories_without_a_session_have_no_neighbours(store: Store) -> None:
    for at in range(7):
        remember(store, f"day {at}", str(at))
        embed(store, str(at), 1.0, at / 10)
    assert neighbours(store, "3") == ([], [])


# Values.


def test_values_come_in_the_order_of_the_rows(store: Store) -> None:
    later = NOON + timedelta(hours=1)
    remember(store, "one", "a", title="One", position=3, confidence=None, valid_to=later, context={"x": 1}, topic="t")
    remember(store, "two", "b", classification=7, importance=0.5)
    with store.snapshot() as snapshot:
        chosen = np.append(rows(snapshot, "b", "a"), 999)
        hour = 3_600e6
        (created, _, missing) = snapshot.numbers("created", chosen).tolist()
        assert created == NOON.timestamp() * 1e6
        assert np.isnan(missing)
        for name, b, a in (
            ("position", np.nan, 3.0),
            ("confidence", 1.0, np.nan),
            ("classification", 7.0, 0.0),
            ("importance", 0.5, 0.0),
            ("valid_to", np.nan, created + hour),
            ("strength", 1.0, 1.0),
        ):
            np.testing.assert_array_equal(snapshot.numbers(name, chosen), [b, a, np.nan])
        assert snapshot.strings("topic", chosen) == ["", "t", ""]
        assert snapshot.strings("status", chosen) == ["active", "active", ""]
        assert snapshot.contexts(chosen) == [{}, {"x": 1}, {}]
        assert snapshot.ids(chosen) == ["b", "a", ""]
        assert snapshot.texts(chosen) == ["two", "one", ""]
        assert [memory.id for memory in snapshot.memories(chosen)] == ["b", "a"]
        assert snapshot.row("a") == chosen[1]
        assert snapshot.row("nobody") is None


def test_uses_are_read_by_row(store: Store) -> None:
    a, b = remember(store, "one", "a").row, remember(store, "two", "b").row
    store.record_use(UseRecord([a], NOON, ("access", "recall")))
    store.record_use(UseRecord([a], NOON, ("return",)))
    with store.snapshot() as snapshot:
        chosen = np.array([b, a, 999])
        assert snapshot.uses(chosen) == [Use(), Use(NOON, 1, 1, 1, NOON, (NOON,)), Use()]
        micros = NOON.timestamp() * 1e6
        np.testing.assert_array_equal(snapshot.use_numbers("last_accessed", chosen), [np.nan, micros, np.nan])
        np.testing.assert_array_equal(np.nan_to_num(snapshot.use_numbers("recall_count", chosen)), [0.0, 1.0, 0.0])
        assert snapshot.memories(chosen)[1].use.access_count == 1


def test_edges_of_rows_come_in_a_fixed_order(store: Store) -> None:
    for id in ("a", "b", "c", "d"):
        remember(store, id, id)
    link(store, "c", "d")
    link(store, "b", "a", "supports", 0.25)
    link(store, "a", "c", "mentions", 0.5)
    link(store, "a", "b", "supports", 0.75)
    with store.snapshot() as snapshot:
        found = snapshot.edges(rows(snapshot, "a"))
        ends = list(zip(snapshot.ids(found.sources), snapshot.ids(found.targets), strict=True))
        assert ends == [("a", "c"), ("a", "b"), ("b", "a")]
        assert found.weights.tolist() == [0.5, 0.75, 0.25]
        made = [edge.created.timestamp() * 1e6 for edge in store.edges(["a"]) if edge.created]
        assert sorted(found.created.tolist()) == pytest.approx(sorted(made), abs=1)
        assert found.kinds == ["mentions", "supports", "supports"]
        assert snapshot.edges(rows(snapshot, "a", "c"), kinds=["supports"]).kinds == ["supports"] * 3
        assert snapshot.edges(rows(snapshot, "a"), kinds=[]).kinds == []
        assert snapshot.edges(np.empty(0, np.int64)).kinds == []


def test_relations_are_found_by_either_name_in_any_case(store: Store) -> None:
    relate(store, "Ann", "knows", "Bob")
    relate(store, "Zoe", "knows", "ann")
    relate(store, "Zoe", "knows", "Bob")
    with store.snapshot() as snapshot:
        assert [edge.subject for edge in snapshot.relations(["ANN"])] == ["Ann", "Zoe"]
        assert len(snapshot.relations(["bob", "ann"])) == 3
        assert snapshot.relations([]) == []


def test_an_empty_store_answers_everything(store: Store) -> None:
    with store.snapshot() as snapshot:
        scope = snapshot.scope(None, STATUSES, NOON)
        nothing = np.empty(0, np.int64)
        assert scope.count == 0
        assert len(snapshot.page(scope, "newest", 5)) == 0
        assert snapshot.lexical_candidates(bm25_query(snapshot, [Term("cup")], scope), scope, 5).total == 0
        assert snapshot.similar_words("cup", scope, 0.3, 5) == []
        assert len(snapshot.signature_candidates(np.zeros(8, np.uint8), scope, 0.0)) == 0
        assert len(snapshot.slug_candidates(["cup"], scope, 0.0)) == 0
        assert snapshot.memories(nothing) == []
        assert snapshot.numbers("created", np.array([1])).tolist() == pytest.approx([np.nan], nan_ok=True)
        assert snapshot.strings("topic", np.array([1])) == [""]
        assert snapshot.neighbours(np.array([1]), 1).tolist() == [[-1, -1]]
        assert snapshot.next_validity_change(NOON) == np.inf
        assert snapshot.term_frequencies([Term("cup")], TEXT, np.array([1])).tolist() == [[0.0]]
        assert snapshot.matches(Word("cup"), TEXT, np.array([1])).tolist() == [False]
