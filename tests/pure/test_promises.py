"""Which deadlines can be promised, and what best-effort jobs do about the promises (R12)."""

from hypothesis import given
from hypothesis import strategies as st
from jobdeck_backend.jobs.admission import Line, weigh, yielding
from jobdeck_backend.jobs.forecast import Ahead, ServiceTime

NOW = 1_000_000.0
TIMES = {"review": ServiceTime(mean=100, p50=100, p95=100, count=9)}


def strict(name: str, deadline: float, **more) -> Ahead:
    return Ahead(name, "review", order=(deadline, 0, NOW), strict_deadline=deadline, **more)


def candidate(deadline: float, **more) -> Ahead:
    return Ahead("new", "review", order=(deadline, 0, NOW + 1), **more)


def line_of(*ahead: Ahead, slots: int = 1, stuck: frozenset[str] = frozenset()) -> Line:
    return Line(sorted(ahead, key=lambda one: one.order), slots, TIMES, NOW, stuck)


def test_a_deadline_that_would_push_another_promise_out_is_refused_and_one_behind_it_is_offered() -> None:
    line = line_of(strict("promised", NOW + 150))
    weighed = weigh(line, candidate(NOW + 120), NOW + 120)
    assert (weighed.holds, weighed.finish) == (False, NOW + 100)
    assert weighed.offer is not None
    assert NOW + 200 <= weighed.offer <= NOW + 205
    assert weigh(line, candidate(weighed.offer), weighed.offer).holds


def test_what_a_candidate_waits_for_inherits_its_urgency_and_that_too_breaks_no_promise() -> None:
    slow = Ahead("slow", "review", order=(NOW + 9000, 0, NOW))
    line = line_of(strict("promised", NOW + 150), slow)
    weighed = weigh(line, candidate(NOW + 140, predecessors=["slow"]), NOW + 140)
    assert not weighed.holds
    assert not weigh(
        line_of(slow, stuck=frozenset({"held"})), candidate(NOW + 900, predecessors=["held"]), NOW
    ).holds


def test_nothing_is_offered_where_nothing_can_be_told() -> None:
    weighed = weigh(line_of(slots=0), candidate(NOW + 500), NOW + 500)
    assert (weighed.holds, weighed.finish, weighed.offer) == (False, None, None)


deadlines = st.lists(st.integers(50, 1500), max_size=12)


@given(asked=deadlines, slots=st.integers(1, 3))
def test_whatever_is_admitted_in_whatever_order_every_promise_is_still_predicted_to_hold(
    asked: list[int], slots: int
) -> None:
    admitted: list[Ahead] = []
    for number, seconds in enumerate(asked):
        deadline = NOW + seconds
        weighed = weigh(line_of(*admitted, slots=slots), candidate(deadline), deadline)
        if weighed.holds:
            admitted.append(strict(str(number), deadline))
        else:
            assert weighed.offer is not None
            assert weighed.offer > deadline
            assert weigh(line_of(*admitted, slots=slots), candidate(weighed.offer), weighed.offer).holds
        line = line_of(*admitted, slots=slots)
        finishes = line.forecast(line.ahead).finishes
        assert all(finishes[one.job_id] <= one.strict_deadline for one in admitted)


@given(promised=deadlines, hasty=st.integers(50, 1500), slots=st.integers(1, 3))
def test_a_best_effort_job_goes_behind_the_promises_it_would_break_and_no_further_than_it_must(
    promised: list[int], hasty: int, slots: int
) -> None:
    admitted: list[Ahead] = []
    for number, seconds in enumerate(promised):
        deadline = NOW + seconds
        if weigh(line_of(*admitted, slots=slots), candidate(deadline), deadline).holds:
            admitted.append(strict(str(number), deadline))
    line = line_of(*admitted, slots=slots)
    due = yielding(line, candidate(NOW + hasty))
    assert due >= NOW + hasty
    joined = line_of(*admitted, candidate(due), slots=slots)
    finishes = joined.forecast(joined.ahead).finishes
    assert all(finishes[one.job_id] <= one.strict_deadline for one in admitted)
    if not admitted:
        assert due == NOW + hasty
