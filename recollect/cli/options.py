"""The options that several commands share, each said once, and how they become what a Mind understands."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from recollect.errors import InvalidInput, StoreError

if TYPE_CHECKING:
    from recollect.config import Config
    from recollect.embed import Choice, Embedder
    from recollect.mind import Mind
    from recollect.model.filter import AnyFilter

Words = list[str] | None
DEFAULT = "memory.db"


def _option(panel: str | None = None) -> Callable[..., Any]:
    def option(help: str, *names: str, **more: Any) -> Any:
        return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **more)

    return option


everywhere, detail, condition, asking = (
    _option(panel) for panel in ("Everywhere", "Details of the memory", "Which memories", "How to ask")
)


def _recipe_names() -> list[str]:
    from recollect.recall.registry import RECIPES

    return [*RECIPES]


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the memory is and how to answer: before the command, after it, or in the environment."""

    db: Annotated[str | None, everywhere("The memory's file: memory.db, or $RECOLLECT_DB.")] = None
    collection: Annotated[str | None, everywhere("Write to this collection and recall from it alone.")] = None
    embedder: Annotated[
        str | None,
        everywhere(
            "local, auto, openai:MODEL, gemini:MODEL, ollama:MODEL, onnx:FOLDER, or none for words alone. "
            "$RECOLLECT_EMBEDDER sets it, too.",
            autocompletion=lambda: ["local", "auto", "openai", "gemini", "ollama", "onnx:", "none"],
        ),
    ] = None
    json: Annotated[bool, everywhere("Answer in JSON.", "--json")] = False
    config: Annotated[str | None, everywhere("A configuration file, in place of the workspace's recollect.yaml.")] = (
        None
    )
    agent: Annotated[str | None, everywhere("Whose settings to take from the configuration.")] = None

    def within(self, outer: "Settings") -> "Settings":
        """What is said after the command wins over what is said before it, and that over the environment."""
        return Settings(
            db=next((each for each in (self.db, outer.db, os.environ.get("RECOLLECT_DB")) if each is not None), None),
            collection=self.collection or outer.collection,
            embedder=self.embedder or outer.embedder or os.environ.get("RECOLLECT_EMBEDDER"),
            json=self.json or outer.json,
            config=self.config or outer.config or os.environ.get("RECOLLECT_CONFIG"),
            agent=self.agent or outer.agent,
        )

    def read_config(self, workspace: str = ".") -> "Config":
        """The configuration with its mistakes, if it has any."""
        from recollect.config import load

        return load(workspace, file=self.config, agent=self.agent)

    @property
    def configured(self) -> "Config":
        return self.read_config().checked()

    @property
    def path(self) -> str:
        return self.path_by(self.configured)

    def path_by(self, config: "Config") -> str:
        """The memory's file, as it is named here or, if it is not, by the configuration."""
        chosen = str(config.db or DEFAULT) if self.db is None else self.db
        if chosen == "":
            raise InvalidInput(f"--db (or $RECOLLECT_DB) is empty; name a file, such as {DEFAULT}.")
        if chosen == ":memory:":
            raise InvalidInput(f":memory: would be gone when this command ends; name a file, such as --db {DEFAULT}.")
        return chosen

    @property
    def model(self) -> "Embedder | None":
        return self.model_by(self.configured).embedder

    def model_by(self, config: "Config") -> "Choice":
        """The embedder, as it is named here or, if it is not, by the configuration; and why it is this one."""
        from recollect.config.embedder import by_name, embedder

        return embedder(config) if self.embedder is None else by_name(self.embedder, "--embedder")

    def check_there(self) -> None:
        """Only what writes may make a file."""
        empty = os.path.isfile(self.path) and os.path.getsize(self.path) == 0
        if empty or not os.path.exists(self.path):
            told = f"{self.path} is empty: no memory yet." if empty else f"There is no memory at {self.path}."
            raise StoreError(
                f"{told} Name one with --db or RECOLLECT_DB, "
                f"or make it: recollect --db {self.path} remember 'Something worth keeping.'"
            )

    def open(self, *, embed: bool = False, create: bool = False) -> "Mind":
        model = self.model if embed else None  # the others work on the vectors of any model
        if not create:
            self.check_there()
        from recollect.mind import Mind

        collection = self.collection or self.configured["recollect.collection"]
        return Mind(self.path, embedder=model, collection=collection)


