"""The OpenAPI 3.1 description of the server, made from the table of operations."""

from __future__ import annotations

from typing import Any

from recollect import __version__
from recollect.model import JsonObject
from recollect.serve.router import path_names
from recollect.service import Operation, all_operations
from recollect.service.parameters import Parameter
from recollect.service.records import COUNT, DEFINITIONS, TEXT, record, ref

ABOUT = (
    "The verbs of a memory over HTTP. Each call needs a token (Authorization: Bearer …) that is created by "
    "`recollect token create`. One that is bound to a collection, user, agent or session sees nothing beyond it."
)
REFUSALS = {
    "400": "The input is wrong; the message names the argument.",
    "401": "There is no valid token.",
    "403": "The scope of the token does not include this.",
    "404": "There is no such memory within the bound of the token.",
    "408": "The request took too long to arrive.",
    "412": "The memory was changed since it was read.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "429": "Too many requests; Retry-After tells when to try again.",
    "503": "The store or the server cannot answer now.",
}
JSON = "application/json"
EVENTS = "text/event-stream"


def build_openapi() -> JsonObject:
    """The description of all routes under /v1."""
    paths: dict[str, JsonObject] = {}
    for operation in all_operations().values():
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation)
    paths |= _further_paths()
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Recollect", "version": __version__, "description": ABOUT},
        "servers": [{"url": "/v1"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": DEFINITIONS,
            "responses": {
                status: {
                    "description": about,
                    "content": {JSON: {"schema": {"type": "object", "properties": {"error": ref("Error")}}}},
                }
                for status, about in REFUSALS.items()
            },
        },
    }
    shown: JsonObject = _with_components(document)
    return shown


def _describe(operation: Operation) -> JsonObject:
    in_path = path_names(operation.path)
    described: JsonObject = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": operation.description + f"\n\nScope: {operation.scope}.",
        "tags": [operation.path.split("/")[1]],
        "parameters": [_path_parameter(each) for each in operation.parameters if each.name in in_path],
        "responses": _responses(operation),
    }
    rest = [each for each in operation.parameters if each.name not in in_path]
    if operation.method in ("GET", "DELETE"):
        described["parameters"] += [_query_parameter(each) for each in rest]
    elif rest:
        names = {each.name for each in rest}
        schema = {
            **operation.input_object,
            "properties": {name: each for name, each in operation.input_object["properties"].items() if name in names},
            "required": [name for name in operation.input_object["required"] if name in names],
        }
        described["requestBody"] = {"required": bool(schema["required"]), "content": {JSON: {"schema": schema}}}
    if operation.scope != "read":
        described["parameters"].append(
            _header("Idempotency-Key", "The same key again returns the first answer and does nothing more.")
        )
    if operation.name == "update":
        described["parameters"].append(_header("If-Match", "Only if the memory still has this ETag."))
    if operation.name == "show":
        described["parameters"].append(_header("If-None-Match", "304 if the memory still has this ETag."))
    return described


def _responses(operation: Operation) -> JsonObject:
    success = "201" if operation.creates else "200"
    content: JsonObject = {JSON: {"schema": operation.returns}}
    if operation.name == "export":
        content = {"application/x-ndjson": {"schema": TEXT}}
    elif operation.long:
        content[EVENTS] = {"schema": TEXT}
    shown: JsonObject = {success: {"description": operation.summary, "content": content}}
    if operation.name == "show":
        shown["304"] = {"description": "It has not changed."}
    return {**shown, **{status: {"$ref": f"#/components/responses/{status}"} for status in REFUSALS}}


def _path_parameter(parameter: Parameter) -> JsonObject:
    return {"name": parameter.name, "in": "path", "required": True, **_schema_and_help(parameter)}


def _query_parameter(parameter: Parameter) -> JsonObject:
    kind = schema_type(parameter)
    shown: JsonObject = {"name": parameter.name, "in": "query", "required": parameter.required}
    if kind == "object":
        return {**shown, "description": parameter.help, "content": {JSON: {"schema": _not_null(parameter)}}}
    return {**shown, **_schema_and_help(parameter)}


def _schema_and_help(parameter: Parameter) -> JsonObject:
    return {"schema": _not_null(parameter), "description": parameter.help}


def _header(name: str, help: str) -> JsonObject:
    return {"name": name, "in": "header", "required": False, "description": help, "schema": {**TEXT, "maxLength": 200}}


def _not_null(parameter: Parameter) -> JsonObject:
    """The schema of a value in a URL, which is left out rather than null."""
    schema = dict(parameter.schema)
    if isinstance(schema.get("type"), list):
        schema["type"] = next(each for each in schema["type"] if each != "null")
    if "anyOf" in schema and {"type": "null"} in schema["anyOf"]:
        (schema,) = (each for each in schema["anyOf"] if each != {"type": "null"})
    return schema


def schema_type(parameter: Parameter) -> str:
    """The JSON type of a value in a URL."""
    schema = _not_null(parameter)
    return "object" if "$ref" in schema else str(schema.get("type", "string"))


def _further_paths() -> dict[str, JsonObject]:
    """The routes that are no operations."""
    refusals = {status: {"$ref": f"#/components/responses/{status}"} for status in REFUSALS}

    def route(id: str, about: str, answer: JsonObject, **more: Any) -> JsonObject:
        return {"operationId": id, "summary": about, "tags": ["server"], "responses": {**answer, **refusals}, **more}

    def answer(schema: JsonObject, kind: str = JSON) -> JsonObject:
        return {"200": {"description": "The answer.", "content": {kind: {"schema": schema}}}}

    imported = record(
        kind=TEXT,
        added=COUNT,
        changed=COUNT,
        same=COUNT,
        links=COUNT,
        failed=COUNT,
        forgotten=COUNT,
        problems={"type": "array", "items": TEXT},
    )
    upload = {"required": True, "content": {"application/octet-stream": {"schema": {}}}}
    query = [
        {
            "name": "kind",
            "in": "query",
            "required": False,
            "schema": TEXT,
            "description": "The format; detected if left out.",
        },
        {
            "name": "filename",
            "in": "query",
            "required": False,
            "schema": TEXT,
            "description": "Its name, for detection.",
        },
    ]
    return {
        "/import/file": {
            "post": route(
                "import_file",
                "Import an uploaded file of another program: an export of a chat program, CSV, JSON, …",
                answer(imported),
                requestBody=upload,
                parameters=query,
            )
        },
        "/events": {"get": route("events", "Changes of memories as server-sent events.", answer(TEXT, EVENTS))},
        "/login-codes": {
            "post": route("login_code", "A one-time code that opens the page in a browser.", answer(record(code=TEXT)))
        },
    }


def _with_components(value: Any) -> Any:
    """References to definitions as references to components."""
    if isinstance(value, dict):
        return {
            key: each.replace("#/$defs/", "#/components/schemas/")
            if key == "$ref" and isinstance(each, str)
            else _with_components(each)
            for key, each in value.items()
        }
    return [_with_components(each) for each in value] if isinstance(value, list | tuple) else value
