"""The query in the language of the memories beside the original, as the caller gives it or as a model translates it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from recollect.chat import ChatModel, one_line, resolve_hook
from recollect.recall.query_parsing import ContentWords, ParsedQuery
from recollect.recall.run import Run
from recollect.text.languages import detect_language
from recollect.text.words import stem
from recollect.threads import call_within

Translate = Callable[[str], str]

MAX_CHARACTERS = 1000
LANGUAGE = "en"  # the document's content_en
TASK = (
    "You get JSON with a search query. Translate it into English; leave names, numbers and code as they are. Reply as "
    '{"translation": "…"}.'
)


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """Vectors, signatures and names are those of the translation, and the words of both are looked up.

    Without ``text``, ``translate`` is called for a query that is not English. When it fails, the trace has the reason
    and the query is searched as it is.
    """

    text: str | None = None
    translate: Translate | None = None
    seconds: float = 10.0

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        original = ContentWords().read(query, run)
        text = self.text or self._translation(query.text, run)
        if not text:
            return original
        run.log("translated", text)
        translated = ContentWords().read(replace(query, text=text), run)
        known = {stem(term.word) for term in translated.terms}
        others = tuple(term for term in original.terms if stem(term.word) not in known)
        return replace(translated, terms=(*translated.terms, *others))

    def _translation(self, query: str, run: Run) -> str:
        translate = self.translate
        if translate is None or detect_language(query) == LANGUAGE:
            return ""
        left = run.seconds_left()
        seconds = self.seconds if left is None else min(left, self.seconds)
        try:
            text = one_line(call_within(lambda: translate(query), seconds, "the translation"), MAX_CHARACTERS)
        except Exception as problem:
            run.log("not translated", f"{type(problem).__name__}: {problem}")
            return ""
        if not text:
            run.log("not translated", "the translation is empty")
        return text


def resolve_translation(translate: Translate | ChatModel | str | None) -> Translate | None:
    """A chat model ("chat", "URL MODEL" or a ChatModel), a function, or None."""

    def by_chat(model: ChatModel) -> Translate:
        return lambda query: str(model.reply_object(TASK, {"query": query}, "translation")["translation"] or "")

    return resolve_hook(translate, "translate", by_chat, "a query to its translation")
