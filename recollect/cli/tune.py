"""The command that looks for better settings: tune."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli.evaluate import QUESTIONS, Limit, Split, Store, Unit, asked_for, to_ask
from recollect.cli.options import Settings
from recollect.cli.terminal import answer, complain, progress, say

if TYPE_CHECKING:
    from recollect.evaluation import Tuned


def tune(
    settings: Settings,
    questions: Annotated[str, typer.Argument(help=QUESTIONS, show_default=False)],
    write: Annotated[
        bool, typer.Option("--write", help="Put the settings into the configuration, if they surely are better.")
    ] = False,
    limit: Limit = None,
    unit: Unit = "session",
    split: Split = "test",
    store: Store = None,
) -> int:
    """Look for settings of the default recipe that suit your questions, and say what they gain on others."""
    from recollect.config.edit import write_settings
    from recollect.evaluation import tune
    from recollect.evaluation.tuning import RECIPE

    config = settings.configured
    asked = asked_for(questions, limit, unit, split)
    with to_ask(settings, asked, store) as (asker, labelled), progress("Trying settings") as done:
        tuned = tune(asker, labelled.questions, progress=done)
    refused = write and not tuned.worth_it
    written = write_settings(config, RECIPE, tuned.settings, settings.config) if write and not refused else None
    if settings.json:
        answer(True, {**tuned.as_dict(), "written": written})
    else:
        _tell(tuned)
        if written:
            say(("Written to ", "green"), (str(written), "bold"))
    if refused:
        complain("Nothing was written: no other settings are surely better.", "NotBetter", settings.json)
    return 1 if refused else 0


def _tell(tuned: Tuned) -> None:
    from recollect.config.edit import block
    from recollect.evaluation.tuning import FEW, MEASURE, RECIPE

    gain = tuned.gain
    say(
        ("Before: ", "dim"),
        f"{MEASURE} {tuned.before:.3f} over {tuned.questions:,} questions, with the recipe's own settings",
    )
    say(
        ("Gain:   ", "dim"),
        (f"{gain.mean:+.3f}", "bold"),
        f" [{gain.low:+.3f} to {gain.high:+.3f}] on questions that were not used to choose the settings",
    )
    say((tuned.verdict(), "bold green" if tuned.worth_it else "bold yellow"))
    if tuned.few:
        say((f"With fewer than {FEW} questions, take this as a hint.", "yellow"))
    if tuned.settings and gain.mean > 0:
        say(f"\n{block(RECIPE, tuned.settings)}")
