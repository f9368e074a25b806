"""The operations of robots and of agents with notes: sessions, perceptions, memory_search and memory_get, folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

from recollect.errors import InvalidInput, NotFound, RecollectError
from recollect.model import JsonObject
from recollect.service.operations import Service, operation
from recollect.service.parameters import Query, any_json, choice, mapping, nullable, number, one_of, text, texts, whole
from recollect.service.records import COUNT, MOMENT, NUMBER, TEXT, array, memory_json, record, ref

if TYPE_CHECKING:
    from recollect.systems.openclaw.workspace import Workspace
    from recollect.systems.robotmem.robot import Robot

PERCEPTIONS = ("visual", "tactile", "auditory", "proprioceptive", "procedural")
Collection = Annotated[str | None, text("The robot's collection; by default that of the access, or main.", most=1_000)]
SessionContext = Annotated[
    Any,
    one_of("Anything structured, such as task, params, spatial, robot, env; or a free text.", mapping(""), text("")),
]


def _robot(service: Service, collection: str | None) -> Robot:
    from recollect.systems.robotmem.robot import Robot

    return Robot(service.mind, collection)


@operation("POST", "/sessions", scope="write", returns=record(session_id=TEXT), tools=("robot",), creates=True)
def start_session(service: Service, context: SessionContext = None, collection: Collection = None) -> JsonObject:
    """Begin an episode, and return its session_id for what belongs to it.

    Use it at the start of a task or a conversation. Pass the session_id as ``session`` of remember.
    """
    return {"session_id": _robot(service, collection).start_session(context)}


ENDED = record(
    session_id=TEXT,
    outcome_score=nullable(NUMBER),
    memories=COUNT,
    merged={"type": "object", "additionalProperties": TEXT},
)


@operation("POST", "/sessions/{session_id}/end", scope="write", returns=ENDED, tools=("robot",))
def end_session(
    service: Service,
    session_id: Annotated[str, text("The session, as start_session returned it.", most=1_000, least=1)],
    outcome_score: Annotated[float | None, number("How well it went, from 0 to 1.")] = None,
    collection: Collection = None,
) -> JsonObject:
    """End an episode: record how well it went, and supersede duplicates within it.

    Use it at the end of a task or a conversation.
    """
    ended = _robot(service, collection).end_session(session_id, outcome_score)
    return {
        "session_id": ended.session_id,
        "outcome_score": ended.outcome_score,
        "memories": ended.memories,
        "merged": ended.merged,
    }


@operation("POST", "/perceptions", scope="write", returns=ref("Memory"), tools=("robot",), creates=True)
def save_perception(
    service: Service,
    description: Annotated[str, text("What was perceived, in words.", most=100_000, least=1)],
    perception_type: Annotated[str, choice("By which sense.", PERCEPTIONS)] = "visual",
    data: Annotated[Any, any_json("The measured values: any JSON.")] = None,
    context: SessionContext = None,
    session_id: Annotated[str | None, text("The session that it belongs to.", most=1_000)] = None,
    collection: Collection = None,
) -> JsonObject:
    """Store a perception of a robot, with its data.

    Use it for what was seen, felt or heard, as opposed to what was concluded from it: that is remembered.
    """
    robot = _robot(service, collection)
    perception: Any = perception_type
    return memory_json(robot.save_perception(description, perception, data, context, session_id))


# Notes: the folders that were synced into this memory on the server.


FOUND = record(
    {"collection": TEXT, "citation": TEXT},
    path=TEXT,
    startLine=COUNT,
    endLine=COUNT,
    text=TEXT,
    score=NUMBER,
    snippet=TEXT,
)
SEARCHED = record(
    {"lowConfidence": {"type": "boolean"}},
    results=array(FOUND),
    provider=TEXT,
    model=nullable(TEXT),
    citations=TEXT,
)


def open_workspaces(service: Service) -> list[Workspace]:
    """The folders that were synced into this memory and are within the bound of the caller."""
    from recollect.systems.openclaw.workspace import Workspace, followed_folders

    opened, folders = service.workspaces, followed_folders(service.mind)
    for name, stored in folders.items():
        if name not in opened or str(opened[name].folder.root) != stored["root"]:
            opened[name] = Workspace(stored["root"], mind=service.mind, collection=name, search=service.search)
    return [opened[name] for name in folders]


@operation("POST", "/notes/search", scope="read", returns=SEARCHED, tools=("notes",))
def memory_search(
    service: Service,
    query: Query,
    maxResults: Annotated[int | None, whole("How many passages at most.")] = None,  # noqa: N803 (O1)
    minScore: Annotated[float | None, number("Leave out what scores less, from 0 (nothing) to 1.")] = None,  # noqa: N803
) -> JsonObject:
    """Mandatory recall step: search the notes by meaning and by words.

    Use it before answering questions about prior work, decisions, dates, people, preferences or todos; returns the best
    passages with path and lines.
    """
    spaces = open_workspaces(service)
    if not spaces:
        model = service.mind.embedder
        return {"results": [], "provider": "none", "model": model and model.name, "citations": "auto"}
    return spaces[0].search(query, maxResults, minScore, others=spaces[1:])


LINES = record(path=TEXT, text=TEXT, startLine=COUNT, endLine=COUNT, lines=COUNT)
SEARCH_FIRST = "Find the note with memory_search, and give the path of a result."


@operation("GET", "/notes/lines", scope="read", returns=LINES, tools=("notes",))
def memory_get(
    service: Service,
    path: Annotated[str, text("The path, as in a result of memory_search.", most=4_000, least=1)],
    from_: Annotated[int | None, whole("The first line, counted from 1.", 1, 10_000_000)] = None,
    lines: Annotated[int | None, whole("How many lines.", 1, 100_000)] = None,
) -> JsonObject:
    """Read lines of a note that memory_search has found, to see more around a passage than it returned."""
    problem: RecollectError = NotFound(f"{path} is not in the index; give a path as search results have it.")
    problem.advise(SEARCH_FIRST)
    spaces = open_workspaces(service)
    if os.path.isabs(os.path.expanduser(path)):  # the location of a folder is not disclosed
        spaces = [space for space in spaces if path in space.files()]
    for space in spaces:
        try:
            return space.get(path, from_, lines)
        except NotFound as error:
            problem = error.advise(SEARCH_FIRST)
        except InvalidInput as error:
            problem = error
    raise problem


FOLDER = record(
    {"root": TEXT},
    collection=TEXT,
    files=COUNT,
    chunks=COUNT,
    problems={"type": "object", "additionalProperties": TEXT},
    synced=nullable(MOMENT),
)


@operation("GET", "/folders", scope="read", returns=record(folders=array(FOLDER)))
def folders(
    service: Service,
    collections: Annotated[list[str] | None, texts("Only the folders of these collections.", most=1_000)] = None,
) -> JsonObject:
    """The folders of notes in this memory: how many files and passages, when they were synced, and unreadable files."""
    store = service.mind.store
    listed = []
    for name, stored in store.folders().items():
        if stored.get("stands_in_for") or (collections is not None and name not in collections):
            continue
        files = store.files(name)
        listed.append(
            {
                "collection": name,
                "files": len(files),
                "chunks": len(store.chunk_ids(name)),
                "problems": {path: each.problem for path, each in files.items() if each.problem},
                "synced": stored.get("synced") or None,
                **({"root": str(stored["root"])} if service.scope == "admin" else {}),
            }
        )
    return {"folders": listed}
