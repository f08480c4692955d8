"""What of a graph is saved when: with the checkpoint of its super-step, or before it where that is far off."""

import asyncio
from typing import Annotated, Any, TypedDict

from authored import JOB, AuthoredJob
from jobdeck_backend.jobs.records import Status
from jobdeck_backend.store import jobs
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send
from running_backend import wait_until


class Said(TypedDict):
    said: Annotated[list[str], list.__add__]


def stages(job: AuthoredJob) -> list[str]:
    """The stages on record."""
    with job.database.read() as tx:
        return [run.node for run in jobs.load_stages(tx, JOB)]


def checkpoints(job: AuthoredJob) -> int:
    with job.database.read() as tx:
        return int(tx.exec_driver_sql("SELECT count(*) FROM checkpoints").scalar_one())


def test_r20_a_finished_branch_is_saved_while_another_still_runs_and_never_runs_again(
    job: AuthoredJob,
) -> None:
    def fast(_state: Any) -> dict[str, Any]:
        job.called.append("fast")
        return {"said": ["fast"]}

    def slow(_state: Any) -> dict[str, Any]:
        wait_until(lambda: stages(job) == ["fast"], what="the fast branch is on record")
        job.called.append("slow")
        if job.called.count("slow") == 1:
            raise RuntimeError("not this time")
        return {"said": ["slow"]}

    graph = StateGraph(Said).add_node("fast", fast).add_node("slow", slow)
    job.accept(graph.add_edge(START, "fast").add_edge(START, "slow"), said=[])
    assert job.attempt().status is Status.FAILURE
    assert job.resume() == "resumed"
    assert job.attempt().status is Status.SUCCESS
    assert job.called == ["fast", "slow", "slow"]
    assert sorted(stages(job)) == ["fast", "slow"]


def test_r20_no_branch_of_many_is_on_record_before_its_output_is(job: AuthoredJob) -> None:
    """A loss at that instant would run it again, and the record of its second end would be refused."""
    branches = 100
    looks: list[tuple[int, int]] = []

    def look() -> None:
        with job.database.read() as tx:
            on_record = [run for run in jobs.load_stages(tx, JOB) if run.node != "split"]
            saved = tx.exec_driver_sql(
                "SELECT count(DISTINCT task_id) FROM writes WHERE task_path LIKE '~__pregel_push%'"
            )
            looks.append((len(on_record), saved.scalar_one()))

    async def branch(state: dict[str, int]) -> dict[str, Any]:
        for _ in range(1 + state["number"] % 10):
            await asyncio.to_thread(look)
        return {"said": [str(state["number"])]}

    graph = StateGraph(Said).add_node("split", lambda _state: {"said": []}).add_node("branch", branch)
    graph.add_edge(START, "split").add_conditional_edges(
        "split", lambda _state: [Send("branch", {"number": number}) for number in range(branches)], ["branch"]
    )
    job.accept(graph, said=[])
    assert job.attempt().status is Status.SUCCESS
    assert [(on_record, saved) for on_record, saved in looks if on_record > saved] == []
    assert any(on_record for on_record, _ in looks), "it was looked at while some had ended"
    assert len(stages(job)) == branches + 1


def test_r20_a_stage_that_hands_over_to_a_node_outside_its_subgraph_has_ended(job: AuthoredJob) -> None:
    def inner(_state: Any) -> Command[str]:
        return Command(graph=Command.PARENT, goto="last", update={"said": ["inner"]})

    def last(_state: Any) -> dict[str, Any]:
        assert sorted(node.rpartition("/")[2] for node in stages(job)) == ["inner", "outer"]
        return {"said": ["last"]}

    outer = StateGraph(Said).add_node("inner", inner).add_edge(START, "inner").compile()
    graph = StateGraph(Said).add_node("outer", outer, destinations=("last",)).add_node("last", last)
    job.accept(graph.add_edge(START, "outer"), said=[])
    ended = job.attempt()
    assert ended.status is Status.SUCCESS, ended.error
    assert len(job.told("workflow.end")) == 4
    assert len(stages(job)) == 3


def test_r20_a_stage_and_the_input_it_began_from_are_saved_together(job: AuthoredJob) -> None:
    saved_before: list[int] = []

    def only(_state: Any) -> dict[str, Any]:
        saved_before.append(checkpoints(job))
        return {"said": ["only"]}

    job.accept(StateGraph(Said).add_node("only", only).add_edge(START, "only"), said=["asked"])
    assert job.attempt().status is Status.SUCCESS
    assert saved_before == [0]
    assert checkpoints(job) == 3
    assert stages(job) == ["only"]


def test_r22_the_result_of_a_graph_that_needed_no_node_is_its_saved_input(job: AuthoredJob) -> None:
    graph = StateGraph(Said).add_node("never", lambda state: state)
    job.accept(graph.add_conditional_edges(START, lambda _state: END, ["never", END]), said=["asked"])
    ended = job.attempt()
    assert ended.status is Status.SUCCESS, ended.error
    assert '"asked"' in (ended.output or "")
    assert checkpoints(job) >= 1
