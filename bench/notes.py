"""A vault of 300 generated notes: how often `search` and `recall` have the right note first, or among five.

``python bench/notes.py`` prints the table; ``--misses`` lists the queries whose note is not first, and ``--keep
FOLDER`` writes the vault there. Ticket ids are in file names, headings, front matter, lists and code blocks; others
have the same number with another prefix, or mention the ticket in passing. A question has one note that answers it.
"""

import argparse
import os
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parent
SIZE = 300  # notes
PLACES = ("file name", "heading", "front matter", "list", "code block")
NAMING = ("file name", "heading", "front matter")  # a ticket that is mentioned elsewhere, too, has its id here
IDS_IN_EACH_PLACE = 6
PEOPLE = ("Mara Lindqvist", "Tom Abara", "Ines Calder", "Yusuf Demir", "Petra Novak", "Oskar Bloom", "Lena Fischer")
SYSTEMS = ("billing", "search index", "login service", "mail relay", "image cache", "report export", "job queue")
SYMPTOMS = ("times out", "returns old data", "uses too much memory", "loses messages", "starts slowly", "logs nothing")
ACTIONS = (
    "raise the limit and watch the graphs",
    "restart the workers one by one",
    "move the table to the new cluster",
    "write a test that fails first",
    "ask the vendor for a fixed build",
    "turn the feature off for new customers",
)
ASIDES = (
    "We looked at the dashboards together and agreed on the order of the steps.",
    "Nobody was sure which version is deployed in the second region.",
    "The numbers of last quarter are in the shared sheet.",
    "This came up before, in spring, and was closed without a fix.",
    "Costs are about the same for both variants.",
    "The customer was informed by phone and is fine with waiting.",
)

# The path of a note, a question, and the passage that answers it.
FACTS = """
decisions/login.md
what did we decide about authentication?
Decision: sessions use signed tokens that expire after a day; passwords are no longer stored by us.

runbooks/restore.md
how do I restore the database from a backup?
To bring the data back, stop the writers, unpack the newest dump and replay the log up to the failure.

people/suppliers.md
who is the contact at the hosting company?
Our account manager at the data centre is Frida Holm, phone extension 4410.

office/keys.md
where is the spare key of the server room?
The second key of the rack room hangs in the grey cabinet behind reception.

decisions/mobile.md
why did we drop the mobile app?
The phone client was given up because only two percent used it and each release took a month.

people/petra.md
what does Petra prefer for code reviews?
Petra wants small pull requests and comments in writing, not in a call.

office/holidays.md
how many days of vacation do new employees get?
Everybody starts with 28 days off a year, plus the week after Christmas.

office/kitchen.md
which coffee machine did we order?
We bought the two-group espresso maker by Rocket; it is descaled on the first Monday of a month.

projects/lisbon.md
what is the budget for the conference?
For the trip to the summit in Lisbon there are 6,500 euros, hotel included.

runbooks/release.md
how do we deploy to production?
A release goes live when the tag is pushed: the pipeline builds, runs the smoke tests and switches the traffic.

incidents/2025-03-12.md
what caused the outage in March 2025?
Root cause of the downtime on 12 March: the certificate of the load balancer had run out.

people/on-call.md
who takes over the on-call shift from Tom?
From the first of May Ines carries the pager instead of Tom.

projects/uploads.md
how large may uploads be?
Files above 25 megabytes are refused with status 413.

office/slides.md
which font do we use in presentations?
Slides are set in Source Sans, headlines in semibold, never below 18 points.

runbooks/credentials.md
how do I rotate the API keys?
Create the second credential, put it into the vault, redeploy, and revoke the first one a day later.

office/contracts.md
when does the contract with the cleaning company end?
The agreement about cleaning runs until 30 September 2026 with three months notice.

projects/preview.md
what was the feedback of the beta testers?
Those who tried the preview liked the speed and missed an undo button.

incidents/double-invoice.md
why are invoices sent twice?
Customers got the bill two times because a retry did not check whether the first mail had gone out.

runbooks/laptop.md
how do I set up a new laptop?
For a fresh machine: encrypt the disk, install the profile, join the network, then run bootstrap.

decisions/privacy.md
what did the lawyer say about storing addresses?
Legal advice: postal data must be erased two years after the last order unless the customer objects.

projects/sandboxes.md
which test environment has real payments?
Only the sandbox called Heron is connected to the live card processor.

people/lunch.md
what is Yusuf allergic to?
For lunch orders: Yusuf cannot eat hazelnuts, and Mara eats no fish.
"""
UNANSWERED = (
    "how tall is the lighthouse of the island?",
    "which violin concerto did the orchestra play?",
    "what is the recipe for sourdough bread?",
    "who won the chess tournament for juniors?",
    "how often must orchids be watered?",
    "OPS-9999",
    "what breed is the neighbour's dog?",
    "which glacier did they cross on skis?",
    "BUILD-77",
    "how do bees find their way home?",
)


def main() -> int:
    options = _options()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(HOME.parent))
    from recollect import FolderSettings, SearchSettings, Workspace

    with tempfile.TemporaryDirectory() as temporary:
        root = options.keep or Path(temporary) / "vault"
        queries = write_vault(root)
        searches = {"search": SearchSettings(), "search, openclaw": SearchSettings(recipe="openclaw")}
        ways: dict[str, Callable[[str], Any]] = {}
        with Workspace(root, db=Path(temporary) / "notes.db", settings=FolderSettings(layout="vault")) as first:
            report = first.sync()
            print(f"{len(report.added)} notes, {report.chunks_added} chunks, {len(queries)} queries")
            for name, settings in searches.items():
                ways[name] = Workspace(root, mind=first.mind, search=settings).search
            ways["recall"] = lambda query: {
                "results": [{"path": each.memory.path} for each in first.mind.recall(query)]
            }
            for name, ask in ways.items():
                _measure(name, ask, queries, options.misses)
    return 0


