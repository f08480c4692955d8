"""What the author of a workflow may rely on of its effects (R25)."""

import operator
from typing import Annotated, Any, TypedDict

import pytest
from authored import JOB, AuthoredJob
from jobdeck_backend.commands import operators
from jobdeck_backend.errors import EffectUncertain, VerdictNeeded
from jobdeck_backend.jobs.records import EffectState, Policy, Status
from jobdeck_backend.workflows.effects import effect
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy, Send


class State(TypedDict, total=False):
    done: Annotated[list[Any], operator.add]
    amount: int


class InterruptedHereError(Exception):
    """What ends an attempt."""


def charge(job: AuthoredJob, name: str = "charge", **options: Any) -> Any:
    with effect(name, request={"for": name}, **options) as handle:
        if handle.call:
            job.called.append(handle.key)
            handle.confirm({"number": len(job.called)})
    return handle.outcome


def one_node(node: Any, **options: Any) -> StateGraph:
    graph = StateGraph(State)
    graph.add_node("pay", node, **options)
    graph.add_edge(START, "pay")
    graph.add_edge("pay", END)
    return graph


def fail_once(job: AuthoredJob) -> None:
    if job.job().attempt == 1:
        raise InterruptedHereError


def test_r25_two_calls_of_one_node_are_two_effects_and_neither_is_made_again(job: AuthoredJob) -> None:
    def pay(state: State) -> State:
        outcomes = [charge(job), charge(job), charge(job, "tip")]
        fail_once(job)
        return {"done": outcomes}

    job.accept(one_node(pay))
    assert job.attempt().status is Status.FAILURE
    assert job.resume() == "resumed"
    done = job.attempt()
    assert done.status is Status.SUCCESS
    assert job.called == [f"{JOB}/pay/1/charge/0", f"{JOB}/pay/1/charge/1", f"{JOB}/pay/1/tip/0"]
    assert '"done":[{"number":1},{"number":2},{"number":3}]' in done.output, "the outcomes are remembered"


def test_r25_each_turn_of_a_loop_is_an_effect_of_its_own(job: AuthoredJob) -> None:
    async def pay(state: State) -> State:
        return {"done": [charge(job)]}

    graph = StateGraph(State)
    graph.add_node("pay", pay)
    graph.add_edge(START, "pay")
    graph.add_conditional_edges("pay", lambda state: "pay" if len(state["done"]) < 3 else END)
    job.accept(graph)
    assert job.attempt().status is Status.SUCCESS
    assert job.called == [f"{JOB}/pay/{step}/charge/0" for step in (1, 2, 3)]


def test_r25_a_node_tried_anew_in_the_same_attempt_means_the_same_effects(job: AuthoredJob) -> None:
    tries = []

    def pay(state: State) -> State:
        tries.append(1)
        outcomes = [charge(job)]
        if len(tries) == 1:
            raise ConnectionError
        return {"done": [*outcomes, charge(job)]}

    job.accept(one_node(pay, retry_policy=RetryPolicy(initial_interval=0.01, max_attempts=2)))
    assert job.attempt().status is Status.SUCCESS
    assert len(tries) == 2
    assert job.called == [f"{JOB}/pay/1/charge/0", f"{JOB}/pay/1/charge/1"]


def test_r25_runs_of_one_node_side_by_side_have_effects_of_their_own(job: AuthoredJob) -> None:
    def pay(state: State) -> State:
        outcome = charge(job)
        if state["amount"] == 2:
            fail_once(job)
        return {"done": [outcome]}

    graph = StateGraph(State)
    graph.add_node("pay", pay)
    graph.add_conditional_edges(START, lambda _: [Send("pay", {"amount": amount}) for amount in (1, 2, 3)])
    graph.add_edge("pay", END)
    job.accept(graph)
    assert job.attempt().status is Status.FAILURE
    assert job.resume() == "resumed"
    assert job.attempt().status is Status.SUCCESS
    assert len(job.called) == len(set(job.called)) == 3


