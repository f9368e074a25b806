"""Queries that name an identifier (OPS-1234): looking it up as a whole, and ranking memories without it lower."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recollect.recall.bm25 import Bm25Query, statistics
from recollect.recall.cues.words import ALL_FIELDS
from recollect.recall.expressions import leaf, product
from recollect.recall.hits import HitOperation, Hits, Rescore
from recollect.recall.query_parsing import ParsedQuery
from recollect.recall.run import Run, Skip
from recollect.store.base import Flags, Rows, Term
from recollect.text.classify import find_identifiers
from recollect.text.words import words

NAMING_FIELDS = dict.fromkeys(("title", "keywords", "tags", "entities", "path"), 1.0)  # what a memory is about


@dataclass(frozen=True, slots=True)
class IdentifierReader:
    """Looks up an identifier of several parts as a phrase, too: of OPS-1234 both “ops” and “1234” alone say little."""

    max_identifiers: int = 8

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        found = find_identifiers(query.text)[: self.max_identifiers]
        if not found:
            return query
        run.log("identifiers", ", ".join(found))
        return replace(query, terms=(*query.terms, *(Term(each, match="phrase") for each in found)))


@dataclass(frozen=True, slots=True)
class IdentifierFactor:
    """× (1 − absent × share) for memories that do not have the identifier that the query names, if candidates have it.

    × (1 − mentioned × share) for those that have it in their text only, if the title, path, tags or front matter of
    others has it. *Share* is how much of the query the identifier is, by idf: 1 for a look-up, little for a long
    question.
    """

    absent: float = 0.9
    mentioned: float = 0.7
    name: str = "identifier"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        terms = tuple(term for term in run.query.terms if term.match == "phrase")
        if not terms:
            raise Skip("the query names no identifier")
        has, names = (_have(run, terms, fields, hits.keys) for fields in (ALL_FIELDS, NAMING_FIELDS))
        first = hits.page == hits.page.min(initial=0)
        if not has[first].any():
            raise Skip("no candidate has the identifier")
        share = _share(run)
        run.log("share of the query", round(share, 3))
        mentioned = self.mentioned * share if names[first].any() else 0.0
        factor = 1 - np.where(names, 0.0, np.where(has, mentioned, self.absent * share))
        identifiers = " or ".join(term.word for term in terms)

        def label(at: int) -> str:
            return f"{identifiers}: {'in its name' if names[at] else 'in its text' if has[at] else 'not in it'}"

        return [Rescore(product("after identifier", hits.score, leaf(factor, label)))]


def _have(run: Run, terms: Sequence[Term], fields: Mapping[str, float], rows: Rows) -> Flags:
    """Which memories have one of the terms in these fields."""
    return np.asarray((run.snapshot.term_frequencies(terms, fields, rows) > 0).any(axis=0))


def _share(run: Run) -> float:
    """The idf of the identifiers ÷ that of all words that memories have, parts counted once."""
    known = [
        each
        for each in statistics(run.snapshot, run.scope, Bm25Query(run.query.terms, ALL_FIELDS)).terms
        if each.occurs
    ]
    own = sum(each.idf for each in known if each.term.match == "phrase")
    parts = {part for each in known if each.term.match == "phrase" for part in words(each.term.word)}
    others = sum(each.idf for each in known if each.term.match == "stem" and each.term.word not in parts)
    return own / (own + others)
