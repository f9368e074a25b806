"""Which words of a result match a word of the query in meaning, and where they are in its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect.embed import TokenSpan, TokenSpanEmbedder, sketched_tokens
from recollect.embed.base import join_pieces
from recollect.model import Memory
from recollect.protocols import supports
from recollect.recall.cues.tokens import TokensCue
from recollect.recall.results import MatchedWord
from recollect.recall.run import Run
from recollect.recall.similarity import similarity_of_each_token
from recollect.store.base import Rows, Snapshot
from recollect.store.text_fields import embedding_text
from recollect.text.stopwords import stop_words
from recollect.text.words import stems

MIN_SIMILARITY = 0.4  # pairs of everyday words: puppy and dog .76, meeting and appointment .43; slipped and fix .33


QueryWords: TypeAlias = list[tuple[str, slice]]  # each with the tokens that are its pieces
Similarity: TypeAlias = NDArray[np.float32]  # to each token of the query
WordSimilarity: TypeAlias = tuple[str, int, int, Similarity]  # a word, where it begins and ends, and its similarity


def find_matched_words(
    run: Run, snapshot: Snapshot, rows: Rows, memories: Sequence[Memory]
) -> list[tuple[MatchedWord, ...]]:
    """For each result of a finished run: the words that match a word of the query in meaning alone, in their order.

    For each content word of the query that is the most similar word of the text, if their similarity is at least
    MIN_SIMILARITY and it is not a word of the query itself. There are none where the recipe did not compare tokens, for
    results that are not stored or were changed since, and for texts of more than 64 content tokens, in whose sketches
    tokens are merged.
    """
    found: list[tuple[MatchedWord, ...]] = [()] * len(memories)
    embedder, query = run.embedder, run.embedded_tokens
    token_cues = [cue.name for cue in run.recipe.cues.cues() if isinstance(cue, TokensCue)]
    compared = any(name in run.found and len(run.found[name].keys) for name in token_cues)
    if query is None or not compared or not supports(embedder, TokenSpanEmbedder):
        return found
    texts = {each.id: embedding_text(each) for each in snapshot.memories(rows[rows > 0])}
    places = [at for at, each in enumerate(memories) if texts.get(each.id) == embedding_text(each)]
    query_words = [(word, pieces) for word, pieces in query.word_tokens() if _is_content(word, run)]
    if not places or not query_words:
        return found
    sketches = snapshot.token_sketches(rows[places])
    similarity = np.split(similarity_of_each_token(query.vectors, sketches), np.cumsum(sketches.counts)[:-1])
    spans = embedder.token_spans([texts[memories[at].id] for at in places])
    for at, tokens, of_tokens in zip(places, spans, similarity, strict=True):
        sketched = sketched_tokens([each.token for each in tokens])
        if sketched is not None and len(sketched) == len(of_tokens):
            similar = dict(zip(sketched, of_tokens, strict=True))
            title = len(texts[memories[at].id]) - len(memories[at].text)  # characters before the text
            words = _words(texts[memories[at].id], tokens, similar)
            found[at] = _match(
                run, query_words, [(word, start - title, end - title, of) for word, start, end, of in words]
            )
    return found


def _words(text: str, tokens: Sequence[TokenSpan], similarity: Mapping[int, Similarity]) -> list[WordSimilarity]:
    """The sketched words of a text. ``similarity`` has that of each sketched token, by its place."""
    words: dict[tuple[int, int], list[Similarity]] = {}  # by where they are: a word may be read as several
    for _, pieces in join_pieces([each.token for each in tokens]):
        span = tokens[pieces.start].start, tokens[pieces.stop - 1].end
        words.setdefault(span, []).extend(similarity[at] for at in range(pieces.start, pieces.stop) if at in similarity)
    return [(text[slice(*span)].lower(), *span, np.max(known, 0)) for span, known in words.items() if known]


def _match(run: Run, query_words: QueryWords, words: Sequence[WordSimilarity]) -> tuple[MatchedWord, ...]:
    language = run.query.language
    forms = {form for word, _ in query_words for form in stems(word, language)}
    best: dict[int, MatchedWord] = {}  # by start: a word matches the word of the query that is most similar
    for query_word, pieces in query_words:
        value, word, start, end = max(
            ((float(nearest[pieces].mean()), word, start, end) for word, start, end, nearest in words),
            default=(0.0, "", 0, 0),
        )
        if value < MIN_SIMILARITY or start < 0 or not _is_content(word, run) or forms & {*stems(word, language)}:
            continue
        if start not in best or value > best[start].similarity:
            best[start] = MatchedWord(start, end, query_word, value)
    return tuple(best[start] for start in sorted(best))


def _is_content(word: str, run: Run) -> bool:
    return any(map(str.isalnum, word)) and word not in stop_words(run.query.language)
