"""What a filter's terms match, asked of rows of jobs one by one."""

import re
from collections.abc import Callable, Iterable
from fnmatch import translate

from jobdeck_backend.jobs.filter_terms import (
    BY_PREFIX,
    GHOST_S,
    NUMBERS,
    STATE_WORDS,
    Term,
    is_pattern,
)
from jobdeck_backend.jobs.states import State
from jobdeck_backend.jobs.view import JobView

Predicate = Callable[[JobView, float], bool]


def _state_word(view: JobView, now: float) -> str:
    source = view.source
    if source.cancelling:
        return "cancelling"
    beat = source.heartbeat_at
    silent = source.slot_taken and beat is not None and now - beat > GHOST_S
    return "ghost" if silent and view.state == State.RUNNING else view.state


_WORDS: dict[str, Callable[[JobView, float], str | None]] = {
    "state": _state_word,
    "status": lambda view, _now: view.source.status,
    "queue": lambda view, _now: view.source.queue,
    "agent": lambda view, _now: view.source.workflow,
    "owner": lambda view, _now: view.source.owner,
    "worker": lambda view, _now: view.source.worker,
    "stage": lambda view, _now: view.source.stage,
    "id": lambda view, _now: view.source.job_id,
    "thread": lambda view, _now: view.source.thread_id,
}
_NUMBERS: dict[str, Callable[[JobView, float], float | None]] = {
    "left": lambda view, now: view.left(now),
    "slack": lambda view, _now: None if view.finished else view.slack,
    "age": lambda view, now: now - view.source.accepted_at,
    "try": lambda view, _now: view.source.attempt,
    "priority": lambda view, _now: view.source.priority,
    "epoch": lambda view, _now: view.source.epoch,
}


def compile_terms(terms: Iterable[Term]) -> Predicate:
    """A filter's terms as a predicate over (row, now in Unix seconds); without any, everything passes.

    Raises ``InvalidInput`` naming a value that cannot be used.
    """
    tests = [_test(term) for term in terms]
    return lambda view, now: all(test(view, now) for test in tests)


def _test(term: Term) -> Predicate:
    test = _free(term.value)
    if term.name:
        test = _number(term) if term.name in NUMBERS else _word(term)
    return (lambda view, now: not test(view, now)) if term.negated else test


def _free(wanted: str) -> Predicate:
    def matches(view: JobView, _now: float) -> bool:
        source = view.source
        said = (
            source.job_id,
            source.workflow,
            source.queue,
            view.state,
            source.worker,
            source.stage,
            source.note,
            view.reason,
            source.error,
        )
        return wanted in "\n".join(text for text in said if text).lower()

    return matches


def _word(term: Term) -> Predicate:
    patterns = []
    for word in term.choices:
        if is_pattern(word):
            patterns.append(translate(word))
        elif term.name == "state":
            patterns += map(re.escape, STATE_WORDS[word])
        else:
            patterns.append(re.escape(word) + (".*" if term.name in BY_PREFIX else ""))
    read, one_of = _WORDS[term.name], re.compile("|".join(patterns), re.DOTALL).fullmatch
    return lambda view, now: one_of((read(view, now) or "").lower()) is not None


def _number(term: Term) -> Predicate:
    read, operator, numbers = _NUMBERS[term.name], term.operator, frozenset(term.numbers)
    if operator in (":", "="):
        return lambda view, now: read(view, now) in numbers
    (bound,) = numbers

    def matches(view: JobView, now: float) -> bool:
        number = read(view, now)
        if number is None:
            return False
        match operator:
            case "<":
                return number < bound
            case "<=":
                return number <= bound
            case ">":
                return number > bound
            case _:
                return number >= bound

    return matches
