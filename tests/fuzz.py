"""Inputs from atheris for the query parser, the chunker and the importers: python -m tests.fuzz [RUNS].

A RecollectError is an answer; any other exception, or a call that takes longer than a second of CPU, is a finding:
atheris prints it and stores the input in the current folder.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["recollect"]):
    from recollect.errors import RecollectError
    from recollect.ingest.chunking import split_chunks
    from recollect.ingest.imports import FORMATS, read_source
    from recollect.text.query_language import format_query, parse_query

MAX_SECONDS = 1.0
TEXT_FORMATS = [name for name in FORMATS if name not in ("openmem", "robotmem", "chatgpt")]  # not databases or archives
SEEDS = (
    b'"top shelf" AND (cup* OR NOT saucer) -mug user:mara',
    b"# Tea\n\n```python\nprint(1)\n```\n\n- [[sencha]] #tea\n",
    b'{"text": "a cup", "id": "1", "tags": ["x"]}\n{"type": "edge", "source": "1", "target": "2"}\n',
    b"text,created,tags\nThe cup,2024-01-01,kitchen\n",
    "Wo ist die Tasse? 杯子在哪里".encode(),
)
FILE = Path(tempfile.mkdtemp(prefix="recollect-fuzz-")) / "input"


def check(data: bytes) -> None:
    text = data[1:].decode("utf-8", "replace")
    begun = time.process_time()
    with contextlib.suppress(RecollectError):
        match data[0] % 3 if data else 0:
            case 0:
                format_query(parse_query(text))
            case 1:
                list(split_chunks(text.split("\n")))
            case _:
                FILE.write_bytes(data[1:])
                for _ in read_source(FILE, TEXT_FORMATS[data[0] % len(TEXT_FORMATS)]):
                    pass
    taken = time.process_time() - begun
    assert taken < MAX_SECONDS, f"{taken:.1f} s"


def main() -> None:
    corpus = FILE.parent / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        for kind in range(3):
            (corpus / f"{number}-{kind}").write_bytes(bytes([kind]) + seed)
    runs = sys.argv[1] if len(sys.argv) > 1 else "1000000"
    atheris.Setup([sys.argv[0], f"-atheris_runs={runs}", "-max_len=4096", str(corpus)], check)
    os.environ.setdefault("PYTHONHASHSEED", "0")
    atheris.Fuzz()


if __name__ == "__main__":
    main()
