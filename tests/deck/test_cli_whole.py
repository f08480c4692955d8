"""The command line's twins of the deck's screens, and what it says of a server that talks nonsense."""

import asyncio
import json
import subprocess
import threading

import pytest
from command_line import PROGRAM, jobdeck
from jobdeck_tui.cli import run
from running_backend import wait_until

from .wayward import answer, wayward

SHORT = json.dumps({"stages": [{"name": "read", "seconds": 0.1}, {"name": "write", "seconds": 0.1}]})


def call(url, *arguments):
    """Run a command against this server."""
    return jobdeck(*arguments, "--server", url)


def test_the_whole_is_told_in_lines_and_as_json(backend):
    told, _ = call(backend.url, "overview", "--plain")
    for word in ("jobs", "RUNNING 0", "scheduler", "slots", "recovery", "streams"):
        assert word in told
    assert json.loads(call(backend.url, "overview", "--json")[0])["slots"]["total"] >= 1
    told, _ = call(backend.url, "cluster")
    assert "WORKER" in told
    assert "Dask and the records say the same" in told
    assert json.loads(call(backend.url, "cluster", "--json")[0])["workers"]
    assert call(backend.url, "drills")[0] == "No drill has run.\n"
    assert json.loads(call(backend.url, "drills", "--json")[0])["drills"] == []


def test_why_is_told_in_words(backend):
    call(backend.url, "submit", "probe", SHORT, "--job-id", "told-why", "--follow")
    assert call(backend.url, "why", "told-why")[0].strip()
    assert json.loads(call(backend.url, "why", "told-why", "--json")[0])["code"]


def test_a_report_is_printed_and_a_job_without_one_is_exit_code_1(backend):
    made = json.dumps({"stages": [], "output": "# All is well"})
    call(backend.url, "submit", "probe", made, "--job-id", "told-report", "--follow")
    assert call(backend.url, "report", "told-rep")[0] == "# All is well\n"
    assert json.loads(call(backend.url, "report", "told-report", "--json")[0])["report"] == "# All is well"
    call(backend.url, "submit", "probe", "{}", "--job-id", "reportless", "--follow")
    told, complained = jobdeck("report", "reportless", "--server", backend.url, code=1)
    assert (told, "reportless has no report" in complained) == ("", True)


def test_too_short_a_beginning_of_an_id_is_told_how_long_it_must_be(backend):
    call(backend.url, "submit", "probe", "{}", "--job-id", "shortened")
    _, complained = jobdeck("show", "short", "--server", backend.url, code=4)
    assert "give 6 characters or more" in complained
    assert call(backend.url, "show", "shorte")[0].startswith("job       shortened ")


def test_a_forecast_is_told_and_its_exit_code_says_whether_a_deadline_can_be_promised(backend):
    told, _ = call(backend.url, "forecast")
    assert " unfinished on 2 slots" in told
    assert any(line.startswith("probe ") for line in told.splitlines())
    told, _ = call(backend.url, "forecast", "probe", "--deadline-seconds", "3600")
    assert told.splitlines()[-1] == "It can be promised."
    url = ("--server", backend.url)
    told, _ = jobdeck("forecast", "probe", "--deadline-seconds", "0.001", *url, code=1)
    assert "\nIt cannot be promised: its predicted completion is " in told
    assert "\nThe earliest that would hold: " in told
    told, _ = jobdeck("forecast", "probe", "--deadline-seconds", "0.001", "--json", *url, code=1)
    assert json.loads(told)["asked"]["offer"]["deadline"]
    assert "name one" in jobdeck("forecast", "--priority", "1", *url, code=2)[1]
    assert "known" in jobdeck("forecast", "nope", *url, code=4)[1]


def test_a_forecast_does_not_count_on_a_paused_queue(backend):
    call(backend.url, "pause", "contract_review")
    try:
        call(backend.url, "submit", "contract_review", "MIT License", "--job-id", "stuck-here")
        told, _ = call(backend.url, "forecast")
        assert "1 held or in a paused queue" in told.splitlines()[0]
        assert "all done" not in told
        row = next(line for line in told.splitlines() if line.startswith("contract_review"))
        assert row.split()[1] == "—"
        told, _ = jobdeck("forecast", "contract_review", "--server", backend.url, code=1)
        said = "It cannot be promised: none can be now, as its queue contract_review is paused."
        assert told.splitlines()[-1] == said
    finally:
        call(backend.url, "cancel", "stuck-here")
        call(backend.url, "unpause", "contract_review")


def test_events_are_followed_a_line_each_with_who_acted(backend):
    following = subprocess.Popen(
        [*PROGRAM, "events", "--follow", "--server", backend.url],
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = []
    reading = threading.Thread(target=lambda: lines.extend(following.stdout), daemon=True)
    reading.start()
    try:
        feeds = lambda: json.loads(call(backend.url, "overview", "--json")[0])["streams"]["subscribers"]  # noqa: E731
        wait_until(feeds)
        call(backend.url, "submit", "probe", SHORT, "--job-id", "told-live", "--follow")
        call(backend.url, "clone", "told-live", "--job-id", "told-again")
        wait_until(lambda: any("told-live" in line and "stage.end" in line for line in lines))
        wait_until(lambda: any("cloned" in line for line in lines))
    finally:
        following.kill()
        following.wait()


def test_events_without_follow_end_by_themselves(backend):
    call(backend.url, "events", "--seconds", "0.2", "--filter", "type:job.error")


@pytest.mark.parametrize("body", [{}, [], {"jobs": "none"}, b"<html>hello</html>"], ids=repr)
@pytest.mark.parametrize(
    "arguments",
    [("list",), ("overview",), ("cluster",), ("queues",), ("drills",), ("forecast",), ("watch", "some-job")],
)
def test_a_server_that_answers_nonsense_is_said_to_and_is_exit_3(capsys, body, arguments):
    async def ask():
        async with wayward([answer(200, body)]) as server, asyncio.timeout(20):
            return await asyncio.to_thread(run, [*arguments, "--server", server.url])

    assert asyncio.run(ask()) == 3
    out, told = capsys.readouterr()
    assert out == ""
    assert "jobdeck server" in told or "event stream" in told, told
