"""The conversation before a query: turns as chat APIs have them, pairs, texts or memories."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from recollect.errors import InvalidInput
from recollect.model import Memory
from recollect.model import validation as check
from recollect.model.limits import check_limit

MAX_TURNS = 6  # the last turns that are read
MAX_CHARACTERS = 2000  # of a turn
TEXT_KEYS = ("text", "content", "parts")  # of a message: ours, that of most chat APIs, that of Gemini
WORDLESS_KEYS = ("tool_calls", "function_call", "type")  # a message with one of them may have no text

History = Iterable[Mapping[str, Any] | tuple[str, str] | list[str] | str | Memory]


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """One turn of a conversation."""

    role: str  # "user", "assistant" or any other; empty when unknown
    text: str


def as_turns(history: History | None) -> tuple[HistoryTurn, ...]:
    """The last turns of a history, oldest first, without empty ones.

    >>> as_turns([{"role": "user", "content": "Which car did I buy?"}, ("assistant", "A Skoda."), "When?"])[1:]
    (HistoryTurn(role='assistant', text='A Skoda.'), HistoryTurn(role='', text='When?'))
    """
    if history is None:
        return ()
    if isinstance(history, (str, Mapping, Memory)) or not isinstance(history, Iterable):
        raise InvalidInput(
            "history must be a list of turns, oldest first, such as "
            f'[{{"role": "user", "text": "Which car did I buy?"}}], not {check.short_repr(history)}.'
        )
    last: deque[Any] = deque(maxlen=MAX_TURNS)
    for number, item in enumerate(history, 1):
        check_limit("history_turns", number, "The history has more turns")
        last.append(item)
    turns = [_turn(item) for item in last]
    return tuple(turn for turn in turns if turn.text.strip())


def _turn(item: object) -> HistoryTurn:
    match item:
        case str():
            role, text = "", item
        case Memory():
            role, text = item.role or item.speaker or "", item.text
        case Mapping():
            role, text = item.get("role") or "", message_text(item)
        case (role, text):
            pass
        case _:
            raise InvalidInput(
                "A turn of the history is a text, a pair (role, text), a Memory, or an object with role and text (or "
                f"content), not {check.short_repr(item)}."
            )
    text = check.string(text, "the text of a turn of the history")
    return HistoryTurn(check.string(role, "the role of a turn of the history"), text[:MAX_CHARACTERS])


def message_text(item: Mapping[str, Any]) -> Any:
    """The text of a chat message: its text, content or parts; of several parts the texts, one below the other.

    Nothing for a message without words, such as the call of a tool.
    """
    if not any(key in item for key in (*TEXT_KEYS, *WORDLESS_KEYS)):
        raise InvalidInput(f"A turn of the history needs a text (or content): {check.short_repr(dict(item))}.")
    content = next((item[key] for key in TEXT_KEYS if item.get(key) is not None), None)
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "\n".join(part for part in parts if isinstance(part, str))
    return "" if content is None else content
