"""Alerts, trends, the acts of others and exported files, as pure facts."""

import csv
import io
import json
from dataclasses import replace

import pytest
from jobdeck_tui.client.models import AuditRow
from jobdeck_tui.core.alerts import BELL_SECONDS, Alerts
from jobdeck_tui.core.company import OWN_SECONDS, SHOWN_SECONDS, Company
from jobdeck_tui.core.records import FORMULA_STARTS, Records, as_text, job_record
from jobdeck_tui.core.trends import BUCKET_SECONDS, OF_CLUSTER, Trends, bars
from jobdeck_tui.text.format import cells

from .deck_driver import NOW, a_job, an_overview


def begun(*known):
    alerts = Alerts()
    alerts.take(known, NOW)
    alerts.begin()
    return alerts


def test_what_was_wrong_before_the_deck_opened_is_no_news():
    alerts = begun(a_job(1, "failed"), a_job(2, slack=-5.0))
    assert (alerts.words(), alerts.rings(NOW)) == ("", False)


def test_each_kind_is_counted_the_worst_first():
    alerts = begun()
    rows = [
        a_job(1, slack=-5.0),
        a_job(2, "failed"),
        a_job(3, "failed"),
        a_job(4, "held"),
        a_job(5, heartbeat_age=99.0),
        a_job(6, "expired"),
        a_job(7),
        a_job(8, "cancelled"),
    ]
    alerts.take(rows, NOW)
    assert alerts.words() == "6 new: 1 lost, 2 failed, 1 expired, 1 held, 1 at risk"
    assert len(alerts.job_ids) == 6


def test_a_thousand_failures_ring_once_in_a_few_seconds():
    alerts = begun()
    rings = 0
    for tenth in range(100):
        now = NOW + tenth / 10
        alerts.take((a_job(100 * tenth + number, "failed") for number in range(10)), now)
        rings += alerts.rings(now)
    assert rings == 10 / BELL_SECONDS
    assert alerts.words().startswith("1000 new")


def test_a_forecast_that_wavers_alerts_once_and_leaves_when_it_is_well():
    alerts = begun(job := a_job(1, slack=9.0))
    for turn in range(6):
        alerts.take([replace(job, slack=-1.0 if turn % 2 == 0 else 1.0)], NOW + turn)
    assert alerts.words() == ""
    assert alerts.rings(NOW + 9)
    assert not alerts.rings(NOW + 99)
    alerts.take([replace(job, slack=-1.0, attempt=2)], NOW + 100)
    assert alerts.words() == "1 new: 1 at risk"


def test_acknowledged_alerts_stay_quiet_and_the_next_one_is_counted_from_then():
    alerts = begun()
    alerts.take([a_job(1, "failed")], NOW)
    assert alerts.acknowledge() == 1
    alerts.take([a_job(1, "failed")], NOW + 1)
    assert (alerts.words(), alerts.rings(NOW + 1)) == ("", False)
    alerts.take([a_job(2, "held")], NOW + 20)
    assert (alerts.words(), alerts.since) == ("1 new: 1 held", NOW + 20)


def test_that_an_own_job_expired_is_no_alert_and_a_silent_bell_still_counts():
    alerts = begun()
    alerts.silent = True
    rows = [a_job(1, "expired"), a_job(2, "failed")]
    alerts.take(rows, NOW, own={job.job_id for job in rows})
    assert alerts.words() == "1 new: 1 failed"
    assert not alerts.rings(NOW)


def an_act(job_id="one", actor="ana", act="cancel", result="done"):
    return AuditRow(1, NOW, actor, act, job_id, 3, None, result)


def test_the_acts_of_others_are_told_for_a_while_and_own_ones_never():
    company = Company()
    company.sends(["mine"], NOW)
    company.take(an_act("mine"), NOW + 1)
    assert company.line(NOW + 1) == ""
    company.take(an_act("one"), NOW + 2)
    assert company.line(NOW + 4) == "ana cancelled one 2.0s ago"
    company.take(an_act("two", result="refused: it is done"), NOW + 5)
    assert company.line(NOW + 5) == "ana was refused cancel two 0.0s ago, and 1 other act"
    assert company.line(NOW + 5 + SHOWN_SECONDS) == ""
    company.take(an_act("mine"), NOW + OWN_SECONDS)
    assert "mine" in company.line(NOW + OWN_SECONDS)


def test_trends_keep_the_deepest_of_a_bucket_and_add_up_what_ended():
    trends, start = Trends(), NOW - NOW % BUCKET_SECONDS
    assert trends.lines(80) == []
    for second, (queued, done) in enumerate([(3, 0), (9, 1), (2, 3)]):
        rows = [a_job(n, "queued") for n in range(queued)] + [a_job(50 + n, "failed") for n in range(done)]
        trends.take(an_overview(rows), 10 * second, start + second)
    trends.take(an_overview([a_job(1, "queued"), a_job(2)]), 26, start + 2 * BUCKET_SECONDS)
    depth, ended = trends.lines(80)
    assert depth.split()[-2:] == ["1", "█▁▂"]
    assert ended.split()[-2:] == ["3", "█▁▁"]  # fewer ended jobs than before: they were pruned
    queued, processing, events = trends.lines(80, OF_CLUSTER)
    assert queued.split()[-2:] == ["1", "█▁▂"]
    assert processing.split() == ["processing", "1", "▁▁█"]
    assert events.split() == ["events/min", "26", "█▁▃"]


@pytest.mark.parametrize("width", [20, 80, 120, 200])
def test_trends_never_are_wider_than_the_screen(width):
    trends = Trends()
    for bucket in range(500):
        trends.take(an_overview([a_job(n, "queued") for n in range(bucket % 7)]), bucket, NOW + 5 * bucket)
    assert all(cells(line) <= width for line in (*trends.lines(width), *trends.lines(width, OF_CLUSTER)))
    assert bars([0, 1, 1000]) == "▁▂█"


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_no_exported_cell_is_a_formula_and_none_loses_its_text(start):
    hostile = f"{start}cmd|' /C calc'!A0\n,\""
    rows = list(csv.reader(io.StringIO(as_text(Records("jobs", [{hostile: hostile}]), "csv"), newline="")))
    assert rows == [["'" + hostile], ["'" + hostile]]


def test_the_three_kinds_hold_the_same_rows_with_times_in_utc():
    records = Records("jobs", [job_record(a_job(number, note="=1+1")) for number in range(3)])
    whole = json.loads(as_text(records, "json"))
    assert whole == [json.loads(line) for line in as_text(records, "ndjson").splitlines()]
    first, *_ = csv.DictReader(io.StringIO(as_text(records, "csv"), newline=""))
    assert first["note"] == "'=1+1"
    assert first["deadline"] == whole[0]["deadline"] == "2026-11-30T00:55:00.000+00:00"
    assert as_text(Records("jobs", []), "json") == "[]\n"
