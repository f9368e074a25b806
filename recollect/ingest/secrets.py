"""What happens to keys and passwords in what is written: it is stored, refused or redacted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from recollect.errors import InvalidInput
from recollect.model import Memory

SecretsPolicy = Literal["store", "refuse", "redact"]
POLICIES: tuple[SecretsPolicy, ...] = ("store", "refuse", "redact")
TEXT_FIELDS = ("text", "title", "summary", "original", "keywords", "context")


def clean_fields(memory: Memory, policy: SecretsPolicy) -> dict[str, Any]:
    """The fields of a memory that change when its secrets are redacted; an InvalidInput if they are refused."""
    if policy == "store":
        return {}
    fields = {name: getattr(memory, name) for name in TEXT_FIELDS}
    cleaned = {name: clean_value(value, name, policy) for name, value in fields.items()}
    return {name: value for name, value in cleaned.items() if value != fields[name]}


def clean_memory(memory: Memory, policy: SecretsPolicy) -> Memory:
    fields = clean_fields(memory, policy)
    return replace(memory, **fields) if fields else memory


def clean_value(value: Any, name: str, policy: SecretsPolicy) -> Any:
    """A text, or all texts in a list or an object, without its secrets."""
    from recollect.text.hostile import has_secret, redact_secrets

    if policy == "store":
        return value
    if isinstance(value, Mapping):
        return {key: clean_value(each, name, policy) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(clean_value(each, name, policy) for each in value)
    if not isinstance(value, str) or not has_secret(value):
        return value
    if policy == "refuse":
        raise InvalidInput(
            f"{name} contains what looks like a key or a password, and this mind refuses secrets "
            "(secrets='refuse'). Remove it, or open the mind with secrets='redact' or 'store'."
        )
    return redact_secrets(value)
