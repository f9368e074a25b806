"""Imports from other programs and from files: recognise the format, read records one by one, write them in batches.

>>> detect_format("claude-export.zip")
'claude'
>>> for each in read_source("claude-export.zip"):
...     print(each.place, each.record or each.problem)

``Mind.import_from`` does all of it.
"""

from recollect.ingest.imports.formats import FORMATS, ImportFormat, detect_format, read_source
from recollect.ingest.imports.importer import ImportPreview, ImportSummary, preview_import
from recollect.ingest.imports.sources import SourceRecord

__all__ = [
    "FORMATS",
    "ImportFormat",
    "ImportPreview",
    "ImportSummary",
    "SourceRecord",
    "detect_format",
    "preview_import",
    "read_source",
]