def test_r25_a_subgraph_run_twice_has_effects_of_its_own_each_time(job: AuthoredJob) -> None:
    def pay(state: State) -> State:
        return {"done": [charge(job)]}

    inner = one_node(pay).compile()
    outer = StateGraph(State)
    outer.add_node("inner", lambda state: {"done": inner.invoke({})["done"]})
    outer.add_node("gate", lambda _: fail_once(job) or {})
    outer.add_edge(START, "inner")
    outer.add_conditional_edges("inner", lambda state: "inner" if len(state["done"]) < 2 else "gate")
    job.accept(outer)
    assert job.attempt().status is Status.FAILURE
    assert job.resume() == "resumed"
    assert job.attempt().status is Status.SUCCESS
    assert len(job.called) == len(set(job.called)) == 2


def test_r25_a_node_that_raises_during_its_call_holds_the_job_for_a_person(job: AuthoredJob) -> None:
    def pay(state: State) -> State:
        with effect("charge", request={}) as handle:
            if handle.call:
                job.called.append(handle.key)
                raise InterruptedHereError("the line went dead")
        return {"done": [handle.outcome]}

    job.accept(one_node(pay))
    held = job.attempt()
    (known,) = job.effects()
    assert held.status is Status.SUBMITTED
    assert held.held_reason == (
        f"nobody knows whether effect {known.key} happened: InterruptedHereError: the line went dead"
    )
    assert known.state is EffectState.UNCERTAIN
    assert job.told("job.error") == [], "it has not ended"
    (left,) = job.asides().values()
    assert "InterruptedHereError: the line went dead" in left.traceback
    assert "in pay\n" in left.traceback
    refusal = job.resume()
    assert isinstance(refusal, VerdictNeeded)
    job.judge(known.key, EffectState.HAPPENED, "receipt 4711")
    assert job.resume() == "resumed"
    done = job.attempt()
    assert done.status is Status.SUCCESS
    assert '"done":[{"proof":"receipt 4711"}]' in done.output
    assert job.called == [known.key]


def test_r25_a_failure_elsewhere_beside_an_open_call_holds_the_job_too(job: AuthoredJob) -> None:
    """The stage that failed is not the one whose call nobody knows of: its author forgot to confirm."""

    def pay(state: State) -> State:
        with effect("charge", request={}):
            return {"done": [1]}

    graph = one_node(pay)
    graph.add_node("after", lambda _: fail_once(job) or {})
    graph.add_edge("pay", "after")
    job.accept(graph)
    assert "charge/0 happened: InterruptedHereError" in job.attempt().held_reason
    job.judge(job.effects()[0].key, EffectState.HAPPENED, "seen in the books")
    assert job.resume() == "resumed"
    assert job.attempt().status is Status.SUCCESS


@pytest.mark.parametrize("policy", [Policy.REPEATABLE, Policy.IDEMPOTENT, Policy.PROBE])
@pytest.mark.parametrize("happened", [False, True])
def test_r25_where_no_person_is_needed_a_node_that_raises_fails_and_its_policy_decides_at_the_resume(
    job: AuthoredJob, policy: Policy, happened: bool
) -> None:
    asked = {"probe": lambda _key: happened} if policy is Policy.PROBE else {}

    def pay(state: State) -> State:
        with effect("charge", request={}, policy=policy, **asked) as handle:
            if handle.call:
                job.called.append(handle.key)
                fail_once(job)
                handle.confirm()
        return {}

    job.accept(one_node(pay))
    failed = job.attempt()
    assert (failed.status, failed.error_type) == (Status.FAILURE, "InterruptedHereError")
    (known,) = job.effects()
    assert known.state is EffectState.UNCERTAIN
    assert job.resume() == "resumed"
    assert job.attempt().status is Status.SUCCESS
    calls = 1 if happened and policy is Policy.PROBE else 2
    assert job.called == [known.key] * calls


def test_r25_what_certainly_failed_is_called_again_without_a_person(job: AuthoredJob) -> None:
    def pay(state: State) -> State:
        with effect("charge", request={}) as handle:
            job.called.append(handle.key)
            if handle.tries == 1:
                handle.failed("the provider refused it")
                raise InterruptedHereError
            handle.confirm("paid")
        return {"done": [handle.outcome]}

    job.accept(one_node(pay))
    assert job.attempt().status is Status.FAILURE
    (known,) = job.effects()
    assert (known.state, known.outcome) == (EffectState.FAILED, '{"reason":"the provider refused it"}')
    assert job.resume() == "resumed"
    assert job.attempt().status is Status.SUCCESS
    assert job.called == [known.key] * 2


