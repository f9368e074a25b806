"""The options that several commands share, and how they are turned into the arguments of a Mind."""

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from recollect.cli.values import (
    local_now,
    parse_json_object,
    parse_line_range,
    parse_moment,
    parse_near,
    parse_setting,
    parse_since,
    parse_until,
)
from recollect.errors import InvalidInput, RecollectError, StoreError
from recollect.model import FIELDS, KEYWORD_FIELDS

if TYPE_CHECKING:
    from recollect.client import Client
    from recollect.config import Config
    from recollect.embed import Embedder, EmbedderChoice
    from recollect.mind import Mind
    from recollect.model import FilterExpression

Texts = list[str] | None
DEFAULT_DB = "memory.db"
TYPED = "recollect.typed"  # in the context of a command: its arguments as they were typed
BOUND_FIELDS = ("user", "agent", "session")  # of --bound; a collection has an option of its own
OPTION_TYPES = {"list": Texts, "integer": int | None, "number": float | None}  # by the kind of field; others are texts


def _option(panel: str | None = None) -> Callable[..., Any]:
    def option(help: str, *names: str, **more: Any) -> Any:
        return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **more)

    return option


global_option, field_option, filter_option, recall_option = (
    _option(panel) for panel in ("Global options", "Fields of the memory", "Which memories", "How to recall")
)


