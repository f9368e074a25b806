"""A reading for plain questions: no operators, no syntax, only words to look up as they are written."""

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
    """All words of the question: Chinese segmented, operators of a query language and lone letters left out.

    Operators count as such in capitals only: "near the cup" is about nearness. One letter is a word where no spaces
    are written (杯, は) and noise elsewhere.
    """

    operators: Sequence[str] = ("AND", "OR", "NOT", "NEAR")

    def read(self, question: ParsedQuery, run: Run) -> ParsedQuery:
        text = question.text
        if self.operators:
            text = re.sub(f"(?<!{LETTER})(?:{'|'.join(self.operators)})(?!{LETTER})", " ", text)
        every = tuple(dict.fromkeys(words(text, whole=True)))
        kept = tuple(word for word in every if len(word) > 1 or is_spaceless(word))
        run.log("match", " OR ".join(f'"{word}"' for word in kept) or "nothing to look up")
        return replace(question, words=every, terms=tuple(Term(word, match="exact") for word in kept))