@dataclass(frozen=True, slots=True)
class Details:
    """What can be said of a memory beside its text: the options of remember and edit."""

    title: Annotated[str | None, detail("Its title.")] = None
    summary: Annotated[str | None, detail("What it says, in short.")] = None
    tag: Annotated[Words, detail("A tag; may be given several times.", "--tag", "-t")] = None
    entity: Annotated[Words, detail("Someone or something that it is about; several times.")] = None
    keyword: Annotated[Words, detail("A word to find it by; several times.")] = None
    user: Annotated[str | None, detail("Whose memory it is.")] = None
    session: Annotated[str | None, detail("The conversation that it comes from.")] = None
    speaker: Annotated[str | None, detail("Who said it.")] = None
    role: Annotated[str | None, detail("The speaker's role, such as user or assistant.")] = None
    kind: Annotated[str | None, detail("What kind of memory it is, such as fact or episode.")] = None
    topic: Annotated[str | None, detail("Its topic.")] = None
    tier: Annotated[str | None, detail("Its tier, such as core or archive.")] = None
    status: Annotated[str | None, detail("active, superseded, contradicted or forgotten.")] = None
    classification: Annotated[int | None, detail("How confidential it is; 0 is open to all.")] = None
    source: Annotated[str | None, detail("Where it comes from.")] = None
    external_id: Annotated[str | None, detail("Your own id for it: the same one again updates the memory.")] = None
    path: Annotated[str | None, detail("The file that it comes from.")] = None
    lines: Annotated[str | None, detail("Its lines in that file, such as 3-9.")] = None
    confidence: Annotated[float | None, detail("How sure it is, from 0 to 1.")] = None
    importance: Annotated[float | None, detail("How much it matters.")] = None
    created: Annotated[str | None, detail("When it was made: an ISO date, such as 2025-03-14T09:30.")] = None
    valid_from: Annotated[str | None, detail("When it begins to hold.")] = None
    valid_to: Annotated[str | None, detail("When it no longer holds.")] = None
    expires: Annotated[str | None, detail("When it leaves recall for good.")] = None
    context: Annotated[str | None, detail("Anything structured, as a JSON object.")] = None

    def said(self) -> dict[str, Any]:
        """The fields that were given, by the names of a Memory. An empty word takes away what was there."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        given = {name: value for name, value in given.items() if value is not None and value not in ([], ())}
        for one, several in (("tag", "tags"), ("entity", "entities"), ("keyword", "keywords")):
            if one in given:
                given[several] = [each for each in given.pop(one) if each]
        for name in ("lines", "valid_from", "valid_to", "expires"):
            if given.get(name) == "":
                given[name] = None
        if given.get("lines"):
            given["lines"] = _line_range(given["lines"])
        if "context" in given:
            given["context"] = from_json(given["context"] or "{}", "--context", '{"task": {"success": true}}')
        return given


@dataclass(frozen=True, slots=True)
class Conditions:
    """Which memories may come back: the options of recall, why, why-not and list."""

    user: Annotated[Words, condition("Of this user; several times means any of them.")] = None
    session: Annotated[Words, condition("From this session; any of several.")] = None
    speaker: Annotated[Words, condition("Said by; any of several.")] = None
    role: Annotated[Words, condition("Of this role; any of several.")] = None
    kind: Annotated[Words, condition("Of this kind; any of several.")] = None
    topic: Annotated[Words, condition("On this topic; any of several.")] = None
    tier: Annotated[Words, condition("Of this tier; any of several.")] = None
    source: Annotated[Words, condition("From this source; any of several.")] = None
    status: Annotated[Words, condition("Of this status; any of several.")] = None
    tags: Annotated[Words, condition("With this tag; all of several.", "--tag", "-t")] = None
    path: Annotated[str | None, condition("From this file.")] = None
    path_under: Annotated[str | None, condition("From files in this folder.")] = None
    max_classification: Annotated[int | None, condition("At most so confidential.")] = None
    min_confidence: Annotated[float | None, condition("At least so sure.")] = None
    since: Annotated[str | None, condition("Created at this moment or later.")] = None
    until: Annotated[str | None, condition("Created before this moment.")] = None
    where: Annotated[str | None, condition("""On the context: '{"task.success": true, "force": {"$lt": 15}}'.""")] = (
        None
    )
    near: Annotated[
        str | None, condition("Near a point: 'spatial.position:1,2,0.5:0.3' (field:coordinates:within), or JSON.")
    ] = None
    not_tag: Annotated[Words, condition("Without this tag, nor any other given.")] = None
    not_session: Annotated[Words, condition("Not from this session, nor any other given.")] = None
    not_: Annotated[Words, condition("""Not these: a filter, as in '{"kind": "draft"}'.""", "--not")] = None

    def filter(self) -> "AnyFilter | None":
        from recollect.model.filter import All, Not, as_filter

        if self.path is not None and self.path_under is not None:
            raise InvalidInput("Give --path or --path-under, not both.")
        said: dict[str, Any] = {
            **{name: getattr(self, name) or None for name in "user session speaker role kind topic tier".split()},
            **{name: getattr(self, name) or None for name in "source status tags since until".split()},
            "path": self.path if self.path_under is None else self.path_under.rstrip("/") + "/",
            "classification": self.max_classification,
            "min_confidence": self.min_confidence,
            "context": None if self.where is None else from_json(self.where, "--where", '{"task.success": true}'),
            "near": None if self.near is None else _near(self.near),
        }
        said = {name: value for name, value in said.items() if value is not None}
        refused = [
            *({"tags": [tag]} for tag in self.not_tag or ()),
            *({"session": session} for session in self.not_session or ()),
            *(from_json(each, "--not", '{"kind": "draft"}') for each in self.not_ or ()),
        ]
        joined: list[Any] = [as_filter(said)] if said else []
        joined += [Not(as_filter(each)) for each in refused]  # type: ignore[arg-type]
        return All(tuple(joined)) if joined else None


@dataclass(frozen=True, slots=True)
class Asking:
    """How to ask: the options of recall, why and why-not."""

    k: Annotated[int | None, asking("How many results.", "-k", "--limit")] = None
    recipe: Annotated[
        str | None, asking("The way of recalling; see recipes.", "--recipe", "-r", autocompletion=_recipe_names)
    ] = None
    as_of: Annotated[str | None, asking("What held at that moment?")] = None
    deadline: Annotated[float | None, asking("Seconds that it may take.")] = None
    abstain: Annotated[bool, asking("Give nothing back when nothing seems to be about the question.")] = False
    set_: Annotated[
        Words, asking("A setting of the recipe, as in --recipe openmem --set max_hops=3; several times.", "--set")
    ] = None

    def configured(self, config: "Config") -> "Asking":
        """What is not said here, as the configuration says it."""
        recipe = self.recipe or config.recipe_name
        settings = [f"{name}={json.dumps(value)}" for name, value in config.settings_of(recipe or "default").items()]
        k = config["recollect.k"] if self.k is None else self.k
        return replace(self, k=k, recipe=recipe, set_=[*settings, *(self.set_ or ())])

    def options(self, conditions: Conditions) -> dict[str, Any]:
        """The keywords of ``Mind.recall``."""
        from recollect.recall.registry import get_recipe

        asked = {"k": self.k, "recipe": self.recipe or "default", "as_of": self.as_of, "deadline": self.deadline}
        asked["abstain"] = self.abstain
        settings = dict(_setting(each) for each in self.set_ or ())
        if taken := settings.keys() & {*asked, "filter", "track", "query", "self", "id"}:
            raise InvalidInput(f"{min(taken)!r} is no setting of a recipe; see recollect recipes.")
        # Made here, as a setting may have the name of an argument: ``context`` has tokens, too.
        try:
            recipe = get_recipe(self.recipe or "default", **settings)
        except InvalidInput as problem:
            about = str(problem).partition(" ")[0]
            raise InvalidInput(f"--set {problem}") if about in settings else problem from None
        return {**asked, "recipe": recipe, "filter": conditions.filter()}


def from_json(text: str, name: str, example: str) -> dict[str, Any]:
    """A JSON object from the command line."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(f"{name} is no JSON: {problem}.") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} must be a JSON object, such as '{example}'.")
    return value