def _recipe_names() -> list[str]:
    from recollect.recall.registry import RECIPES

    return [*RECIPES]


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """The database, the embedder and the output format: given before the command, after it, or in the environment."""

    db: Annotated[str | None, global_option("The database file: memory.db, or $RECOLLECT_DB.")] = None
    collection: Annotated[str | None, global_option("Write to this collection and recall only from it.")] = None
    bound: Annotated[
        Texts,
        global_option(
            "Read and write only what belongs to user=NAME, agent=NAME or session=NAME; may be given several times.",
            metavar="<field=name>",
        ),
    ] = None
    embedder: Annotated[
        str | None,
        global_option(
            "local, auto, openai:MODEL, gemini:MODEL, ollama:MODEL, onnx:FOLDER, gguf:FILE, or none for words only. "
            "Also set by $RECOLLECT_EMBEDDER.",
            autocompletion=lambda: ["local", "auto", "openai", "gemini", "ollama", "onnx:", "gguf:", "none"],
        ),
    ] = None
    json: Annotated[bool, global_option("Print JSON.", "--json")] = False
    config: Annotated[str | None, global_option("A configuration file, instead of the workspace's recollect.yaml.")] = (
        None
    )
    agent: Annotated[str | None, global_option("Use the settings of this agent in the configuration.")] = None

    def merged_over(self, outer: "GlobalOptions") -> "GlobalOptions":
        """Options after the command override those before it, and these override the environment."""
        paths = (self.db, outer.db, os.environ.get("RECOLLECT_DB"))
        return GlobalOptions(
            db=next((path for path in paths if path is not None), None),
            collection=outer.collection if self.collection is None else self.collection,
            bound=[*(outer.bound or []), *(self.bound or [])] or None,
            embedder=self.embedder or outer.embedder or os.environ.get("RECOLLECT_EMBEDDER"),
            json=self.json or outer.json,
            config=self.config or outer.config or os.environ.get("RECOLLECT_CONFIG") or None,
            agent=self.agent or outer.agent,
        )

    def read_config(self, workspace: str = ".") -> "Config":
        """The configuration, which may have problems."""
        from recollect.config import load

        return load(workspace, file=self.config, agent=self.agent)

    @property
    def uses_server(self) -> bool:
        """Whether commands that can do so ask the server at $RECOLLECT_URL: a file that is named comes first."""
        return bool(os.environ.get("RECOLLECT_URL")) and self.db is None

    @property
    def checked_config(self) -> "Config":
        return self.read_config().checked()

    @property
    def path(self) -> str:
        return self.db_path(self.checked_config)

    @property
    def is_on_server(self) -> bool:
        """Is the database a URL, not a file?"""
        return "://" in self.path

    def db_path(self, config: "Config") -> str:
        """The database file: the one given as an option, otherwise the configured one, unless a server is used."""
        self.check_no_server()
        path = str(config.db or DEFAULT_DB) if self.db is None else self.db
        if path == "":
            raise InvalidInput(f"--db (or $RECOLLECT_DB) is empty; give a file, such as {DEFAULT_DB}.")
        if path == ":memory:":
            raise InvalidInput(
                f"--db :memory: would be lost when this command ends; give a file, such as {DEFAULT_DB}."
            )
        return path

    @property
    def selected_embedder(self) -> "Embedder | None":
        return self.select_embedder(self.checked_config).embedder

    def select_embedder(self, config: "Config") -> "EmbedderChoice":
        """The embedder with the reason for it: the one given as an option, otherwise the configured one."""
        from recollect.config.embedder import embedder_by_name, select_embedder

        return select_embedder(config) if self.embedder is None else embedder_by_name(self.embedder, "--embedder")

    def chat_model(self, chat: str | None) -> str | None:
        """The address and model of a chat model; "chat" is that of the configuration, or of RECOLLECT_CHAT."""
        return self.checked_config.chat if chat == "chat" else chat

    def check_db_exists(self) -> None:
        """Only commands that write may create a file. A server says itself what is missing."""
        if self.is_on_server:
            return
        empty = os.path.isfile(self.path) and os.path.getsize(self.path) == 0
        if empty or not os.path.exists(self.path):
            problem = f"{self.path} is empty." if empty else f"There is no file {self.path}."
            raise StoreError(
                f"{problem} Give an existing file with --db or RECOLLECT_DB, "
                f"or create one: recollect --db {self.path} remember 'The first memory.'"
            )

    def check_no_server(self) -> None:
        """Refuse to use a file where the user seems to mean a server."""
        if self.uses_server:
            raise InvalidInput(
                "This command works on a file, not on the server at $RECOLLECT_URL: name the file with --db, or run it "
                "where RECOLLECT_URL is not set."
            )

    def check_no_collection(self, command: str) -> None:
        """Refuse a bound for a command that works on the whole file."""
        if self.collection is not None:
            raise InvalidInput(f"{command} works on the whole file, not on a collection: leave out --collection.")
        self.check_no_bound(command)

    def check_no_bound(self, command: str) -> None:
        if self.bound:
            raise InvalidInput(f"{command} has no bound by user, agent or session: leave out --bound {self.bound[0]}.")

    def open(self, *, embed: bool = False, create: bool = False) -> "Mind":
        path = self.path  # refused where a server is used, before anything is loaded
        embedder = self.selected_embedder if embed else None  # other commands leave the vectors as they are
        if not create:
            self.check_db_exists()
        from recollect.mind import Mind

        collection = self.collection
        if collection == "":
            raise InvalidInput("--collection needs a name; leave it out to use all collections.")
        if collection is None:
            collection = self.checked_config["recollect.collection"] or None
        bound: dict[str, Any] = self.bound_values()
        cache = self.checked_config["recollect.embeddingCache"]
        search = self.checked_config["recollect.vectorSearch"]
        return Mind(
            path,
            embedder=embedder,
            collection=collection,
            embedding_cache=cache,
            vector_search=search,
            **bound,
        )

    def connect(self, *, embed: bool = False, create: bool = False) -> "Mind | Client":
        """The server at $RECOLLECT_URL, which has loaded its model already; a file if one is named, or without it."""
        if not self.uses_server:
            return self.open(embed=embed, create=create)
        for name in ("collection", "bound", "embedder"):
            if getattr(self, name) is not None:
                raise InvalidInput(f"--{name} is decided by the server at $RECOLLECT_URL and its token; leave it out.")
        from recollect.client import Client

        return Client()

    def bound_values(self) -> dict[str, str]:
        """The values of --bound by field."""
        values: dict[str, str] = {}
        for each in self.bound or []:
            name, equals, value = each.partition("=")
            if name not in BOUND_FIELDS or not equals or not value:
                raise InvalidInput(f"--bound {each!r} is not user=NAME, agent=NAME or session=NAME.")
            if values.setdefault(name, value) != value:
                raise InvalidInput(f"--bound gives two values of {name}: {values[name]!r} and {value!r}.")
        return values


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """The fields of a memory beside its text: the options of remember, edit and supersede, made from ``FIELDS``."""

    values: dict[str, Any]  # by the name of the field; None where the option is not given

    @staticmethod
    def parameters() -> list[Parameter]:
        parameters = []
        for field in FIELDS.values():
            if field.option:
                value_type: Any = OPTION_TYPES.get(field.kind, str | None)
                help = f"{field.help.rstrip('.')}; may be given several times." if field.kind == "list" else field.help
                annotation = Annotated[value_type, field_option(help, *field.option.split())]
                parameters.append(_parameter(field.name, None, annotation))
        return parameters

    def given_fields(self) -> dict[str, Any]:
        """The fields that were given. An empty text removes the current value."""
        fields = {name: value for name, value in self.values.items() if value is not None and value not in ([], ())}
        for name, value in fields.items():
            kind = FIELDS[name].kind
            if kind == "list":
                fields[name] = [each for each in value if each]
            elif value == "" and FIELDS[name].optional and not FIELDS[name].assigned:
                fields[name] = None
            elif kind == "lines":
                fields[name] = parse_line_range(value)
            elif kind == "moment":
                fields[name] = parse_moment(value, f"--{name.replace('_', '-')}")
            elif kind == "object":
                fields[name] = parse_json_object(value or "{}", f"--{name}", '{"task": {"success": true}}')
        return fields


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """Which memories are considered: the options of recall, why, why-not and list."""

    user: Annotated[Texts, filter_option("Of this user; if given several times, of any of them.")] = None
    session: Annotated[Texts, filter_option("From this session; any of several.")] = None
    speaker: Annotated[Texts, filter_option("Said by this speaker; any of several.")] = None
    role: Annotated[Texts, filter_option("With this role; any of several.")] = None
    kind: Annotated[Texts, filter_option("Of this kind; any of several.")] = None
    topic: Annotated[Texts, filter_option("With this topic; any of several.")] = None
    tier: Annotated[Texts, filter_option("In this tier; any of several.")] = None
    source: Annotated[Texts, filter_option("From this source; any of several.")] = None
    status: Annotated[Texts, filter_option("With this status; any of several.")] = None
    tags: Annotated[Texts, filter_option("With this tag; all of several.", "--tag", "-t")] = None
    path: Annotated[str | None, filter_option("From this file.")] = None
    path_under: Annotated[str | None, filter_option("From files in this folder.")] = None
    max_classification: Annotated[int | None, filter_option("With at most this classification.")] = None
    min_confidence: Annotated[float | None, filter_option("With at least this confidence.")] = None
    since: Annotated[
        str | None, filter_option("Created at this time or later: 2026-05-01, yesterday, '3 days ago', 'last month'.")
    ] = None
    until: Annotated[str | None, filter_option("Created at this time or earlier.")] = None
    where: Annotated[
        str | None, filter_option("""Condition on the context: '{"task.success": true, "force": {"$lt": 15}}'.""")
    ] = None
    near: Annotated[
        str | None, filter_option("Near a point: 'spatial.position:1,2,0.5:0.3' (field:coordinates:within), or JSON.")
    ] = None
    not_tag: Annotated[Texts, filter_option("Without this tag; without all of several.")] = None
    not_session: Annotated[Texts, filter_option("Not from this session; from none of several.")] = None
    not_: Annotated[Texts, filter_option("""Not matching this filter, such as '{"kind": "draft"}'.""", "--not")] = None

    def filter(self, tz: str | None = None) -> "FilterExpression | None":
        """The filter; days are those of a time zone, or of the machine's."""
        from recollect.model import AllOf, Not, as_filter

        if self.path is not None and self.path_under is not None:
            raise InvalidInput("Give --path or --path-under, not both.")
        conditions: dict[str, Any] = {
            **{name: getattr(self, name) or None for name in ("tags", *KEYWORD_FIELDS) if hasattr(self, name)},
            "since": None if self.since is None else parse_since(self.since, local_now(tz)),
            "until": None if self.until is None else parse_until(self.until, local_now(tz)),
            "path": self.path if self.path_under is None else self.path_under.rstrip("/") + "/",
            "classification": self.max_classification,
            "min_confidence": self.min_confidence,
            "context": None
            if self.where is None
            else parse_json_object(self.where, "--where", '{"task.success": true}'),
            "near": None if self.near is None else parse_near(self.near),
        }
        conditions = {name: value for name, value in conditions.items() if value is not None}
        excluded = [
            *({"tags": [tag]} for tag in self.not_tag or ()),
            *({"session": session} for session in self.not_session or ()),
            *(parse_json_object(each, "--not", '{"kind": "draft"}') for each in self.not_ or ()),
        ]
        filters: list[Any] = [as_filter(conditions)] if conditions else []
        filters += [Not(as_filter(each)) for each in excluded]  # type: ignore[arg-type]
        return AllOf(tuple(filters)) if filters else None


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """How to recall: the options of recall, context, why and why-not."""

    k: Annotated[int | None, recall_option("How many results.", "-k", "--limit")] = None
    recipe: Annotated[
        str | None, recall_option("The recipe; see recollect recipes.", "--recipe", "-r", autocompletion=_recipe_names)
    ] = None
    as_of: Annotated[
        str | None, recall_option("Recall what was valid at this moment: an ISO date, or words such as 'last month'.")
    ] = None
    now: Annotated[
        str | None,
        recall_option("What “today” means for the query: an ISO date. Later memories still count; --as-of hides them."),
    ] = None
    tz: Annotated[
        str | None,
        recall_option("The time zone in which days begin, such as Europe/Berlin; by default this machine's."),
    ] = None
    deadline: Annotated[float | None, recall_option("Maximum number of seconds.")] = None
    after: Annotated[
        Texts,
        recall_option(
            'A turn before the query, as in --after "user: Which car did I buy?"; may be given several times, oldest '
            "first. A follow-up takes its subject from there.",
            "--after",
        ),
    ] = None
    translated: Annotated[
        str | None,
        recall_option("The query in the language of the memories, beside the original; for recipe abmind."),
    ] = None
    abstain: Annotated[bool, recall_option("Return nothing when no memory seems to be about the query.")] = False
    set_: Annotated[
        Texts,
        recall_option(
            "A setting of the recipe, as in --recipe openmem --set max_hops=3; may be given several times.", "--set"
        ),
    ] = None

    def with_defaults(self, config: "Config") -> "RecallOptions":
        """These options; what is not given is taken from the configuration."""
        recipe = self.recipe or config.recipe_name
        settings = [
            f"{name}={json.dumps(value)}" for name, value in config.recipe_settings(recipe or "default").items()
        ]
        k = config["recollect.k"] if self.k is None else self.k
        changed = [
            f"{each[:-4]}{json.dumps(config.chat)}" if each.endswith("=chat") else each for each in self.set_ or ()
        ]
        return replace(self, k=k, recipe=recipe, set_=[*settings, *changed])

    def arguments(self, filters: FilterOptions, of: "Mind | Client") -> dict[str, Any]:
        """The keyword arguments of ``Mind.recall``, or of ``Client.recall``, which takes no finished recipe."""
        from recollect.mind import Mind
        from recollect.recall.registry import get_recipe

        now = local_now(self.tz)
        as_of = None if self.as_of is None else parse_moment(self.as_of, "--as-of", now)
        arguments: dict[str, Any] = {"k": self.k, "recipe": self.recipe or "default", "as_of": as_of}
        arguments["deadline"] = self.deadline
        arguments["abstain"] = self.abstain
        arguments["now"] = None if self.now is None else parse_moment(self.now, "--now", now)
        arguments["tz"] = self.tz or now.tzinfo
        arguments["history"] = [_turn(each) for each in self.after or ()]
        settings = dict(parse_setting(each) for each in self.set_ or ())
        if self.translated is not None:
            settings["translated"] = self.translated
        if reserved := settings.keys() & {*arguments, "filter", "track", "query", "self", "id"}:
            raise InvalidInput(f"{min(reserved)!r} is not a setting of a recipe; see recollect recipes.")
        if not isinstance(of, Mind):
            return {**arguments, **settings, "filter": filters.filter(self.tz)}
        # Built here, as a setting may have the name of an argument: ``context`` also takes tokens.
        try:
            recipe = get_recipe(self.recipe or "default", **settings)
        except InvalidInput as error:
            about = str(error).partition(" ")[0]
            raise InvalidInput(f"--set {error}") if about in settings else error from None
        return {**arguments, "recipe": recipe, "filter": filters.filter(self.tz)}


