"""The commands serve, ui and token: the HTTP server, the page in a browser, and who may call."""

from __future__ import annotations

import logging
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import GlobalOptions
from recollect.cli.terminal import print_line, print_result
from recollect.errors import InvalidInput
from recollect.model import check

if TYPE_CHECKING:
    from recollect.mind import Mind
    from recollect.serve.backend import Backend
    from recollect.serve.settings import ServerSettings
    from recollect.serve.tokens import TokenFile
    from recollect.serve.work import Services
    from recollect.systems.openclaw.search import SearchSettings

ACTIONS = ("create", "list", "revoke")
EXPIRES = re.compile(r"(\d{1,5})([hdw])")
HOURS = {"h": 1, "d": 24, "w": 24 * 7}
Host = Annotated[str, typer.Option(help="The address to listen on; only this machine by default.")]
Port = Annotated[int, typer.Option(help="The port; 0 takes any free one.")]


def serve(
    options: GlobalOptions,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    tls_cert: Annotated[str | None, typer.Option(help="A file with the TLS certificate.", show_default=False)] = None,
    tls_key: Annotated[
        str | None, typer.Option(help="A file with the private key of the certificate.", show_default=False)
    ] = None,
    trusted_proxy: Annotated[
        str | None,
        typer.Option(help="The address of the proxy that terminates TLS for this server.", show_default=False),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A host name that clients use for this server, NAME or NAME:PORT; may be given several times."
        ),
    ] = None,
    max_body: Annotated[int, typer.Option(help="The maximum size of a request, in bytes.")] = 16 << 20,
    rate: Annotated[float, typer.Option(help="Requests per second for each token.")] = 500.0,
    workers: Annotated[
        int, typer.Option(help="Processes that recall and write; each has the model and the memory open.")
    ] = 1,
    threads: Annotated[int | None, typer.Option(help="Threads of each process.", show_default=False)] = None,
) -> None:
    """Serve the memory over HTTP, with a web page. Clients need a token: recollect token create."""
    from recollect.serve.server import serve as run_server
    from recollect.serve.settings import ServerSettings

    settings = ServerSettings(
        host=host,
        port=port,
        tls_cert=tls_cert,
        tls_key=tls_key,
        trusted_proxy=trusted_proxy,
        allowed_hosts=tuple(allowed_host or ()),
        max_body_bytes=max_body,
        rate=rate,
        workers=workers,
        **({} if threads is None else {"threads": threads}),
    )

    def on_start(backend: Backend, url: str) -> None:
        print_line("Serving ", (str(backend.mind.path), "bold"), " at ", (url, "cyan"), stderr=True)
        if not backend.control.tokens.records():
            print_line(f"There is no token yet: {_create_token(options)}", stderr=True)

    _log_requests()
    with _open_or_create(options) as mind:
        run_server(_backend_of(options, mind), settings, on_start)


def ui(
    options: GlobalOptions,
    port: Port = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the browser.")] = True,
) -> None:
    """Open the memory as a page in the browser. Only this machine can reach it, until you press Ctrl-C."""
    from recollect.serve.access import LOCAL_ID
    from recollect.serve.server import serve as run_server
    from recollect.serve.settings import ServerSettings
    from recollect.serve.tokens import Access

    with _open_or_create(options) as mind:
        bound = tuple(sorted(mind.bound.values.items()))

        def on_start(backend: Backend, url: str) -> None:
            code = backend.control.make_code(Access(LOCAL_ID, "ui", "admin", bound))
            link = f"{url}/login?code={code}"
            print_line("The page is at ", (link, "cyan"), " (works once, within two minutes). Ctrl-C stops the server.")
            sys.stdout.flush()
            if browser:
                import webbrowser

                webbrowser.open(link)

        run_server(_backend_of(options, mind), ServerSettings(port=port), on_start)


