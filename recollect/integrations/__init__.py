"""Adapters for frameworks; each module needs the extra of its name: ``pip install '.[langgraph]'``.

They call the public verbs of a Mind and nothing below it.
"""

from __future__ import annotations


def missing_package(extra: str, error: ImportError) -> ImportError:
    """The error of an adapter whose framework is not installed."""
    module = extra.replace("-", "_")
    return ImportError(
        f"recollect.integrations.{module} needs a package that is not installed ({error}). "
        f"Install it with: pip install '.[{extra}]'"
    )
