"""When unfinished jobs should be done."""

import time

from hypothesis import given
from hypothesis import strategies as st
from jobdeck_backend.jobs.forecast import Ahead, ServiceTime, forecast, service_times

NOW = 1_000_000.0


def exactly(seconds: float) -> ServiceTime:
    return ServiceTime(mean=seconds, p50=seconds, p95=seconds, count=10)


def test_r12_of_24_jobs_of_120_s_on_8_slots_16_are_done_within_300_s_and_8_in_360_s() -> None:
    line = [Ahead(f"job-{number}", "review") for number in range(24)]
    predicted = forecast(line, slots=8, times={"review": exactly(120)}, now=NOW)
    finishes = [predicted.finishes[one.job_id] - NOW for one in line]
    assert finishes == [120.0] * 8 + [240.0] * 8 + [360.0] * 8
    assert sum(finish <= 300 for finish in finishes) == 16
    assert predicted.drain_seconds == 360


def test_what_is_ahead_counts_with_the_mean_and_the_job_itself_with_the_p95() -> None:
    times = {"review": ServiceTime(mean=10, p50=9, p95=30, count=100)}
    line = [Ahead("first", "review"), Ahead("second", "review")]
    predicted = forecast(line, slots=1, times=times, now=NOW)
    assert predicted.finishes == {"first": NOW + 30, "second": NOW + 10 + 30}
    assert predicted.drain_seconds == 20


def test_a_running_job_counts_from_its_start() -> None:
    line = [Ahead("running", "review", started_at=NOW - 100), Ahead("next", "review")]
    predicted = forecast(line, slots=1, times={"review": exactly(120)}, now=NOW)
    assert predicted.finishes == {"running": NOW + 20, "next": NOW + 20 + 120}


def test_a_job_that_runs_longer_than_predicted_is_taken_to_need_as_long_again_as_it_is_late() -> None:
    """Its deadline is seen at risk before it passes, and nothing behind it is promised its slot for now."""
    line = [Ahead("late", "review", started_at=NOW - 150), Ahead("next", "review")]
    predicted = forecast(line, slots=1, times={"review": exactly(120)}, now=NOW)
    assert predicted.finishes == {"late": NOW + 30, "next": NOW + 30 + 120}
    assert predicted.drain_seconds == 30 + 120


def test_the_slot_of_a_drained_worker_takes_nothing_after_the_job_that_runs_there() -> None:
    line = [
        Ahead("leaves", "review", started_at=NOW - 110, slot_closes=True),
        Ahead("stays", "review", started_at=NOW - 60),
        Ahead("next", "review"),
    ]
    predicted = forecast(line, slots=2, times={"review": exactly(120)}, now=NOW)
    assert predicted.finishes == {"leaves": NOW + 10, "stays": NOW + 60, "next": NOW + 180}
    alone = forecast([line[0], line[2]], slots=1, times={"review": exactly(120)}, now=NOW)
    assert "next" not in alone.finishes, "no slot will take it"


def test_a_dependent_starts_after_what_it_waits_for() -> None:
    line = [Ahead("joined", "review", predecessors=["slow"]), Ahead("slow", "slow")]
    times = {"review": exactly(5), "slow": exactly(100)}
    predicted = forecast(line, slots=4, times=times, now=NOW)
    assert predicted.finishes == {"slow": NOW + 100, "joined": NOW + 105}


def test_a_workflow_that_never_finished_is_not_predicted_and_counts_with_the_common_mean() -> None:
    line = [Ahead("unknown", "new"), Ahead("known", "review")]
    predicted = forecast(line, slots=1, times={"review": exactly(10)}, now=NOW)
    assert predicted.finishes == {"known": NOW + 20}


def test_nothing_is_predicted_while_nothing_ever_finished_or_no_slot_is_known() -> None:
    line = [Ahead("one", "review")]
    for slots, times in ((8, {}), (0, {"review": exactly(10)})):
        predicted = forecast(line, slots=slots, times=times, now=NOW)
        assert (dict(predicted.finishes), predicted.drain_seconds) == ({}, None)


def test_an_empty_line_is_drained() -> None:
    assert forecast([], slots=2, times={"review": exactly(10)}, now=NOW).drain_seconds == 0


@given(
    seconds=st.lists(st.floats(0.1, 1000), min_size=1, max_size=5),
    names=st.lists(st.integers(0, 4), max_size=60),
    slots=st.integers(1, 9),
)
def test_an_added_job_never_hastens_the_others(seconds: list[float], names: list[int], slots: int) -> None:
    times = {str(number): exactly(value) for number, value in enumerate(seconds)}
    line = [Ahead(str(index), str(name % len(seconds))) for index, name in enumerate(names)]
    before = forecast(line, slots=slots, times=times, now=NOW).finishes
    after = forecast([Ahead("urgent", "0"), *line], slots=slots, times=times, now=NOW).finishes
    assert set(before) <= set(after)
    assert all(after[job_id] >= finish - 1e-6 for job_id, finish in before.items())
    assert len(before) == len(line)


def test_service_times_are_summed_up_by_name() -> None:
    times = service_times([("a", float(value)) for value in range(101)] + [("b", 3.0)])
    assert times["a"] == ServiceTime(mean=50, p50=50, p95=95, count=101)
    assert times["b"] == ServiceTime(mean=3, p50=3, p95=3, count=1)


def test_ten_thousand_jobs_are_forecast_in_50_ms_of_processor_time() -> None:
    line = [Ahead(str(number), "review") for number in range(10_000)]
    spent = []
    for _ in range(3):
        begun = time.thread_time()
        forecast(line, slots=8, times={"review": exactly(10)}, now=NOW)
        spent.append(time.thread_time() - begun)
    assert min(spent) < 0.05
