"""The agent tools memory_search and memory_get as JSON schemas, and the prompt section about them (O1)."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.model import JsonObject

SEARCH, GET = "memory_search", "memory_get"


def tool_schemas(description: str) -> list[JsonObject]:
    """The two tools for a memory with this description."""

    def tool(name: str, about: str, required: str, **parameters: JsonObject) -> JsonObject:
        schema = {"type": "object", "properties": parameters, "required": [required], "additionalProperties": False}
        return {"name": name, "description": about, "parameters": schema}

    return [
        tool(
            SEARCH,
            f"Mandatory recall step: search {description} by meaning and by words before answering "
            "questions about prior work, decisions, dates, people, preferences or todos; returns the best passages "
            "with path and lines.",
            "query",
            query={"type": "string", "description": "What to look for, as a question or as words."},
            maxResults={"type": "integer", "minimum": 1, "description": "How many passages at most."},
            minScore={
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "description": "Leave out what scores less, from 0 (nothing) to 1.",
            },
        ),
        tool(
            GET,
            f"Read lines of a file of {description} that {SEARCH} has found, to see more around a passage than it "
            "returned.",
            "path",
            path={"type": "string", "description": "The path, as in a result."},
            **{"from": {"type": "integer", "minimum": 1, "description": "The first line, counted from 1."}},
            lines={"type": "integer", "minimum": 1, "description": "How many lines."},
        ),
    ]


def prompt_section(offered: Sequence[str], description: str = "MEMORY.md and memory/*.md") -> str:
    """A section for a system prompt about the offered tools; empty when none is offered."""
    sentences = []
    if SEARCH in offered:
        sentences.append(
            "Before answering anything about prior work, decisions, dates, people, preferences or todos: "
            f"run {SEARCH} on {description}."
        )
    if GET in offered:
        sentences.append(f"Use {GET} to read only the lines that you need.")
    if sentences:
        sentences.append("When you have looked and are still not sure, say that you looked.")
    return "\n".join(["## Memory Recall", " ".join(sentences)]) if sentences else ""
