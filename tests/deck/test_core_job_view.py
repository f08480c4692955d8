"""What a job's screen says of its record, its stages and of telling its caller."""

from jobdeck_tui.client.models import JobDetail, Notification
from jobdeck_tui.core.job_view import JobView, record_rows, stage_rows
from jobdeck_tui.text.format import clock

from .rows import NOW, job


def detail(notification: Notification | None) -> JobDetail:
    return JobDetail(job(state="expired"), {}, (), (), (), (), notification, "finished", "It expired.")


def told(**changes) -> Notification:
    values = {
        "id": "1",
        "event": "expired",
        "target": "https://hooks.example.org",
        "state": "pending",
        "attempts": 2,
        "next_at": NOW + 10,
        "last_error": "the receiver answered 500",
        "delivered_at": None,
    }
    return Notification(**{**values, **changes})


def line(notification: Notification | None) -> str:
    rows = ["".join(text for text, _look in row) for row in record_rows(detail(notification))]
    (found,) = [row for row in rows if row.startswith(" callback")]
    return found.removeprefix(" callback").strip()


def test_the_record_says_whom_it_told_and_what_came_of_it():
    assert line(None) == "—"
    assert line(told()) == (
        "expired to https://hooks.example.org: pending, 2 attempts; the receiver answered 500; "
        f"again by {clock(NOW + 10)}"
    )
    delivered = told(state="delivered", attempts=3, next_at=None, last_error=None, delivered_at=NOW)
    assert line(delivered) == f"expired to https://hooks.example.org: delivered {clock(NOW)}, 3 attempts"


def test_a_record_whose_caller_is_yet_to_be_told_is_read_again():
    view = JobView("a")
    assert not view.callback_pending
    view.take_detail(detail(told()))
    assert view.callback_pending
    view.take_detail(detail(told(state="delivered")))
    assert not view.callback_pending


def test_each_name_of_the_record_is_told_from_its_value_and_nothing_is_written_as_python_has_it():
    request = {"expiry_seconds": 86_400, "callback": None, "data_sources": ["a", True], "input": "text"}
    shown = record_rows(detail(None)._replace(request=request))
    rows = ["".join(text for text, _look in row) for row in shown]
    assert [row.split() for row in rows[-4:]] == [
        ["expiry_seconds", "86400"],
        ["callback", "—"],
        ["data_sources", '["a",', "true]"],
        ["input", "text"],
    ]


def test_a_job_without_a_completed_stage_is_not_said_to_have_run_none_twice():
    rows = ["".join(text for text, _look in row) for row in stage_rows(detail(None), NOW)]
    assert [row for row in rows if row] == [" No stage has completed yet."]