def _measure(name: str, ask: Callable[[str], Any], queries: list[tuple[str, str, str]], misses: bool) -> None:
    rows: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    shares = []
    for kind, query, path in queries:
        answer = ask(query)
        paths = [each["path"] for each in answer["results"]]
        scores = [each.get("score", 0) for each in answer["results"]]
        found = bool(paths) and paths[0] == path, path in paths[:5]
        if path in paths and scores[0]:
            shares.append(scores[paths.index(path)] / scores[0])
        for row in ("all", kind):
            rows[row].append(found)
        if misses and not found[0]:
            print(f"    {name}: {query!r} expects {path}, has {paths[:3]}")
    print(f"\n{name:<28}{'queries':>8}{'first':>8}{'in five':>9}")
    for row, values in rows.items():
        first, five = (sum(value[at] for value in values) for at in (0, 1))
        print(f"  {row:<26}{len(values):>8}{first:>8}{five:>9}")
    silent = [ask(query) for query in UNANSWERED]
    said = [not each["results"] or each.get("lowConfidence", False) for each in silent]
    low = sum(ask(query).get("lowConfidence", False) for _, query, _ in queries)
    print(
        f"  nothing, or low confidence: {sum(said)} of {len(said)} without an answer, {low} of {len(queries)} with one"
    )
    if shares:
        print(f"  score of the right note ÷ best score: lowest {min(shares):.2f}")


def write_vault(root: Path, size: int = SIZE, seed: int = 7) -> list[tuple[str, str, str]]:
    """Write the notes; returns the queries: their kind, their text, and the path of the right note."""
    random_of = random.Random(seed)
    numbers = random_of.sample(range(1000, 9000), len(PLACES) * IDS_IN_EACH_PLACE)
    queries, notes = [], {}
    subjects = [number for at, number in enumerate(numbers) if PLACES[at % len(PLACES)] in NAMING]
    for at, number in enumerate(numbers):
        place, id = PLACES[at % len(PLACES)], f"OPS-{number}"
        path, text = _ticket_note(random_of, place, id)
        notes[path] = text
        query = id if at % 2 else f"what is the state of {id}?"
        queries.append((f"id in {place}", query, path))
    for path, question, passage in (fact.split("\n") for fact in FACTS.strip().split("\n\n")):
        notes[path] = _note(random_of, Path(path).stem.capitalize(), passage)
        queries.append(("question", question, path))
    while len(notes) < size:
        other, near = random_of.choice(numbers), random_of.choice(numbers) + 1
        day = f"2025-{random_of.randrange(1, 13):02}-{random_of.randrange(1, 29):02}"
        system = random_of.choice(SYSTEMS)
        aside = random_of.choice(
            (
                f"The import had {other} rows and {near} warnings.",
                f"Not to be confused with PAY-{other}.",
                f"Related: OPS-{near} was closed by {random_of.choice(PEOPLE)}.",
                f"Afterwards we spoke about OPS-{random_of.choice(subjects)} for a minute, no news.",
            )
        )
        kind = random_of.choice(("meetings", "projects", "journal"))
        notes[f"{kind}/{day} {system}.md"] = _note(random_of, f"{system.capitalize()} on {day}", aside)
    for path, text in notes.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return queries


def _ticket_note(random_of: random.Random, place: str, id: str) -> tuple[str, str]:
    """The path and the text of the note of a ticket, whose id is in one place only."""
    system, symptom = random_of.choice(SYSTEMS), random_of.choice(SYMPTOMS)
    statement = f"The {system} {symptom}. {random_of.choice(PEOPLE)} works on it."
    name = f"tickets/{system} {random_of.randrange(10**6)}.md"
    title = f"{system.capitalize()} {symptom}"
    match place:
        case "file name":
            return f"tickets/{id} {system}.md", _note(random_of, title, statement)
        case "heading":
            return name, _note(random_of, f"{id}: {title}", statement)
        case "front matter":
            return name, f"---\nticket: {id}\nowner: {random_of.choice(PEOPLE)}\n---\n\n" + _note(
                random_of, title, statement
            )
        case "list":
            return name, _note(
                random_of, title, f"- {statement}\n- tracked as {id}\n- priority {random_of.randrange(1, 5)}"
            )
        case _:
            return name, _note(random_of, title, f"{statement}\n\n```sh\ngit checkout -b fix/{id}\nmake test\n```")


def _note(random_of: random.Random, title: str, passage: str) -> str:
    """A note with the passage in one of its sections."""
    sections = [
        f"## {heading}\n\n{random_of.choice(ASIDES)} {random_of.choice(ASIDES)}\n\n"
        f"- {random_of.choice(PEOPLE)}: {random_of.choice(ACTIONS)}\n"
        f"- {random_of.choice(PEOPLE)}: {random_of.choice(ACTIONS)}"
        for heading in random_of.sample(("Background", "Next steps", "Open points", "Notes", "Log"), 3)
    ]
    sections.insert(
        random_of.randrange(len(sections) + 1), passage if random_of.random() < 0.5 else f"## Summary\n\n{passage}"
    )
    return f"# {title}\n\n" + "\n\n".join(sections) + "\n"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true", help="list the queries whose note is not first")
    parser.add_argument("--keep", type=Path, help="write the vault into this folder")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