def _setting(text: str) -> tuple[str, Any]:
    """A name and a JSON value; what is no JSON is a word."""
    name, given, value = text.partition("=")
    if not given or not name.strip():
        raise InvalidInput(f"--set is a name and a value, such as max_hops=3, not {text!r}.")
    try:
        return name.strip().replace("-", "_"), json.loads(value)
    except (ValueError, RecursionError):
        return name.strip().replace("-", "_"), value


def _near(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        return from_json(text, "--near", '{"field": "at", "target": [1, 2], "within": 0.5}')
    try:
        field, target, within = text.rsplit(":", 2)
        if not float(within) >= 0:
            raise ValueError
        return {"field": field, "target": [float(each) for each in target.split(",")], "within": float(within)}
    except ValueError:
        raise InvalidInput(
            "--near is a field, a point and a distance of 0 or more, such as spatial.position:1,2,0.5:0.3, "
            f"not {text!r}."
        ) from None


def _line_range(text: str) -> list[int]:
    first, _, last = text.partition("-")
    try:
        return [int(first), int(last or first)]
    except ValueError:
        raise InvalidInput(f"--lines is a range, such as 3-9, not {text!r}.") from None


def flat(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """Records among a command's parameters become options on the command line, and records again inside."""
    hints = get_type_hints(command, include_extras=True)
    own = signature(command).parameters.values()
    records = {each.name: hints[each.name] for each in own if is_dataclass(hints[each.name])}
    shown = [_parameter(each.name, each.default, hints[each.name]) for each in own if each.name not in records]
    for kind in sorted(records.values(), key=lambda kind: kind is Settings):  # what is everywhere comes last
        shown += _parameters(kind)

    @wraps(command)
    def run(ctx: typer.Context, **given: Any) -> int | None:
        for name, kind in records.items():
            record = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
            if isinstance(record, Settings):
                record = ctx.obj = record.within(ctx.obj or Settings())
            given[name] = record.configured(ctx.obj.configured) if isinstance(record, Asking) else record
        try:
            return command(**given)
        except InvalidInput as problem:
            problem.args = (_as_typed(str(problem), ctx.command.params),)
            raise

    shown.append(_parameter("ctx", Parameter.empty, typer.Context))
    described: Any = run
    described.__signature__ = Signature(shown)
    described.__annotations__ = {each.name: each.annotation for each in shown}
    return run


def _as_typed(problem: str, params: list[Any]) -> str:
    """The problem with the option that it is about, as it is typed, in place of the argument of a call."""
    options = {each.name.strip("_"): max(each.opts, key=len) for each in params if each.param_type_name == "option"}
    return re.sub(r"^\w+(?= (must be|is no) )", lambda name: options.get(name[0], name[0]), problem)


@cache
def _parameters(record: type[Any]) -> list[Parameter]:
    types = get_type_hints(record, include_extras=True)
    return [_parameter(each.name, each.default, types[each.name]) for each in fields(record)]


def _parameter(name: str, default: Any, annotation: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
