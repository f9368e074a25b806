"""Conversations that Claude and ChatGPT hand out: one memory a message, with its session and its place in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from recollect.errors import InvalidInput
from recollect.ingest.imports.sources import Item, Source, objects
from recollect.model import JsonObject

SPOKEN = ("text", "multimodal_text", "code")  # of ChatGPT's contents; the others are thoughts and what tools said


@dataclass(frozen=True, slots=True)
class Message:
    """What one message of either format says."""

    id: str
    role: str
    text: str
    created: str | float | None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation of either format."""

    id: str
    title: str
    messages: list[Message]


def claude(source: Source) -> Iterator[Item]:
    """conversations.json as Claude's settings export it, or the zip file that it comes in."""
    return _talks(source, "claude", "Claude", _claude_talk)


def chatgpt(source: Source) -> Iterator[Item]:
    """conversations.json as ChatGPT's settings export it, or its zip file: the branch that was shown last."""
    return _talks(source, "chatgpt", "ChatGPT", _chatgpt_talk)


def _talks(source: Source, origin: str, assistant: str, talk_of: Callable[[JsonObject], Talk]) -> Iterator[Item]:
    for item in objects(source, "conversation"):
        if item.record is None:
            yield item
            continue
        try:
            talk = talk_of(item.record)
        except InvalidInput as problem:
            yield Item(item.place, problem=f"{item.place}: {problem}")
            continue
        spoken = (message for message in talk.messages if message.text.strip())
        for position, message in enumerate(spoken):
            record: JsonObject = {
                "text": message.text,
                "title": talk.title,
                "session": talk.id,
                "position": position,
                "role": message.role,
                "speaker": assistant if message.role == "assistant" else message.role,
                "source": origin,
                "external_id": f"{origin}:{talk.id}/{message.id or position}",
                "created": message.created,
                "files": message.files,
            }
            yield Item(f"{item.place}, message {position + 1}", record)


def _claude_talk(talk: JsonObject) -> Talk:
    messages = []
    for each in _list(talk, "chat_messages"):
        blocks = each.get("content") or []
        text = _joined(block.get("text") for block in _objects(blocks) if block.get("type") == "text")
        if not text and all(block.get("type") == "text" for block in _objects(blocks)):  # exports before blocks
            text = _string(each.get("text"))
        role = "user" if each.get("sender") == "human" else _string(each.get("sender"))
        attached = [*_objects(each.get("attachments")), *_objects(each.get("files"))]
        files = tuple(dict.fromkeys(_string(file.get("file_name")) for file in attached if file.get("file_name")))
        created = each.get("created_at") or talk.get("created_at")
        messages.append(Message(_string(each.get("uuid")), role, text, created, files))
    return Talk(_id(talk, "uuid"), _string(talk.get("name")), messages)


def _chatgpt_talk(talk: JsonObject) -> Talk:
    messages = []
    for each in _branch(talk):
        author, content = _object(each.get("author")), _object(each.get("content"))
        hidden = _object(each.get("metadata")).get("is_visually_hidden_from_conversation")
        to_a_tool = each.get("recipient") not in (None, "all")
        if author.get("role") not in ("user", "assistant") or hidden or to_a_tool:
            continue
        if content.get("content_type", "text") not in SPOKEN:
            continue
        spoken = content.get("parts") if isinstance(content.get("parts"), list) else [content.get("text")]
        text = _joined(part.get("text") if isinstance(part, dict) else part for part in spoken or ())
        created = each.get("create_time") or talk.get("create_time")
        messages.append(Message(_string(each.get("id")), author["role"], text, created))
    return Talk(_id(talk, "conversation_id", "id"), _string(talk.get("title")), messages)


def _branch(talk: JsonObject) -> list[JsonObject]:
    """The messages from the beginning to the node that was shown last; other branches are drafts that were left."""
    nodes = {id: node for id, node in _object(talk.get("mapping")).items() if isinstance(node, dict)}
    if not nodes:
        raise InvalidInput("it has no messages (no mapping).")
    at = talk.get("current_node")
    if at not in nodes:
        at = max(nodes, key=lambda id: _number(_object(nodes[id].get("message")).get("create_time")))
    messages = []
    while at in nodes:
        node = nodes.pop(at)  # taken out, so that a ring ends
        messages.append(_object(node.get("message")))
        at = node.get("parent")
    return messages[::-1]


# Foreign JSON is taken as it is meant: what is not there or of another type counts as empty.


def _id(talk: JsonObject, *names: str) -> str:
    for name in names:
        if _string(talk.get(name)):
            return _string(talk.get(name))
    raise InvalidInput(f"it has no {names[0]}, so that it could not be told apart from others.")


def _list(talk: JsonObject, name: str) -> list[JsonObject]:
    if not isinstance(talk.get(name), list):
        raise InvalidInput(f"it has no list of {name}.")
    return _objects(talk[name])


def _objects(value: Any) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float:
    return value if isinstance(value, (int, float)) else 0.0


def _joined(texts: Iterable[Any]) -> str:
    return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())
