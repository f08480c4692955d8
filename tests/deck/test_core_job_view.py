"""What a job's screen says of telling its caller."""

from jobdeck_tui.client.models import JobDetail, Notification
from jobdeck_tui.core.job_view import JobView, record_rows
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