def token(
    options: GlobalOptions,
    action: Annotated[str, typer.Argument(help="create, list or revoke.", autocompletion=lambda: list(ACTIONS))],
    name: Annotated[
        str | None, typer.Argument(help="What will use the token; for revoke, its name or id.", show_default=False)
    ] = None,
    scope: Annotated[str, typer.Option(help="read, write (and read) or admin (everything).")] = "write",
    expires: Annotated[
        str, typer.Option(help="When it expires: after 12h, 90d (the default) or 4w, or never.")
    ] = "90d",
) -> int:
    """Create, list or revoke the tokens of the server. --collection and --bound limit what a new token sees."""
    from recollect.serve.tokens import TokenFile

    check.choice(action, "action", ACTIONS)
    tokens = TokenFile.beside(options.path)
    if action == "list":
        return _list_tokens(tokens, options)
    if name is None:
        example = "recollect token create laptop" if action == "create" else "recollect token revoke laptop"
        raise InvalidInput(f"token {action} needs a name, as in: {example}")
    if action == "revoke":
        revoked = tokens.revoke(name)
        print_result(options.json, {"revoked": revoked.id}, ("Revoked ", "green"), f"{revoked.name} ({revoked.id})")
        return 0
    bound = {**({} if options.collection is None else {"collection": options.collection}), **options.bound_values()}
    chosen: Any = scope
    if any(each.name == name for each in tokens.records().values()):
        raise InvalidInput(
            f"There is a token named {name!r} already: give another NAME, or first: recollect token revoke {name}"
        )
    secret, record = tokens.create(name, chosen, bound, _expiry(expires))
    shown = {"token": secret, "id": record.id, "scope": record.scope, "bound": record.bound, "expires": record.expires}
    if options.json:
        print_result(True, shown)
        return 0
    print(secret)
    print_line(("This is shown once. Use it as the header Authorization: Bearer …", "dim"), stderr=True)
    return 0


def _create_token(options: GlobalOptions) -> str:
    """The command that creates a token for this memory."""
    database = f"--db {shlex.quote(str(options.db))} " if options.db is not None else ""
    return f"recollect {database}token create laptop"


def _list_tokens(tokens: TokenFile, options: GlobalOptions) -> int:
    now, records, as_json = datetime.now(UTC), tokens.records().values(), options.json
    if as_json:
        shown = ("id", "name", "scope", "bound", "created", "expires")
        rows = [{**{name: getattr(each, name) for name in shown}, "expired": each.is_expired(now)} for each in records]
        print_result(True, rows)
    for each in records if not as_json else ():
        bound = ", ".join(f"{key}={value}" for key, value in each.bound.items()) or "everything"
        ends = "never expires" if each.expires is None else f"expires {each.expires}"
        state = ("expired", "red") if each.is_expired(now) else (ends, "dim")
        print_line((each.id, "cyan"), f"  {each.name}  ", (each.scope, "bold"), f"  {bound}  ", state)
    if not records and not as_json:
        print_line(f"There is no token yet: {_create_token(options)}")
    return 0 if records else 1


def _expiry(text: str) -> datetime | None:
    if text == "never":
        return None
    match = EXPIRES.fullmatch(text)
    if match is None or not int(match[1]):
        raise InvalidInput(f"--expires must be such as 12h, 90d, 4w or never, not {text!r}.")
    return datetime.now(UTC) + timedelta(hours=int(match[1]) * HOURS[match[2]])


def _open(options: GlobalOptions) -> Mind:
    return options.open(embed=True, create=True)


def _open_or_create(options: GlobalOptions) -> Mind:
    """Says when the file is a new one: its name may have been mistyped."""
    is_new = not options.is_on_server and not os.path.exists(options.path)
    mind = _open(options)
    if is_new:
        print_line("Created ", (str(mind.path), "bold"), ": there was no such file.", stderr=True)
    return mind


def _backend_of(options: GlobalOptions, mind: Mind) -> Callable[[ServerSettings], Backend]:
    from recollect.serve.backend import Backend
    from recollect.serve.tokens import TokenFile

    tokens, configured = TokenFile.beside(mind.path), _service_settings(options)
    return lambda server: Backend(mind, tokens, server, *configured, partial(_open_services, options))


@contextmanager
def _open_services(options: GlobalOptions) -> Iterator[Services]:
    """The memory as a worker process opens it."""
    from recollect.serve.work import Services

    _log_requests()
    with _open(options) as mind:
        yield Services(mind, *_service_settings(options))


def _service_settings(options: GlobalOptions) -> tuple[SearchSettings, dict[str, dict[str, Any]]]:
    """What is configured for searching notes, and for recipes."""
    from recollect.config.apply import search_settings

    config = options.checked_config
    return search_settings(config), {name: config.recipe_settings(name) for name in config["recollect.settings"]}


def _log_requests() -> None:
    """One line for each request on stderr, unless the program that started it configured logging."""
    level = os.environ.get("RECOLLECT_LOG", "INFO").upper()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=level if level.isalpha() else "INFO")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    logging.getLogger("mcp").setLevel(logging.WARNING)  # it says for each set of tools that it started
