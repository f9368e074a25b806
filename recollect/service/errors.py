"""Errors as JSON, the same for every interface: type, message, hint and the id of the request."""

from __future__ import annotations

import logging
import re

from recollect import errors
from recollect.errors import RecollectError
from recollect.model import JsonObject

log = logging.getLogger("recollect")
HINTS: dict[type[RecollectError], str] = {
    errors.InvalidInput: "Correct the argument that the message names, and call again.",
    errors.NotFound: "Find the id with recall; it may also be outside of what this access may see.",
    errors.AccessDenied: "Use a token with that scope: recollect token create.",
    errors.EditConflict: "Read the memory again, and repeat the change with its new ETag.",
    errors.LimitExceeded: "Send less at once, or call again later.",
    errors.StoreError: "Try again; if it lasts, run recollect doctor where the memory is stored.",
    errors.EmbeddingError: "Nothing was lost; check the embedder with recollect status where the memory is stored.",
    errors.ServerUnavailable: "Start the server with recollect serve, or check the address.",
}
KINDS: dict[str, type[RecollectError]] = {kind.__name__: kind for kind in HINTS}
INTERNAL = "InternalError"


def error_json(error: BaseException, request_id: str = "") -> JsonObject:
    """The one shape of an error. An error that is not one of ours is logged, and its text is not shown."""
    kind = next((each for each in type(error).__mro__ if each in HINTS), None)
    if kind is None:
        log.error("request %s failed", request_id or "-", exc_info=error)
        message, name = "The call failed because of an error in Recollect; nothing was half-written.", INTERNAL
        hint = f"The log has the details{f', under request {request_id}' if request_id else ''}."
    else:
        message = re.sub(r"\b(\w+)=True\b", r"\1: true", str(error))  # as JSON has it
        name, hint = kind.__name__, getattr(error, "hint", "") or HINTS[kind]
    return {"type": name, "message": message, "hint": hint, "request_id": request_id}


def error_from_json(shown: JsonObject) -> RecollectError:
    """The exception that an error in JSON was made from."""
    kind = KINDS.get(str(shown.get("type")), RecollectError)
    return kind(str(shown.get("message") or "The call failed.")).advise(str(shown.get("hint") or ""))
