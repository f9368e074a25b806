"""The query reader of robotmem: all words as they are written, without any query syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from recollect.recall.query_parsing import ParsedQuery
from recollect.recall.run import Run
from recollect.store.base import Term
from recollect.text.words import HAN, PAIRED, is_spaceless, words

LETTER = f"[^\\W{HAN}{PAIRED}]"  # of a script that writes spaces between words


@dataclass(frozen=True, slots=True)
class PlainTerms:
    """All words of the query: Chinese segmented, without operators of query languages and single letters.

    Only upper-case operators are removed: "near the cup" is about nearness. A single character is a word in scripts
    without spaces (杯, は) and noise elsewhere.
    """

    operators: Sequence[str] = ("AND", "OR", "NOT", "NEAR")

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        text = query.text
        if self.operators:
            text = re.sub(f"(?<!{LETTER})(?:{'|'.join(self.operators)})(?!{LETTER})", " ", text)
        every = tuple(dict.fromkeys(words(text, whole=True)))
        terms = tuple(word for word in every if len(word) > 1 or is_spaceless(word))
        run.log("match", " OR ".join(f'"{word}"' for word in terms) or "nothing to look up")
        return replace(query, words=every, terms=tuple(Term(word, match="exact") for word in terms))
