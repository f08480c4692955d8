"""What the probe is asked to do, read and checked without importing a graph."""

import json
import re
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from jobdeck_backend.jobs.records import Policy
from jobdeck_backend.workflows.plain import plain

STAGES_MAX = 64
SECONDS_MAX = 3_600.0
COUNT_MAX = 100_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
ARTIFACT_BYTES_MAX = 100_000_000


@dataclass(frozen=True)
class ProbeEffect:
    """The effect at a stage's end. Its provider is the journal, where each call is a line."""

    key: str
    """Its name; the ledger's key, which the journal gets, is made from it."""
    policy: Policy
    hang: bool = False
    """The first call is made and never answers."""
    fail: bool = False
    """The first call is made and raises."""


@dataclass(frozen=True)
class ProbeStage:
    """One stage: how long it takes and what it does meanwhile."""

    name: str
    seconds: float = 0.0
    events: int = 0
    """``job.update`` logs, spread over the seconds."""
    tokens: int = 0
    """Words the scripted model says, after the events."""
    fail: bool = False
    block_loop: bool = False
    """Sleep on the event loop's own thread: what a badly written async node does."""
    ignore_cancel: bool = False
    """A sync node that goes on to its end whatever is asked of it."""
    sync: bool = False
    """A sync node that sleeps, looking at ``cancelled`` now and then."""
    artifact_bytes: int = 0
    """The size of the text file it leaves behind; its bytes are the same at each try."""
    effect: ProbeEffect | None = None


@dataclass(frozen=True)
class ProbeInput:
    """The whole run: stages in order, and the output it ends with."""

    stages: tuple[ProbeStage, ...] = ()
    output: Any = None


@lru_cache(maxsize=4)  # it is checked, and then its stages are counted
def parse_probe(request: str) -> ProbeInput:
    """Read a probe's input. Raises ``ValueError`` with a sentence for the caller."""
    try:
        value = json.loads(request)
    except (ValueError, RecursionError):
        raise ValueError(
            'the probe\'s input must be a JSON object, such as {} or {"stages":[{"name":"one","seconds":1}]}'
        ) from None
    if not isinstance(value, dict):
        raise ValueError("the probe's input must be a JSON object")
    _known(value, ("stages", "output"), "the probe's input")
    stages = value.get("stages") or []
    if not isinstance(stages, list) or len(stages) > STAGES_MAX:
        raise ValueError(f"stages must be a list of at most {STAGES_MAX}")
    parsed = tuple(_stage(stage) for stage in stages)
    if len({stage.name for stage in parsed}) < len(parsed):
        raise ValueError("each stage needs a name of its own")
    return ProbeInput(parsed, plain(value.get("output")))


def check_probe(request: str) -> None:
    """Raise ``ValueError`` when the probe could not run this input."""
    parse_probe(request)


def count_probe_stages(request: str) -> int:
    """How many stages this input runs."""
    return len(parse_probe(request).stages)


def _stage(value: Any) -> ProbeStage:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise ValueError("each stage must be an object with a name")
    name = value["name"]
    if not _NAME.fullmatch(name):
        raise ValueError(f"a stage's name is 1 to 64 letters, digits, - or _: {name[:80]!r} is not")
    where = f"stage {name!r}"
    _known(value, _names(ProbeStage), where)
    flags = {key: _flag(value, key, where) for key in ("fail", "block_loop", "ignore_cancel", "sync")}
    return ProbeStage(
        name=name,
        seconds=_number(value, "seconds", where, SECONDS_MAX),
        events=_count(value, "events", where),
        tokens=_count(value, "tokens", where),
        artifact_bytes=_count(value, "artifact_bytes", where, ARTIFACT_BYTES_MAX),
        effect=None if value.get("effect") is None else _effect(value["effect"], f"{where}: effect"),
        **flags,
    )


def _effect(value: Any, where: str) -> ProbeEffect:
    if not isinstance(value, dict) or not isinstance(value.get("key"), str):
        raise ValueError(f"{where} must be an object with a key")
    if not _NAME.fullmatch(value["key"]):
        raise ValueError(f"{where}: a key is 1 to 64 letters, digits, - or _: {value['key'][:80]!r} is not")
    _known(value, (*_names(ProbeEffect), "repeatable"), where)
    policy = Policy.REPEATABLE if _flag(value, "repeatable", where) else Policy.MANUAL
    if "policy" in value:
        if "repeatable" in value or value["policy"] not in list(Policy):
            raise ValueError(f"{where}: give repeatable, or a policy of {', '.join(Policy)}")
        policy = Policy(value["policy"])
    return ProbeEffect(value["key"], policy, _flag(value, "hang", where), _flag(value, "fail", where))


def _names(kind: type[ProbeEffect] | type[ProbeStage]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _known(value: dict[str, Any], names: tuple[str, ...], where: str) -> None:
    unknown = sorted(set(value) - set(names))
    if unknown:
        raise ValueError(f"{where} does not know {unknown[0][:80]!r}; it knows {', '.join(names)}")


def _number(value: dict[str, Any], key: str, where: str, largest: float) -> float:
    number = value.get(key, 0)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= largest:
        raise ValueError(f"{where}: {key} must be a number from 0 to {largest:g}")
    return float(number)


def _count(value: dict[str, Any], key: str, where: str, largest: int = COUNT_MAX) -> int:
    number = _number(value, key, where, largest)
    if number != int(number):
        raise ValueError(f"{where}: {key} must be a whole number")
    return int(number)


def _flag(value: dict[str, Any], key: str, where: str) -> bool:
    flag = value.get(key, False)
    if not isinstance(flag, bool):
        raise ValueError(f"{where}: {key} must be true or false")
    return flag
