"""The operations that recall and explain: recall, context, why, why_not, compare, recipes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from recollect.errors import InvalidInput
from recollect.model import JsonObject
from recollect.recall.packing import nothing_fits, tokens
from recollect.service.operations import Service, operation
from recollect.service.parameters import (
    FILTER,
    HISTORY,
    MAX_BUDGET,
    SETTINGS_OF_SERVER,
    Id,
    Query,
    check_settings,
    flag,
    mapping,
    moment,
    nullable,
    number,
    one_of,
    text,
    texts,
    whole,
)
from recollect.service.records import (
    COUNT,
    NUMBER,
    RECALL,
    TEXT,
    add_matched_words,
    array,
    brief_json,
    explanation_json,
    memory_json,
    plain,
    recall_json,
    record,
    ref,
    shares_json,
    trace_json,
)

K = Annotated[int | None, whole("How many results.")]
RecipeName = Annotated[str, text("The recipe that ranks; see recipes.", most=100, least=1)]
Settings = Annotated[Mapping[str, Any] | None, mapping("Settings of the recipe, by name.")]
FilterArgument = Annotated[Any, FILTER]
History = Annotated[list[Any] | None, HISTORY]
AsOf = Annotated[str | None, moment("Recall what was valid at this moment: an ISO date.")]
Now = Annotated[str | None, moment("The moment of the query, if not now: an ISO date.")]
Zone = Annotated[str | None, text("The time zone in which days begin, such as Europe/Berlin.", most=100)]
Track = Annotated[bool, flag("Whether to count the use of the results.")]
Abstain = Annotated[
    bool | float,
    one_of(
        "Return nothing when the confidence is below the recipe's threshold (true), or below a number from 0 to 1.",
        flag(""),
        number(""),
    ),
]
Deadline = Annotated[float | None, number("Seconds; steps that would start later are skipped.", 0.0, 600.0)]
Explain = Annotated[bool, flag("Whether each result has the whole tree of its score.")]
WithMatchedWords = Annotated[
    bool, flag("Whether each result has the words of its text that match a word of the query in meaning alone.")
]
WithTrace = Annotated[bool, flag("Whether to return what each step did, and whom it left out.")]
LeftOut = Annotated[int, whole("How many left-out memories each step of the trace lists.", 0, 1_000)]
SHOWN = ("k", "filter", "history", "as_of", "now", "tz")  # to agents, beside what each operation has of its own


def _options(recipe: str, settings: Mapping[str, Any] | None, **options: Any) -> dict[str, Any]:
    """The arguments of Mind.recall, with the settings of the recipe."""
    chosen = check_settings(recipe, settings or {})
    clash = [name for name in chosen if name in options or name in ("query", "k", "recipe")]
    if clash:
        raise InvalidInput(f"settings.{clash[0]} is an argument of its own.")
    history = options.pop("history", None)
    return {**options, "history": history or (), "recipe": recipe, **chosen}


@operation(
    "POST",
    "/recall",
    scope="read",
    returns=RECALL,
    tools=("basic", "robot"),
    shown=("query", *SHOWN, "budget", "abstain"),
)
def recall(
    service: Service,
    query: Query,
    k: K = None,
    recipe: RecipeName = "default",
    settings: Settings = None,
    filter: FilterArgument = None,
    history: History = None,
    as_of: AsOf = None,
    now: Now = None,
    tz: Zone = None,
    abstain: Abstain = False,
    budget: Annotated[int | None, whole("Return what is most useful within this many tokens.", 1, MAX_BUDGET)] = None,
    track: Track = True,
    deadline: Deadline = None,
    explain: Explain = False,
    matched_words: WithMatchedWords = False,
    trace: WithTrace = False,
    left_out: LeftOut = 20,
) -> JsonObject:
    """Find what is remembered about a query, best first, each with the reason why it came.

    Use it before answering anything that may depend on earlier conversations, decisions, preferences, people, places
    or events. Pass the turns before the query as history when it is a follow-up. With low_confidence, probably nothing
    here answers the query.
    """
    options = _options(
        recipe,
        settings,
        filter=filter,
        history=history,
        as_of=as_of,
        now=now,
        tz=tz,
        abstain=abstain,
        track=track,
        deadline=deadline,
    )
    found = service.mind.recall(query, 100 if budget is not None and k is None else k, **options)
    shown = recall_json(found, explain)
    if matched_words:
        add_matched_words(shown["results"], found)
    if budget is not None:
        chosen = {result.rank for result in found.packed(budget)}
        shown["results"] = [each for each in shown["results"] if each["rank"] in chosen]
        if found and not chosen:
            shown["nothing_fits"] = nothing_fits(budget, tokens(found[0].text + "\n"))
    if trace:
        with service.mind.store.snapshot() as snapshot:
            shown["trace"] = trace_json(found.trace, snapshot, left_out)
    return shown


CONTEXT = record(
    text=TEXT,
    tokens=COUNT,
    memories=array(ref("Memory")),
    confidence=nullable(NUMBER),
    low_confidence={"type": "boolean"},
    low_confidence_reason=TEXT,
    missing_time=TEXT,
    best_needs=COUNT,
    outdated=array(TEXT),
)


@operation(
    "POST", "/context", scope="read", returns=CONTEXT, tools=("more",), shown=("query", "budget", *SHOWN[1:], "abstain")
)
def context(
    service: Service,
    query: Query,
    budget: Annotated[int, whole("How many tokens the text may take.", 1, MAX_BUDGET)] = 1_000,
    recipe: RecipeName = "default",
    settings: Settings = None,
    filter: FilterArgument = None,
    history: History = None,
    as_of: AsOf = None,
    now: Now = None,
    tz: Zone = None,
    abstain: Abstain = False,
    track: Track = True,
    deadline: Deadline = None,
) -> JsonObject:
    """What is remembered about a query as one text for a prompt, within a budget of tokens, in the order of events.

    Use it instead of recall when the memories are only to be read, at the start of a task for example.
    """
    options = _options(
        recipe,
        settings,
        filter=filter,
        history=history,
        as_of=as_of,
        now=now,
        tz=tz,
        abstain=abstain,
        track=track,
        deadline=deadline,
    )
    made = service.mind.context(query, budget, **options)
    return {
        "text": made.text,
        "tokens": made.tokens,
        "memories": [memory_json(memory) for memory in made.memories],
        "confidence": made.recall.confidence,
        "low_confidence": made.recall.low_confidence,
        "low_confidence_reason": made.recall.low_confidence_reason,
        "missing_time": made.recall.missing_time,
        "best_needs": made.best_needs,
        "outdated": [memory.id for memory in made.memories if memory.id in made.outdated],
    }


WHY = record(id=TEXT, score=NUMBER, summary=TEXT, shares=array(ref("Share")), explanation=ref("Explanation"), text=TEXT)


@operation("POST", "/why", scope="read", returns=WHY, tools=("more",), shown=("query", "id", *SHOWN))
def why(
    service: Service,
    query: Query,
    id: Id,
    k: K = None,
    recipe: RecipeName = "default",
    settings: Settings = None,
    filter: FilterArgument = None,
    history: History = None,
    as_of: AsOf = None,
    now: Now = None,
    tz: Zone = None,
) -> JsonObject:
    """Explain the score of a memory that a query returns: the words and meanings that match, and every factor.

    Use it when somebody asks why a memory came. The tree evaluates to the score.
    """
    options = _options(recipe, settings, filter=filter, history=history, as_of=as_of, now=now, tz=tz)
    explanation = service.mind.why(query, id, k, **options)
    return {
        "id": service.mind.store.resolve([id])[0],
        "score": explanation.value,
        "summary": explanation.summary(),
        "shares": shares_json(explanation),
        "explanation": explanation_json(explanation),
        "text": str(explanation),
    }


@operation("POST", "/why-not", scope="read", returns=ref("Verdict"), tools=("more",), shown=("query", "id", *SHOWN))
def why_not(
    service: Service,
    query: Query,
    id: Id,
    k: K = None,
    recipe: RecipeName = "default",
    settings: Settings = None,
    filter: FilterArgument = None,
    history: History = None,
    as_of: AsOf = None,
    now: Now = None,
    tz: Zone = None,
    abstain: Abstain = False,
) -> JsonObject:
    """Name the step that leaves a memory out of the answer to a query, and by how much.

    Use it when a memory that should have been returned was not.
    """
    options = _options(recipe, settings, filter=filter, history=history, as_of=as_of, now=now, tz=tz, abstain=abstain)
    verdict: JsonObject = plain(service.mind.why_not(query, id, k, **options).as_dict())
    return verdict


COMPARED = record(
    {"trace": ref("Trace")}, milliseconds=NUMBER, confidence=nullable(NUMBER), results=array(ref("Result"))
)
COMPARISON = record(
    query=TEXT,
    recipes={"type": "object", "additionalProperties": COMPARED},
    memories=array(
        record(memory=ref("MemoryBrief"), ranks={"type": "object", "additionalProperties": {"type": "integer"}})
    ),
)


@operation("POST", "/compare", scope="read", returns=COMPARISON)
def compare(
    service: Service,
    query: Query,
    recipes: Annotated[list[str], texts("Names of recipes; the first is compared with the others.", least=1, most=10)],
    k: Annotated[int, whole("How many results of each recipe.", 1, 100)] = 10,
    filter: FilterArgument = None,
    history: History = None,
    as_of: AsOf = None,
    now: Now = None,
    tz: Zone = None,
    explain: Explain = False,
    trace: WithTrace = False,
) -> JsonObject:
    """Answer one query by several recipes, side by side: who returns which memory, and at which rank."""
    options: dict[str, Any] = {"filter": filter, "as_of": as_of, "now": now, "tz": tz, "history": history or ()}
    compared = service.mind.compare(query, recipes, k, **options)
    shown: JsonObject = {"query": query, "recipes": {}, "memories": []}
    with service.mind.store.snapshot() as snapshot:
        for name, found in compared.recalls.items():
            whole_recall = recall_json(found, explain)
            column = {part: whole_recall[part] for part in ("milliseconds", "confidence", "results")}
            shown["recipes"][name] = column | ({"trace": trace_json(found.trace, snapshot, 20)} if trace else {})
    shown["memories"] = [{"memory": brief_json(line.memory), "ranks": line.ranks} for line in compared.lines]
    return shown


RECIPE = record(name=TEXT, about=TEXT, k=COUNT, settings={"type": "object"}, has_confidence={"type": "boolean"})


@operation("GET", "/recipes", scope="read", returns=record(recipes=array(RECIPE)))
def recipes(service: Service) -> JsonObject:
    """The recipes that recall can use, and the settings of each that a call may give, with their defaults."""
    from recollect.recall.registry import BUILT_IN, RECIPES, get_recipe

    listed = []
    for name in RECIPES:
        made = get_recipe(name)
        settings: Mapping[str, Any] = (RECIPES[name].__kwdefaults__ or {}) if name in BUILT_IN else {}
        allowed = {each: value for each, value in settings.items() if each not in SETTINGS_OF_SERVER.get(name, ())}
        listed.append(
            {
                "name": name,
                "about": made.about,
                "k": made.k,
                "settings": plain(allowed),
                "has_confidence": made.confidence is not None,
            }
        )
    return {"recipes": listed}
