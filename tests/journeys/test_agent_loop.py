"""A day with an agent, from its side: what it keeps of a conversation, asks for, corrects and lets go."""

from __future__ import annotations

from pathlib import Path

from recollect import Filter, Mind
from tests.conftest import Clock

MONDAY = [
    ("alice", "My flight to Lisbon leaves on Thursday at nine."),
    ("agent", "Noted. Shall I book the airport train?"),
    ("alice", "Yes, and please book an aisle seat, never a window seat."),
    ("bob", "I am allergic to peanuts."),
]
TUESDAY = [
    ("alice", "The flight was moved to Friday at noon."),
    ("agent", "I have moved the airport train, too."),
]


def remember_session(mind: Mind, clock: Clock, session: str, turns: list[tuple[str, str]]) -> None:
    """One memory a turn. The external id makes it safe to hand in a session twice."""
    for position, (speaker, text) in enumerate(turns):
        mind.remember(
            text,
            session=session,
            speaker=speaker,
            role="assistant" if speaker == "agent" else "user",
            position=position,
            external_id=f"{session}/{position}",
        )
        clock.advance(seconds=30)


def test_an_agent_remembers_recalls_corrects_forgets_and_takes_back(path: Path, clock: Clock) -> None:
    # Two sessions are kept as they happen; handing one in again changes nothing.
    with Mind(path, embedder=None, clock=clock, collection="assistant") as mind:
        remember_session(mind, clock, "monday", MONDAY)
        clock.advance(days=1)
        remember_session(mind, clock, "tuesday", TUESDAY)
        remember_session(mind, clock, "monday", MONDAY)
        assert len(mind.list()) == 6
        assert [turn.text for turn in mind.list(Filter(session="tuesday"))][-1] == TUESDAY[0][1]

    # The next day another process opens the same file and asks.
    clock.advance(days=1)
    with Mind(path, embedder=None, clock=clock, collection="assistant") as mind:
        found = mind.recall("when does the flight leave?", k=2, filter=Filter(speaker="alice"))
        assert {result.text for result in found} == {MONDAY[0][1], TUESDAY[0][1]}
        assert all(result.why.evaluate() == result.score for result in found)
        assert [result.memory.session for result in mind.recall("flight", filter={"not": {"session": "monday"}})] == [
            "tuesday"
        ]
        assert mind.recall("peanuts", filter=Filter(speaker="alice"))[:] == []

        # What Monday said about the flight no longer holds, and Tuesday's turn says so.
        (monday,) = mind.list(Filter(session="monday", speaker="alice") & ~Filter(context={"about": "seat"}))[-1:]
        (tuesday,) = mind.list(Filter(session="tuesday", speaker="alice"))
        mind.link(tuesday.id, monday.id, "supersedes")
        mind.edit(monday.id, status="superseded", valid_to=tuesday.created.isoformat() if tuesday.created else None)
        best = mind.recall("when does the flight leave?", filter=Filter(status="active", speaker="alice"))[0]
        assert best.text == "The flight was moved to Friday at noon."
        assert mind.recall("flight", filter=Filter(speaker="alice"), as_of="2025-01-01T18:00Z")[0].text == MONDAY[0][1]
        assert [edge.kind for edge in mind.edges(monday.id)] == ["supersedes"]

        # Bob asks to be forgotten; the agent forgets too much, takes it back and does it right.
        mind.forget(*(turn.id for turn in mind.list(Filter(session="monday"))), reason="Bob asked for it")
        assert mind.recall("aisle seat")[:] == []
        undone = mind.undo()
        assert undone is not None
        assert undone.verb == "forget"
        assert mind.recall("aisle seat")[0].memory.speaker == "alice"
        bob = [turn.id for turn in mind.list(Filter(speaker="bob"))]
        assert mind.forget(*bob, reason="Bob asked for it") == 1
        assert mind.recall("who is allergic to peanuts?")[:] == []
        assert "forgotten" in mind.why_not("peanuts", bob[0]).reason

        # What was used is known, and everything can be carried to another file.
        assert mind.show(tuesday.id).use.access_count > 0
        carried = list(mind.export())
    with Mind(path.with_name("elsewhere.db"), embedder=None, clock=clock) as elsewhere:
        receipt = elsewhere.import_(carried)
        assert (receipt.added, receipt.changed, receipt.same) == (6, 0, 0)
        assert list(elsewhere.export()) == carried
        assert elsewhere.recall("aisle seat")[0].text == MONDAY[2][1]
