"""The deck's filter language, for rows of jobs.

    state:failed queue:research agent:deep* left<60s try>1 worker:w3 age>10m !demo "free text"

Terms are joined by AND, a comma inside a value is OR, ``!`` negates. Values take ``*`` and ``?`` and ignore case;
durations have a unit (``500ms 60s 10m 2h 1d``) or are seconds.
"""

import re
from collections.abc import Callable
from fnmatch import translate

from jobdeck_backend.errors import InvalidInput
from jobdeck_backend.jobs.states import FINISHED, State
from jobdeck_backend.jobs.view import JobView

TERMS_MAX = 50

Predicate = Callable[[JobView, float], bool]
ReadWord = Callable[[JobView], str | None]
ReadNumber = Callable[[JobView, float], float | None]

_TERM = re.compile(r'(!?)(?:([A-Za-z_]+)(<=|>=|[:=<>]))?(?:"([^"]*)"?|(\S*))\s*')
_DURATION = re.compile(r"(-?\d+(?:\.\d+)?)(ms|s|m|h|d)?")
_UNIT_SECONDS = {None: 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def _state_word(view: JobView) -> str:
    return "cancelling" if view.source.cancelling else view.state


_STATE_WORDS: dict[str, frozenset[str]] = {
    **{state: frozenset({state}) for state in State},
    # A cancel that waits for its worker is found under both names.
    "cancelled": frozenset({"cancelled", "cancelling"}),
    "cancelling": frozenset({"cancelling"}),
    "done": frozenset({State.SUCCEEDED}),
    "finished": frozenset(FINISHED),
    "unfinished": frozenset({*State, "cancelling"}) - FINISHED,
}
_WORDS: dict[str, ReadWord] = {
    "state": _state_word,
    "status": lambda view: view.source.status,
    "queue": lambda view: view.source.queue,
    "agent": lambda view: view.source.workflow,
    "owner": lambda view: view.source.owner,
    "worker": lambda view: view.source.worker,
    "stage": lambda view: view.source.stage,
    "id": lambda view: view.source.job_id,
    "thread": lambda view: view.source.thread_id,
}
_BY_PREFIX = frozenset({"worker", "id", "thread"})
_NUMBERS: dict[str, ReadNumber] = {
    "left": lambda view, now: view.left(now),
    "slack": lambda view, _now: view.slack,
    "age": lambda view, now: now - view.source.accepted_at,
    "try": lambda view, _now: view.source.attempt,
    "priority": lambda view, _now: view.source.priority,
    "epoch": lambda view, _now: view.source.epoch,
}
FIELDS = tuple(sorted({*_WORDS, *_NUMBERS}))


def compile_filter(text: str) -> Predicate:
    """A filter as a predicate over (row, now in Unix seconds); an empty one lets everything pass.

    Raises ``InvalidInput`` naming the fields there are, or the value that cannot be used.
    """
    terms = [_term(*parts) for parts in _split(text)]
    return lambda view, now: all(term(view, now) for term in terms)


def _split(text: str) -> list[tuple[bool, str, str, str]]:
    terms = []
    for match in _TERM.finditer(text.strip()):
        negated, name, operator, quoted, bare = match.groups()
        value = bare if quoted is None else quoted
        if name or value:
            terms.append((bool(negated), (name or "").lower(), operator or "", value))
    if len(terms) > TERMS_MAX:
        raise InvalidInput(f"a filter has at most {TERMS_MAX} terms")
    return terms


def _term(negated: bool, name: str, operator: str, value: str) -> Predicate:  # noqa: FBT001
    if name and not value:
        raise InvalidInput(f"filter: {name}{operator} needs a value")
    if not name:
        term = _free(value)
    elif name in _WORDS:
        term = _word(name, operator, value)
    elif name in _NUMBERS:
        term = _number(name, operator, value)
    else:
        raise InvalidInput(
            f"filter: there is no field {name}; the fields are: {', '.join(FIELDS)}", fields=list(FIELDS)
        )
    return (lambda view, now: not term(view, now)) if negated else term


def _free(value: str) -> Predicate:
    wanted = value.lower()

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
        return any(wanted in text.lower() for text in said if text)

    return matches


def _word(name: str, operator: str, value: str) -> Predicate:
    if operator not in (":", "="):
        raise InvalidInput(f"filter: {name} is a word, write {name}:{value}")
    patterns = []
    for word in value.lower().split(","):
        if "*" in word or "?" in word:
            patterns.append(translate(word))
        elif name == "state":
            if word not in _STATE_WORDS:
                raise InvalidInput(f"filter: state is never {word}; known: {', '.join(_STATE_WORDS)}")
            patterns += map(re.escape, _STATE_WORDS[word])
        else:
            patterns.append(re.escape(word) + (".*" if name in _BY_PREFIX else ""))
    read, one_of = _WORDS[name], re.compile("|".join(patterns), re.DOTALL).fullmatch
    return lambda view, _now: one_of((read(view) or "").lower()) is not None


def _number(name: str, operator: str, value: str) -> Predicate:
    read = _NUMBERS[name]
    if operator in (":", "="):
        wanted = frozenset(_seconds(name, part) for part in value.split(","))
        return lambda view, now: read(view, now) in wanted
    bound = _seconds(name, value)

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


def _seconds(name: str, value: str) -> float:
    match = _DURATION.fullmatch(value.lower())
    if match is None:
        raise InvalidInput(f"filter: {value} is no number for {name}, write such as {name}>10 or {name}<60s")
    return float(match[1]) * _UNIT_SECONDS[match[2]]
