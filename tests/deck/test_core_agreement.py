"""Where Dask and the records disagree it is said, in words, and only when it lasts."""

from jobdeck_tui.client.models import Disagreement
from jobdeck_tui.core.agreement import Agreement

from .rows import NOW, overview, picture


def watch(pairs):
    """Feed one pair of pictures every half second; give what is said at the end."""
    agreement = Agreement()
    now = NOW
    for number, (dask, records) in enumerate(pairs):
        now = NOW + number * 0.5
        agreement.observe(dask(now), records, now)
    return [difference.text for difference in agreement.differences(now)]


def dask(**given):
    return lambda now: picture(read_at=now, **given)


def test_agreeing_pictures_say_nothing():
    assert watch([(dask(processing=2, queued=3), overview(delivered=3, running=2))] * 10) == []


def test_a_task_that_dask_lost_is_said_after_two_seconds_not_before():
    lost = (dask(processing=2, queued=2), overview(delivered=3, running=2))
    assert watch([lost] * 4) == []
    assert watch([lost] * 6) == ["Dask does not know 1 job that the records say it holds."]


def test_a_task_that_nobody_admitted_is_said():
    foreign = (dask(processing=2, queued=5), overview(delivered=3, running=2))
    assert watch([foreign] * 6) == ["Dask holds 2 tasks that the records do not know."]


def test_a_thread_that_outlives_its_cancelled_job_is_no_unknown_task_but_said_for_what_it_is():
    deaf = (dask(processing=2), overview(running=1, slots_taken=2))
    assert watch([deaf] * 4) == []
    assert watch([deaf] * 6) == [
        "1 slot is still taken: the thread of a cancelled or expired job has not ended."
    ]
    worse = (dask(processing=4), overview(running=1, slots_taken=4))
    assert watch([deaf, *[worse] * 6]) == [
        "1 slot is still taken: the thread of a cancelled or expired job has not ended."
    ]
    assert watch([worse] * 6) == [
        "3 slots are still taken: the threads of cancelled or expired jobs have not ended."
    ]
    assert watch([deaf] * 6 + [(dask(processing=1), overview(running=1))]) == []


def test_a_difference_that_comes_and_goes_is_never_said():
    ahead = (dask(processing=2), overview(running=1))
    behind = (dask(processing=1), overview(running=2))
    same = (dask(processing=2), overview(running=2))
    assert watch([ahead, behind] * 6) == []
    assert watch([ahead, same] * 6) == []


def test_jobs_on_their_way_between_the_books_at_high_rates_are_let_pass():
    busy = [(dask(processing=5), overview(running=2, finished=75 * number)) for number in range(10)]
    assert watch(busy) == []
    slow = [(dask(processing=5), overview(running=2, finished=number)) for number in range(10)]
    assert watch(slow) == ["Dask holds 3 tasks that the records do not know."]


def test_another_scheduler_behind_the_dashboard_is_said():
    other = (dask(scheduler_id="Scheduler-old"), overview(scheduler_id="Scheduler-new"))
    assert watch([other] * 6) == ["Dask answers as scheduler old, the records use new."]


def test_missing_workers_are_said():
    assert watch([(dask(workers=1), overview(workers=3))] * 6) == [
        "Dask has 2 workers fewer than the records."
    ]


def test_a_lost_scheduler_or_a_stale_picture_is_no_disagreement():
    lost = (dask(processing=0), overview(delivered=3, running=2, state="lost"))
    assert watch([lost] * 8) == []
    assert watch([(lambda _now: picture(read_at=NOW), overview(running=2))] * 20) == []


def test_a_dask_too_busy_to_describe_itself_does_not_disagree():
    busy = (dask(processing=2, workers=0, scheduler_id=""), overview(running=2))
    assert watch([busy] * 8) == []


def test_what_the_backend_found_by_job_is_said_with_it():
    agreement = Agreement()
    agreement.observe(picture(), overview(), NOW)
    listed = (
        Disagreement("running_unknown_to_dask", "64e50cad-1", "running by the records, unknown to Dask", 3.0),
        Disagreement("running_unknown_to_dask", "77777777-1", "only just", 0.5),
    )
    found = agreement.differences(NOW, listed)
    assert [difference.text for difference in found] == [
        "64e50cad-1: running by the records, unknown to Dask"
    ]
