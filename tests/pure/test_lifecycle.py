"""The transition table (R13), by every walk through it."""

from contextlib import suppress
from itertools import product

from hypothesis import given
from hypothesis import strategies as st
from jobdeck_backend.errors import NotEligible
from jobdeck_backend.jobs.lifecycle import OUTCOMES, RAISES_FENCE, Verb, advance
from jobdeck_backend.jobs.records import Outcome, Status

VERBS = st.lists(st.sampled_from(Verb), max_size=40)


def walk(verbs: list[Verb]) -> list[tuple[Status, Verb, Status]]:
    """The steps that are allowed, from SUBMITTED on."""
    status, steps = Status.SUBMITTED, []
    for verb in verbs:
        with suppress(NotEligible):
            after = advance(status, verb)
            steps.append((status, verb, after))
            status = after
    return steps


@given(VERBS)
def test_r13_i3_only_a_resume_leaves_a_terminal_status(verbs: list[Verb]) -> None:
    for before, verb, _after in walk(verbs):
        if before.terminal:
            assert verb is Verb.RESUME


@given(VERBS)
def test_r13_success_is_for_ever(verbs: list[Verb]) -> None:
    steps = walk(verbs)
    succeeded = [index for index, (_, verb, _after) in enumerate(steps) if verb is Verb.SUCCEED]
    assert succeeded in ([], [len(steps) - 1])


@given(VERBS)
def test_a_job_succeeds_only_from_running_which_only_a_claim_begins(verbs: list[Verb]) -> None:
    for before, verb, after in walk(verbs):
        assert (verb is Verb.CLAIM) == (after is Status.RUNNING)
        if verb is Verb.SUCCEED:
            assert before is Status.RUNNING


@given(VERBS)
def test_every_end_has_an_outcome_and_only_ends_have_one(verbs: list[Verb]) -> None:
    for _before, verb, after in walk(verbs):
        assert after.terminal == (verb in OUTCOMES)


@given(VERBS)
def test_r14_each_claim_and_each_taking_away_has_a_fence_of_its_own(verbs: list[Verb]) -> None:
    """No two executions share a fence; what takes the job from a worker shuts it out, but for a cancel."""
    fence, claims = 0, []
    for before, verb, after in walk(verbs):
        fence += verb in RAISES_FENCE
        if verb is Verb.CLAIM:
            claims.append(fence)
        elif before is Status.RUNNING and verb not in {Verb.CANCEL, Verb.SUCCEED, Verb.FAIL}:
            assert fence > claims[-1]
        if after is Status.SUBMITTED and verb is not Verb.SUBMIT:
            assert not claims or fence > claims[-1]
    assert len(set(claims)) == len(claims)


def answer(status: Status, verb: Verb) -> Status | str:
    """The status after, or the refusal in words."""
    try:
        return advance(status, verb)
    except NotEligible as refusal:
        return refusal.message


def test_what_is_not_allowed_is_refused_in_words() -> None:
    for status, verb in product(Status, Verb):
        assert answer(status, verb) in {*Status, f"a job that is {status} cannot be {verb}"}


def test_each_outcome_has_its_own_verb_and_a_failure_for_want_of_a_worker_one_more() -> None:
    assert sorted(OUTCOMES.values()) == sorted([*Outcome, Outcome.FAILED])
    assert OUTCOMES[Verb.TIME_OUT] is Outcome.FAILED
