"""Regular expressions that are compiled when they are first used.

A recall needs a few of the patterns of a module; compiling all of them would take longer than the recall.
"""

from __future__ import annotations

import re
from typing import Any, cast

# For a class of characters: A to Z, and Ö, É, Š, Ł; of Latin, Greek and Cyrillic. Python has no name for them.
UPPER_CASE = "A-ZÀ-ÖØ-Þ" + "".join(chr(at) for at in range(0x100, 0x180) if chr(at).isupper()) + "ȘȚΆΈ-ΏΑ-ΩЀ-Я"


class _LazyPattern:
    """Behaves as the compiled pattern: its methods become attributes with the first use of any."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._pattern, self._flags)
        self.__dict__.update({each: getattr(compiled, each) for each in dir(compiled) if not each.startswith("_")})
        return getattr(compiled, name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """
    >>> lazy_pattern(r"\\d+").findall("3 of 10")
    ['3', '10']
    """
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))
