"""Why a memory is not among the results: the first step that left it out, and by how much."""

from __future__ import annotations

import numpy as np

from recollect.errors import NotFound, RecollectError
from recollect.recall.hits import Hits
from recollect.recall.recipe import Cue
from recollect.recall.results import Verdict
from recollect.recall.run import Run, Skip
from recollect.recall.times import why_not_of_time

NOT_SCORED = "cannot score it: it has nothing of what this cue compares"


def explain_absence(run: Run, again: Run, shown: Hits, id: str) -> Verdict:
    """Follow one memory through the trace of a recall; only the scores of its cues are computed again."""
    row = again.snapshot.row(id)
    if row is None:
        raise NotFound(f"There is no memory with the id {id!r}.")
    ranked = np.flatnonzero(shown.keys == row)
    if len(ranked):
        rank = int(ranked[0]) + 1
        score = float(shown.score.values[ranked[0]])
        return Verdict(id, True, "", f"It was returned, at rank {rank} with a score of {score:.4f}.", score)
    changed = again.snapshot.version != run.trace.version
    scope = run.released_scope or again.scope
    if changed and not scope.knows(row):
        return Verdict(id, False, "filter", "It was added or changed after this recall; recall again.")
    exclusion = None if scope is again.scope and _is_in_trace(run, row) else scope.exclusion(row)
    if exclusion is not None:
        reason = f"Left out before the search: {exclusion.reason}."
        if changed and scope is again.scope:
            reason += " (As the memories are now: some were changed since this recall.)"
        return Verdict(id, False, "filter", reason, exclusion.value, exclusion.threshold)
    cues = {cue.name: _opinion(again, cue, row) for cue in run.recipe.cues.cues()}
    for step in run.trace.steps:
        for dropped in step.dropped:
            at = np.flatnonzero(dropped.keys == row)
            if len(at):
                value = float(dropped.values[at[0]])
                reason = f"Left out by {step.kind} “{step.name}”: {dropped.reason} "
                reason += f"({value:g} against {dropped.threshold:g})"
                if step.kind == "cut":
                    reason += _gap(step.hits, shown, row)
                return Verdict(id, False, step.name, reason + ".", value, dropped.threshold, cues)
    reason = why_not_of_time(again, row) or "No cue has it among its candidates."
    if changed and scope is again.scope:
        reason = "No step of this recall had it. Memories were changed since: if it was one of them, recall again."
    return Verdict(id, False, "cues", reason, cues=cues)


def _is_in_trace(run: Run, row: int) -> bool:
    """Did a step have it among its hits? Then it was in scope, whatever has changed since."""
    found = [each.keys for each in run.found.values()] + [
        each.keys for step in run.trace.steps for each in step.dropped
    ]
    return any(row in keys for keys in found)


def _gap(hits: Hits | None, shown: Hits, row: int) -> str:
    """Its score and that of the last result."""
    if hits is None or not len(shown):
        return ""
    score = float(hits.score.values[np.flatnonzero(hits.keys == row)[0]])
    return f"; its score is {score:.4f}, the last result has {float(shown.score.values[-1]):.4f}"


def _opinion(run: Run, cue: Cue, row: int) -> str:
    """A cue's rank and score of a memory, or its score beside that of its last candidate, or why it has none."""
    found = run.found.get(cue.name)
    if found is not None and row in found.keys:
        place = int(np.flatnonzero(found.keys == row)[0])
        score = float(found.score.values[place])
        return f"found it at rank {place + 1} with a score of {score:.4f}" if score == score else NOT_SCORED
    try:
        explanation = cue.score(run, np.array([row])).at(0)
        score = explanation.value
    except Skip as skip:
        return f"did not run: {skip}"
    except RecollectError as problem:
        return f"failed: {problem}"
    if np.isnan(score):
        return NOT_SCORED
    if found is None:
        return f"would score it {score:.4f}"
    if explanation.role == "cosine" and score == 0:  # the score of a memory without a vector
        return "gives it no score: it has no vector"
    if score <= 0:
        return "gives it no score: nothing in common with the query"
    if len(found.keys):
        last = float(found.score.values[-1])
        return f"scores it {score:.4f}; its {len(found.keys)} candidates end at {last:.4f}"
    return f"scores it {score:.4f}, but has no candidates"
