"""The query language: what is read, what is dropped, and that no text is a mistake (J18)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.query_language import (
    And,
    AndNot,
    Or,
    Phrase,
    Prefix,
    QueryTree,
    Word,
    expand_aliases,
    format_query,
    parse_query,
    positive_terms,
)

pytestmark = pytest.mark.contract("J18")
SIGNS = st.sampled_from(
    [*"()\"*'-“”„ \t\n", " AND ", " OR ", " NOT ", "NOT ", "AND", "cup", "blue", "the", "a", "é", "杯子"]
)
TEXTS = st.one_of(st.text(), st.lists(st.one_of(SIGNS, st.text(max_size=3)), max_size=40).map("".join))
WORDS = st.sampled_from(["ant", "bee", "cat", "dog", "elk"])
LEAVES: st.SearchStrategy[QueryTree] = st.one_of(
    WORDS.map(Word), WORDS.map(lambda word: Prefix(word[:2])), st.tuples(WORDS, WORDS).map(" ".join).map(Phrase)
)


def joined(inner: st.SearchStrategy[QueryTree]) -> st.SearchStrategy[QueryTree]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return several.map(And) | several.map(Or) | st.builds(AndNot, inner, inner)


@pytest.mark.parametrize(
    ("query", "compiled"),
    [
        ("kubernetes deployment", "kubernetes OR deployment"),
        ('"hello world" kube*', '"hello world" OR kube*'),
        ("foo AND bar", "foo AND bar"),
        ("foo OR bar AND baz", "foo OR bar AND baz"),
        ("(foo OR bar) AND baz", "(foo OR bar) AND baz"),
        ("foo AND bar NOT baz", "foo AND bar AND NOT baz"),
        ("foo NOT bar", "foo AND NOT bar"),
        ("foo AND NOT bar", "foo AND NOT bar"),
        ("foo bar NOT baz", "(foo OR bar) AND NOT baz"),
        ("foo NOT bar baz", "(foo OR baz) AND NOT bar"),
        ("foo OR (bar NOT baz)", "foo OR (bar AND NOT baz)"),
        ("foo NOT bar NOT baz", "foo AND NOT bar AND NOT baz"),
        ("foo NOT (bar AND baz)", "foo AND NOT (bar AND baz)"),
        ("foo (NOT bar)", "foo AND NOT bar"),
        ("foo NOT (NOT bar)", "foo AND bar"),
        ("NOT foo bar", "foo OR bar"),
        ("NOT foo", "foo"),
        ("(NOT foo)", "foo"),
        ("foo foo AND bar AND bar", "foo OR foo AND bar"),
    ],
)
def test_a_query_is_understood_as(query: str, compiled: str) -> None:
    assert format_query(parse_query(query)) == compiled


@pytest.mark.parametrize(
    ("query", "compiled"),
    [
        ("The Kubernetes Deployment", "kubernetes OR deployment"),
        ("where is the blue cup?", "blue OR cup"),
        ("not cocktail and snacks or dessert", "cocktail OR snacks OR dessert"),
        ("een kopje of het glas", "kopje OR glas"),
        ("is it up to me", ""),
        ("go to Bo", ""),
        ("é tu Ça", ""),
        ("42 of 7", "42 OR 7"),
        ("杯 在 哪里", "杯 OR 在 OR 哪里"),
        ("да я", "да OR я"),
        ("k8s e-mail maxRetries", "k8s OR mail OR maxretries OR max OR retries"),
        ("cup (the blue one)", "cup OR blue OR one"),
        ("a* b", "a*"),
    ],
)
def test_a_bare_question_loses_stop_words_and_words_of_one_or_two_latin_letters(query: str, compiled: str) -> None:
    assert format_query(parse_query(query)) == compiled


@pytest.mark.parametrize(
    ("query", "compiled"),
    [
        ('"to be or not"', '"to be or not"'),
        ("foo AND the OR bar NOT baz", "(foo AND the OR bar) AND NOT baz"),
        ("is AND it", "is AND it"),
        ("cup AND get-together", 'cup AND "get-together"'),
        ("cup AND maxRetries", "cup AND maxretries"),
        ("cup AND get-tog*", "cup AND get AND tog*"),
    ],
)
def test_phrases_and_operators_keep_every_word_as_it_is(query: str, compiled: str) -> None:
    assert format_query(parse_query(query)) == compiled


def test_only_capitals_are_operators() -> None:
    assert format_query(parse_query("foo and bar Not baz")) == "foo OR bar OR baz"


@pytest.mark.parametrize("query", ["", " ", "?!", "*", '"', '""', '"?"', "(", ")(", "AND", "NOT", "AND OR NOT", "()"])
def test_what_holds_no_word_asks_for_nothing(query: str) -> None:
    assert parse_query(query) is None
    assert format_query(parse_query(query)) == ""


@pytest.mark.parametrize(
    ("query", "compiled"),
    [
        ("AND foo", "foo"),
        ("foo AND", "foo"),
        ("foo AND OR bar", "foo OR bar"),
        ("foo OR AND bar", "foo AND bar"),
        ('5" disk', "5 OR disk"),
        ('foo "bar', "foo OR bar"),
        ("((foo AND (bar", "foo AND bar"),
        ("foo)) AND bar)", "foo AND bar"),
        ("foo AND () bar", "foo AND bar"),
    ],
)
def test_signs_that_make_no_sense_are_passed_over(query: str, compiled: str) -> None:
    assert format_query(parse_query(query)) == compiled


def test_letters_are_composed_before_they_are_read() -> None:
    assert parse_query("cafe\u0301") == parse_query("caf\u00e9") == Word("café")


def test_curly_quotes_are_quotes() -> None:
    assert parse_query("“blue cup”") == parse_query("„blue cup“") == parse_query('"blue cup"') == Phrase("blue cup")


def test_aliases_stand_beside_their_word_and_several_words_are_a_phrase() -> None:
    aliases = {"K8s": ["kubernetes", "container-platform"]}
    assert (
        format_query(expand_aliases(parse_query("k8s cluster"), aliases))
        == 'k8s OR kubernetes OR "container-platform" OR cluster'
    )


def test_an_alias_stays_under_the_operator_of_its_word() -> None:
    aliases = {"bar": ["pub", "inn"]}
    assert format_query(expand_aliases(parse_query("foo AND bar"), aliases)) == "foo AND (bar OR pub OR inn)"
    assert (
        format_query(expand_aliases(parse_query("foo NOT bar"), aliases)) == "foo AND NOT bar AND NOT pub AND NOT inn"
    )


def test_phrases_and_prefixes_have_no_aliases() -> None:
    aliases = {"bar": ["pub"], "ba": ["pub"]}
    assert format_query(expand_aliases(parse_query('"bar" ba*'), aliases)) == '"bar" OR ba*'


def test_an_alias_of_nothing_and_aliases_of_no_query_change_nothing() -> None:
    assert format_query(expand_aliases(parse_query("bar"), {"bar": ["?"], "foo": []})) == "bar"
    assert expand_aliases(None, {"bar": ["pub"]}) is None


def test_what_is_refused_does_not_score_and_one_stem_scores_once() -> None:
    assert positive_terms(parse_query("cups cup NOT saucers")) == [Word("cups")]
    assert positive_terms(parse_query('"cups" OR cup*')) == [Phrase("cups"), Prefix("cup")]
    assert positive_terms(None) == []


def test_deep_parentheses_are_no_deep_recursion() -> None:
    assert format_query(parse_query("(" * 100_000 + "cup" + ")" * 100_000 + " AND saucer")) == "cup AND saucer"
    nested = "cup AND (saucer OR (" * 5000
    assert format_query(parse_query(nested)).startswith("cup AND (saucer OR ")


@given(TEXTS)
def test_every_text_is_a_query(text: str) -> None:
    tree = parse_query(text)
    expanded = expand_aliases(tree, {"cup": ["mug", "tea cup"]})
    assert isinstance(format_query(expanded), str)
    assert bool(positive_terms(tree)) == (tree is not None)


@given(st.recursive(LEAVES, joined, max_leaves=8))
def test_a_description_reads_back_as_itself(tree: QueryTree) -> None:
    compiled = format_query(parse_query(format_query(tree) + " OR zebu"))
    assert format_query(parse_query(compiled)) == compiled
