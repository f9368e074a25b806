"""A year of one household and its robot, for the pictures in docs/page.md: conversations, notes, places, changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from recollect import Mind

CONVERSATIONS: list[tuple[str, list[tuple[str, str]]]] = [  # when it began, and (speaker, text)
    (
        "2026-01-12T18:05",
        [
            ("Ida", "We live at 4 Mill Lane, above the bakery."),
            ("assistant", "Noted: 4 Mill Lane, above the bakery."),
            ("Ida", "The rent is 800 euros, due on the first of the month."),
            ("Ida", "Anna is allergic to peanuts, so no satay when she visits."),
        ],
    ),
    (
        "2026-03-03T08:40",
        [
            ("Ida", "I prefer tea in the morning, without milk."),
            ("Ben", "My flight to Lisbon leaves on 14 March at 07:25."),
            ("assistant", "I will remind you the evening before."),
            ("Ben", "I sit by the window whenever there is a choice."),
        ],
    ),
    (
        "2026-05-17T19:30",
        [
            ("Ida", "We have moved: we live at 12 Harbour Road now."),
            ("assistant", "Congratulations! I have the new address."),
            ("Ida", "The rent is 950 euros now."),
            ("Ida", "The spare key is with Mrs. Okafor on the second floor."),
        ],
    ),
    (
        "2026-08-09T10:15",
        [
            ("Ben", "The dishwasher leaks again; the plumber is Jonas Weber, 0151 2345."),
            ("assistant", "Shall I call him on Monday?"),
            ("Ben", "Yes, after nine. He charged 120 euros last time."),
            ("Ida", "Anna stays with us from 20 to 27 August."),
        ],
    ),
    (
        "2026-10-21T21:05",
        [
            ("Ida", "I drink coffee in the morning now; tea only in the evening."),
            ("Ben", "Anna's birthday is on 2 December; she wishes for a bicycle bell."),
            ("Ida", "The choir rehearses every Tuesday at half past seven."),
        ],
    ),
]
NOTES: list[tuple[str, str, list[str]]] = [
    ("2026-02-02T09:00", "The blue cup is on the top shelf.", ["kitchen"]),
    ("2026-02-20T11:00", "The charging dock is in the hallway, behind the umbrella stand.", ["home", "robot"]),
    ("2026-04-11T16:20", "Basil needs water every second day; the aloe only twice a month.", ["plants"]),
    ("2026-06-08T12:00", "The bicycle lock opens with 4 7 1 1.", ["home"]),
    ("2026-06-30T08:00", "The warranty of the washing machine ends on 30 June 2028.", ["home", "papers"]),
    (
        "2026-07-19T20:10",
        "Recipe for peanut-free satay: roasted sunflower seeds, lime, chilli, coconut milk.",
        ["kitchen"],
    ),
    ("2026-09-14T07:45", "The cups are in the lower cupboard since the new shelf came.", ["kitchen"]),
]
GRASPS: list[tuple[float, float, str, bool]] = [  # on a table, in metres
    (0.21, 0.83, "The grasp at 9 N slipped off the wet glass.", False),
    (0.34, 0.78, "The grasp at 12 N held the wet glass.", True),
    (0.92, 0.31, "The mug was lifted by its handle at 8 N.", True),
    (1.12, 0.36, "The mug turned in the gripper at 6 N.", False),
    (1.31, 0.62, "The plate was set down without a sound.", True),
    (0.58, 0.22, "The spoon was picked up with the fingertips.", True),
]


def memories() -> list[dict[str, Any]]:
    """All of them, as ``remember_many`` takes them."""
    turns: list[dict[str, Any]] = []
    for start, spoken in CONVERSATIONS:
        began = datetime.fromisoformat(start).replace(tzinfo=UTC)
        for place, (speaker, text) in enumerate(spoken):
            who = {"role": "assistant"} if speaker == "assistant" else {"speaker": speaker, "role": "user"}
            at = began + timedelta(minutes=place)
            turns.append({"text": text, "session": start[:10], "position": place, "created": at, "kind": "turn", **who})
    notes = [{"text": text, "created": f"{at}Z", "tags": tags} for at, text, tags in NOTES]
    grasps = [
        {
            "text": text,
            "created": f"2026-07-0{day}T14:00Z",
            "tags": ["robot"],
            "context": {"spatial": {"position": [x, y]}, "task": {"success": success}},
        }
        for day, (x, y, text, success) in enumerate(GRASPS, 1)
    ]
    return turns + notes + grasps


def fill(mind: Mind) -> None:
    """Store them, with what is linked, superseded and used."""
    mind.remember_many(memories())
    by_text = {memory.text: memory.id for memory in mind.list()}

    def find(start: str) -> str:
        return next(id for text, id in by_text.items() if text.startswith(start))

    mind.supersede(find("We live at 4 Mill Lane"), find("We have moved"))
    mind.link(find("Recipe for peanut-free"), find("Anna is allergic"), "supports")
    mind.link(find("Anna stays with us"), find("Anna is allergic"), "follows")
    mind.link(find("Anna's birthday"), find("Anna stays with us"), "follows")
    mind.contradict(find("The blue cup"), find("The cups are"))
    mind.relate("Anna", "sister of", "Ida")
    mind.relate("Ben", "lives with", "Ida")
    mind.relate("Jonas Weber", "works for", "Ben")
    for query in ("where do we live?", "what is Anna allergic to?", "where is the blue cup?", "what is the rent?"):
        mind.recall(query, 3)