def _turn(text: str) -> tuple[str, str]:
    """“user: Which car?” as a role and a text; without a role of one word it is all text."""
    role, colon, rest = text.partition(":")
    return (role.strip(), rest.strip()) if colon and role.strip().isalpha() else ("", text)


def expand_options(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """The command with each parameter that is a group of options replaced by these options."""
    hints = get_type_hints(command, include_extras=True)
    own = signature(command).parameters.values()
    groups = {each.name: hints[each.name] for each in own if is_dataclass(hints[each.name])}
    parameters = [_parameter(each.name, each.default, hints[each.name]) for each in own if each.name not in groups]
    for group in sorted(groups.values(), key=lambda group: group is GlobalOptions):  # the global options come last
        parameters += _group_parameters(group)

    @wraps(command)
    def run(ctx: typer.Context, **arguments: Any) -> int | None:
        for name, group in groups.items():
            values = {each.name: arguments.pop(each.name) for each in _group_parameters(group)}
            options = MemoryOptions(values) if group is MemoryOptions else group(**values)
            if isinstance(options, GlobalOptions):
                options = ctx.obj = options.merged_over(ctx.obj or GlobalOptions())
            if isinstance(options, RecallOptions):
                options = options.with_defaults(ctx.obj.checked_config)
            arguments[name] = options
        try:
            return command(**arguments)
        except RecollectError as error:
            error.args = (_with_option_names(str(error), ctx.command.params, ctx.meta.get(TYPED, ())),)
            raise

    parameters.append(_parameter("ctx", Parameter.empty, typer.Context))
    described: Any = run
    described.__signature__ = Signature(parameters)
    described.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _with_option_names(message: str, params: list[Any], typed: Sequence[str]) -> str:
    """The message with the option that sets an argument instead of its name: at the beginning, and as in force=True."""
    options = {
        each.name.strip("_"): _used_name(each.opts, typed) for each in params if each.param_type_name == "option"
    }
    return re.sub(r"^\w+(?= )|\b(\w+)=True\b", lambda name: options.get(name[1] or name[0], name[0]), message)


def _used_name(names: list[str], typed: Sequence[str]) -> str:
    """The name of an option that was typed, such as -k, or else the longest."""
    used = [name for name in names if any(re.match(rf"{name}(=|\d|$)", word) for word in typed)]
    return used[0] if used else max(names, key=len)


@cache
def _group_parameters(group: type[Any]) -> list[Parameter]:
    if group is MemoryOptions:
        return MemoryOptions.parameters()
    types = get_type_hints(group, include_extras=True)
    return [_parameter(each.name, each.default, types[each.name]) for each in fields(group)]


def _parameter(name: str, default: Any, annotation: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
