"""The documentation site: `make docs` builds it from the Markdown pages of this folder with Sphinx.

Some pages have a marker that is replaced by what the code says: the commands, the public names, and the changelog.
Nothing is requested from outside, neither when the site is built nor when it is read; search works from the files.
"""

import inspect
from collections.abc import Callable
from pathlib import Path

from sphinx.application import Sphinx

import recollect
from recollect.cli.manual import as_markdown

project = "Recollect"
author = "the authors of Recollect"
version = release = recollect.__version__
html_title = f"Recollect {version}"
html_theme = "furo"
smartquotes = False  # --option stays --option
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
exclude_patterns = ["_build"]

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4  # links such as page.md#a-heading, with the names that GitHub gives
myst_links_external_new_tab = False
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True

LINKS = {  # files of the repository that are pages of the site
    "](../CHANGELOG.md)": "](changes.md)",
    "](../bench/results/embed.md)": "](speed.md#embedding)",
}
OWN_PAGE = "Mind"  # the public name that has a page of its own
SIGNATURES = {
    "Memory": "(text, **fields)"
}  # its fields are annotated with their definitions, and have a page: memory-fields.md


def public_names() -> str:
    """One entry for each public name: classes with their members, functions, then errors."""
    names = {name: getattr(recollect, name) for name in recollect.__all__ if name != OWN_PAGE}
    errors = [name for name, value in names.items() if inspect.isclass(value) and issubclass(value, Exception)]
    classes = [name for name, value in names.items() if inspect.isclass(value) and name not in errors]
    functions = [name for name in names if name not in (*errors, *classes)]
    sections = {"Classes": ("autoclass", classes), "Functions": ("autofunction", functions)}
    pages = [_section(title, *entries) for title, entries in sections.items()]
    return "\n".join([*pages, _section("Errors", "autoexception", errors)])


def _section(title: str, directive: str, names: list[str]) -> str:
    return f"\n## {title}\n" + "\n".join(_entry(directive, name) for name in names)


def _entry(directive: str, name: str) -> str:
    options = "\n   :members:" if directive == "autoclass" else ""
    if options and name not in SIGNATURES:
        options += "\n   :undoc-members:"
    signature = SIGNATURES.get(name, "")
    return f"\n### {name}\n\n```{{eval-rst}}\n.. {directive}:: recollect.{name}{signature}{options}\n```"


def changelog() -> str:
    """The versions, with links as from this folder."""
    text = (Path(__file__).parent.parent / "CHANGELOG.md").read_text("utf-8").removeprefix("# Changelog\n")
    return text.replace("](docs/systems/)", "](systems/README.md)").replace("](docs/", "](")


MARKERS: dict[str, Callable[[], str]] = {
    "<!-- commands -->": as_markdown,
    "<!-- public names -->": public_names,
    "<!-- changelog -->": changelog,
}


def _fill_in(app: Sphinx, page: str, source: list[str]) -> None:
    for link, target in LINKS.items():
        source[0] = source[0].replace(link, target)
    for marker, text in MARKERS.items():
        if marker in source[0]:
            source[0] = source[0].replace(marker, text())


def setup(app: Sphinx) -> None:
    app.connect("source-read", _fill_in)