def test_r25_a_call_whose_outcome_was_never_told_is_no_success(job: AuthoredJob) -> None:
    def pay(state: State) -> State:
        with effect("charge", request={}, policy=Policy.REPEATABLE):
            return {"done": ["forgot to confirm"]}

    job.accept(one_node(pay))
    held = job.attempt()
    assert (held.status, held.held_reason) == (Status.SUBMITTED, "effect charge of pay is uncertain")
    (known,) = job.effects()
    job.judge(known.key, EffectState.HAPPENED, "seen in the books")
    assert job.resume() == "resumed"
    assert job.attempt().status is Status.SUCCESS


def test_r25_an_author_who_swallows_the_uncertainty_gets_no_success_from_it(job: AuthoredJob) -> None:
    def pay(state: State) -> State:
        try:
            with effect("charge", request={}) as handle:
                job.called.append(handle.key)
                raise InterruptedHereError
        except EffectUncertain:
            return {"done": ["never mind"]}

    job.accept(one_node(pay, retry_policy=RetryPolicy(initial_interval=0.01, max_attempts=2)))
    held = job.attempt()
    assert held.held_reason == "effect charge of pay is uncertain"
    assert len(job.called) == 1


def test_r25_a_provider_that_cannot_tell_leaves_it_to_a_person(job: AuthoredJob) -> None:
    answers = [None, False]

    def pay(state: State) -> State:
        with effect("charge", request={}, policy=Policy.PROBE, probe=lambda _key: answers.pop(0)) as handle:
            job.called.append(handle.key)
            if handle.tries == 1:
                raise InterruptedHereError
            handle.confirm()
        return {}

    job.accept(one_node(pay))
    assert job.attempt().status is Status.FAILURE
    assert job.resume() == "resumed", "the provider is asked before a person is"
    held = job.attempt()
    assert held.held_reason == "the provider cannot tell whether effect charge happened"
    assert len(job.called) == 1
    assert job.resume() == "resumed", "asking again may help"
    assert job.attempt().status is Status.SUCCESS
    assert len(job.called) == 2


@pytest.mark.parametrize("act", [operators.cancel, operators.expire])
def test_r25_an_execution_whose_job_was_taken_settles_what_its_fence_still_allows(
    job: AuthoredJob, act: Any
) -> None:
    """A cancel leaves the worker time to say how its call ended; an expiry shuts it out at once."""

    def pay(state: State) -> State:
        with effect("charge", request={}) as handle:
            assert isinstance(job.act(act), str)
            assert job.effects()[0].state is EffectState.UNCERTAIN
            handle.confirm({"number": 1})
        return {}

    job.accept(one_node(pay))
    assert job.attempt().status is Status.INTERRUPTED
    (known,) = job.effects()
    expected = EffectState.CONFIRMED if act is operators.cancel else EffectState.UNCERTAIN
    assert (known.state, known.outcome is None) == (expected, act is operators.expire)


def test_r25_a_verdict_waits_for_the_attempt_that_may_yet_tell(job: AuthoredJob) -> None:
    refusals = []

    def pay(state: State) -> State:
        with effect("charge", request={}) as handle:
            job.act(operators.cancel)
            refusals.append(job.judge(handle.key, EffectState.NOT_HAPPENED))
        return {}

    job.accept(one_node(pay))
    job.attempt()
    assert "live attempt" in str(refusals[0])
    (known,) = job.effects()
    assert isinstance(job.judge(known.key, EffectState.NOT_HAPPENED), str)


def test_r25_an_effect_is_settled_once(job: AuthoredJob) -> None:
    def pay(state: State) -> State:
        with effect("charge", request={}) as handle:
            handle.failed("refused")
            handle.confirm()
        return {}

    job.accept(one_node(pay))
    assert "is settled already" in job.attempt().error
    assert job.effects()[0].state is EffectState.FAILED


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("", {}),
        ("a/b", {}),
        ("x" * 65, {}),
        ("charge", {"policy": Policy.PROBE}),
        ("charge", {"probe": lambda _: True}),
    ],
)
def test_an_effect_that_cannot_be_is_refused_before_anything_happens(
    job: AuthoredJob, name: str, options: dict[str, Any]
) -> None:
    def pay(state: State) -> State:
        charge(job, name, **options)
        return {}

    job.accept(one_node(pay))
    assert job.attempt().error_type == "ValueError"
    assert (job.called, job.effects()) == ([], [])
