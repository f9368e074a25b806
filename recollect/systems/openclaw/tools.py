"""The two tools that an agent is offered over a folder of memory, and what its prompt says of them (O1)."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.model import JsonObject

SEARCH, GET = "memory_search", "memory_get"


def tools(what: str) -> list[JsonObject]:
    """The two tools over a memory that is described so."""

    def tool(name: str, description: str, required: str, **parameters: JsonObject) -> JsonObject:
        schema = {"type": "object", "properties": parameters, "required": [required], "additionalProperties": False}
        return {"name": name, "description": description, "parameters": schema}

    return [
        tool(
            SEARCH,
            f"Mandatory recall step: search {what} by meaning and by words before answering questions about prior "
            "work, decisions, dates, people, preferences or todos; returns the best passages with path and lines.",
            "query",
            query={"type": "string", "description": "What to look for, as a question or as words."},
            maxResults={"type": "integer", "minimum": 1, "description": "How many passages at most."},
            minScore={"type": "number", "minimum": 0, "maximum": 1, "description": "Leave out what scores less."},
        ),
        tool(
            GET,
            f"Read lines of a file of {what} that {SEARCH} has found, to see more around a passage than it returned.",
            "path",
            path={"type": "string", "description": "The path, as in a result."},
            **{"from": {"type": "integer", "minimum": 1, "description": "The first line, counted from 1."}},
            lines={"type": "integer", "minimum": 1, "description": "How many lines."},
        ),
    ]


def prompt_section(offered: Sequence[str], what: str = "MEMORY.md and memory/*.md") -> str:
    """A section for a system prompt, about those of the two tools that are offered; empty when none is."""
    told = []
    if SEARCH in offered:
        told.append(
            "Before answering anything about prior work, decisions, dates, people, preferences or todos: "
            f"run {SEARCH} on {what}."
        )
    if GET in offered:
        told.append(f"Use {GET} to read only the lines that you need.")
    if told:
        told.append("When you have looked and are still not sure, say that you looked.")
    return "\n".join(["## Memory Recall", " ".join(told)]) if told else ""
