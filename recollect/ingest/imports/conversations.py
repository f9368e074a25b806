"""Conversations exported by Claude and ChatGPT, and transcripts of Claude Code: a memory for each message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from recollect.errors import InvalidInput
from recollect.ingest.imports.sources import Source, SourceRecord, iterate_objects
from recollect.model import JsonObject

OF_THE_PROGRAM = (
    "<command-",
    "<local-command-",
    "<system-reminder>",
    "[Request interrupted",
)  # in Claude Code's messages
MESSAGE_TYPES = ("text", "multimodal_text", "code")  # of ChatGPT's contents; others are thoughts and tool output


@dataclass(frozen=True, slots=True)
class Message:
    """A message of either format."""

    id: str
    role: str
    text: str
    created: str | float | None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of either format."""

    id: str
    title: str
    messages: list[Message]


def read_claude(source: Source) -> Iterator[SourceRecord]:
    """conversations.json as Claude's settings export it, or the zip file that it comes in."""
    return _read_conversations(source, "claude", "Claude", _parse_claude)


def read_chatgpt(source: Source) -> Iterator[SourceRecord]:
    """conversations.json as ChatGPT's settings export it, or its zip file: the branch that was shown last."""
    return _read_conversations(source, "chatgpt", "ChatGPT", _parse_chatgpt)


def read_claude_code(source: Source) -> Iterator[SourceRecord]:
    """A transcript of Claude Code, as ~/.claude/projects has them: what the user and the assistant wrote."""
    positions: Counter[str] = Counter()
    for item in iterate_objects(source, "line"):
        if item.record is None:
            yield item
            continue
        line, message = item.record, _object(item.record.get("message"))
        session, role = _string(line.get("sessionId")), line.get("type")
        if role not in ("user", "assistant") or not session or line.get("isMeta") or line.get("isSidechain"):
            continue
        content = message.get("content")
        blocks = _joined(block.get("text") for block in _objects(content) if block.get("type") == "text")
        text = content if isinstance(content, str) else blocks
        if not text.strip() or text.lstrip().startswith(OF_THE_PROGRAM):
            continue
        record: JsonObject = {
            "text": text,
            "session": session,
            "position": positions[session],
            "role": role,
            "speaker": "Claude" if role == "assistant" else "user",
            "source": "claude-code",
            "external_id": f"claude-code:{session}/{_string(line.get('uuid')) or positions[session]}",
            "created": line.get("timestamp"),
        }
        positions[session] += 1
        yield SourceRecord(item.place, record)


def _read_conversations(
    source: Source, origin: str, assistant: str, parse: Callable[[JsonObject], Conversation]
) -> Iterator[SourceRecord]:
    for item in iterate_objects(source, "conversation"):
        if item.record is None:
            yield item
            continue
        try:
            conversation = parse(item.record)
        except InvalidInput as error:
            yield SourceRecord(item.place, problem=f"{item.place}: {error}")
            continue
        messages = (message for message in conversation.messages if message.text.strip())
        for position, message in enumerate(messages):
            record: JsonObject = {
                "text": message.text,
                "title": conversation.title,
                "session": conversation.id,
                "position": position,
                "role": message.role,
                "speaker": assistant if message.role == "assistant" else message.role,
                "source": origin,
                "external_id": f"{origin}:{conversation.id}/{message.id or position}",
                "created": message.created,
                "files": message.files,
            }
            yield SourceRecord(f"{item.place}, message {position + 1}", record)


def _parse_claude(record: JsonObject) -> Conversation:
    messages = []
    for each in _list(record, "chat_messages"):
        blocks = each.get("content") or []
        text = _joined(block.get("text") for block in _objects(blocks) if block.get("type") == "text")
        if not text and all(block.get("type") == "text" for block in _objects(blocks)):  # exports before blocks
            text = _string(each.get("text"))
        role = "user" if each.get("sender") == "human" else _string(each.get("sender"))
        attachments = [*_objects(each.get("attachments")), *_objects(each.get("files"))]
        files = tuple(dict.fromkeys(_string(file.get("file_name")) for file in attachments if file.get("file_name")))
        created = each.get("created_at") or record.get("created_at")
        messages.append(Message(_string(each.get("uuid")), role, text, created, files))
    return Conversation(_id(record, "uuid"), _string(record.get("name")), messages)


def _parse_chatgpt(record: JsonObject) -> Conversation:
    messages = []
    for each in _displayed_branch(record):
        author, content = _object(each.get("author")), _object(each.get("content"))
        hidden = _object(each.get("metadata")).get("is_visually_hidden_from_conversation")
        to_tool = each.get("recipient") not in (None, "all")
        if author.get("role") not in ("user", "assistant") or hidden or to_tool:
            continue
        if content.get("content_type", "text") not in MESSAGE_TYPES:
            continue
        parts = content.get("parts") if isinstance(content.get("parts"), list) else [content.get("text")]
        text = _joined(part.get("text") if isinstance(part, dict) else part for part in parts or ())
        created = each.get("create_time") or record.get("create_time")
        messages.append(Message(_string(each.get("id")), author["role"], text, created))
    return Conversation(_id(record, "conversation_id", "id"), _string(record.get("title")), messages)


def _displayed_branch(record: JsonObject) -> list[JsonObject]:
    """The messages from the first to the node that was displayed last; other branches are discarded drafts."""
    nodes = {id: node for id, node in _object(record.get("mapping")).items() if isinstance(node, dict)}
    if not nodes:
        raise InvalidInput("it has no messages (no mapping).")
    at = record.get("current_node")
    if at not in nodes:
        at = max(nodes, key=lambda id: _number(_object(nodes[id].get("message")).get("create_time")))
    messages = []
    while at in nodes:
        node = nodes.pop(at)  # removed, so that a cycle ends
        messages.append(_object(node.get("message")))
        at = node.get("parent")
    return messages[::-1]


# Values of foreign JSON that are missing or of another type count as empty.


def _id(record: JsonObject, *names: str) -> str:
    for name in names:
        if _string(record.get(name)):
            return _string(record.get(name))
    raise InvalidInput(f"it has no {names[0]}, which identifies a conversation.")


def _list(record: JsonObject, name: str) -> list[JsonObject]:
    if not isinstance(record.get(name), list):
        raise InvalidInput(f"it has no list of {name}.")
    return _objects(record[name])


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
