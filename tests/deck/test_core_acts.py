"""One-key acts: never sent while the grace runs, never on another row, every result told."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobdeck_tui.core.acts import Acts, Phase
from jobdeck_tui.core.eligibility import Act, consequence, needs_grant, objection, survey

from .rows import NOW, job

KEYS = {"undo": "u", "act.cancel": "c"}


def test_nothing_is_sent_while_the_grace_runs_and_undo_takes_it_back():
    acts = Acts()
    asked = acts.request(Act.CANCEL, job(), NOW)
    assert asked.line(NOW, KEYS.__getitem__) == "cancel 64e50cad in 3 s · u undo · c now"
    assert acts.due(NOW + 2.9, live=True) == []
    undone = acts.undo()
    assert undone.phase is Phase.UNDONE
    assert acts.due(NOW + 60, live=True) == []
    assert acts.undo() is None


def test_the_same_key_again_sends_at_once_and_only_once():
    acts = Acts()
    acts.request(Act.CANCEL, job(), NOW)
    acts.request(Act.CANCEL, job(), NOW + 1)
    (sent,) = acts.due(NOW + 1, live=True)
    assert (sent.phase, sent.version) == (Phase.SENT, 3)
    assert acts.due(NOW + 9, live=True) == []


def test_r37_the_version_is_the_one_seen_at_the_key_press():
    acts = Acts()
    acts.request(Act.EXPIRE, job(version=3), NOW)
    acts.observe([job(version=4, state="running")], NOW + 1)
    (sent,) = acts.due(NOW + 3, live=True)
    assert sent.version == 3


def test_r37_a_job_that_only_started_since_the_key_press_is_asked_for_again():
    seen = job(version=3, deadline=NOW + 60, state="queued")
    went_on = replace(seen, version=4, state="running")
    for act, current, again in (
        (Act.CANCEL, went_on, 4),
        (Act.EXPIRE, went_on, 4),
        (Act.GRANT, went_on, None),
        (Act.CANCEL, replace(went_on, deadline=NOW + 90), None),
        (Act.CANCEL, replace(went_on, state="held"), None),
        (Act.CANCEL, replace(went_on, state="succeeded"), None),
        (Act.CANCEL, seen, None),
    ):
        acts = Acts()
        acts.request(act, seen, NOW)
        (sent,) = acts.due(NOW + 3, live=True)
        once_more = acts.once_more(sent.number, current)
        assert (once_more and once_more.version) == again
        assert acts.is_open(sent.number)


def test_another_act_on_the_same_job_replaces_the_one_in_its_grace():
    acts = Acts()
    acts.request(Act.CANCEL, job(), NOW)
    acts.request(Act.EXPIRE, job(), NOW + 1)
    (sent,) = acts.due(NOW + 4, live=True)
    assert sent.act is Act.EXPIRE
    assert acts.history()[-1].phase is Phase.UNDONE


def test_an_act_due_without_a_live_connection_is_refused_not_kept_for_later():
    acts = Acts()
    acts.request(Act.CANCEL, job(), NOW)
    assert acts.due(NOW + 3, live=False) == []
    assert acts.due(NOW + 9, live=True) == []
    assert acts.history()[0].text == "not sent: the connection was lost"


def test_r16_a_cancel_is_seen_only_when_the_worker_acknowledged():
    acts = Acts(grace_seconds=0)
    asked = acts.request(Act.CANCEL, job(state="running"), NOW)
    acts.due(NOW, live=True)
    cancelling = job(state="cancelled", version=4, cancel_requested_at=NOW, slot_taken=True)
    assert acts.accepted(asked.number, cancelling, NOW + 0.1).phase is Phase.ACCEPTED
    assert acts.observe([cancelling], NOW + 0.5) == []
    (seen,) = acts.observe([replace(cancelling, cancel_acknowledged_at=NOW + 1)], NOW + 1)
    assert seen.text == "seen: CANCELLED after 1.0 s"
    assert acts.unfinished() == []


def test_an_act_without_an_answer_is_unknown_until_the_rows_tell():
    acts = Acts(grace_seconds=0)
    asked = acts.request(Act.EXPIRE, job(), NOW)
    acts.due(NOW, live=True)
    assert acts.unknown(asked.number).line(NOW, str) == "expire 64e50cad: outcome unknown, checking"
    assert acts.observe([job(version=4, state="running")], NOW + 1) == []
    (seen,) = acts.observe([job(state="expired", version=5)], NOW + 2)
    assert seen.phase is Phase.SEEN


def test_a_refused_act_says_what_the_job_is_now():
    acts = Acts(grace_seconds=0)
    asked = acts.request(Act.CANCEL, job(), NOW)
    acts.due(NOW, live=True)
    refused = acts.refused(asked.number, "the row changed.", job(state="succeeded"))
    assert refused.text == "refused, it is DONE now: the row changed."
    assert acts.unfinished() == []


def test_leaving_takes_back_what_was_not_sent():
    acts = Acts()
    acts.request(Act.CANCEL, job(), NOW)
    assert [dropped.phase for dropped in acts.drop_pending("the deck was closed")] == [Phase.UNDONE]


@given(st.lists(st.sampled_from(["c", "e", "u", "tick", "lost"]), max_size=40))
def test_whatever_is_pressed_an_act_is_sent_at_most_once_and_not_after_its_undo(keys):
    acts = Acts()
    now = NOW
    sent: list[int] = []
    for key in keys:
        if key in "ce":
            acts.request(Act.CANCEL if key == "c" else Act.EXPIRE, job(), now)
        elif key == "u":
            acts.undo()
        else:
            now += 1.0
            sent += [act.number for act in acts.due(now, live=key == "tick")]
        assert len(acts.graces()) <= 1
    assert len(sent) == len(set(sent))
    undone = {act.number for act in acts.history() if act.phase is Phase.UNDONE}
    assert undone.isdisjoint(sent)


@pytest.mark.parametrize(
    ("act", "changes", "why"),
    [
        (Act.CANCEL, {}, None),
        (Act.CANCEL, {"state": "running"}, None),
        (Act.CANCEL, {"state": "held"}, None),
        (Act.CANCEL, {"state": "succeeded"}, "already DONE"),
        (
            Act.CANCEL,
            {"state": "cancelled", "cancel_requested_at": NOW, "slot_taken": True},
            "already CANCELLING",
        ),
        (Act.EXPIRE, {"state": "expired"}, "already EXPIRED"),
        (Act.RESUME, {"state": "failed"}, None),
        (Act.RESUME, {"state": "held"}, None),
        (Act.RESUME, {"state": "running"}, "RUNNING, not stopped"),
        (Act.RESUME, {"state": "succeeded"}, "DONE, a success is never reopened"),
        (
            Act.RESUME,
            {"state": "expired", "deadline": NOW - 1},
            "past its deadline, grant a later window first",
        ),
        (Act.GRANT, {"state": "expired", "deadline": NOW - 1}, None),
        (Act.GRANT, {"deadline": None}, "has no deadline to extend"),
    ],
)
def test_eligibility_is_said_in_words(act, changes, why):
    assert objection(act, job(**changes), NOW) == why


def test_a_resume_that_only_lacks_time_can_be_offered_a_grant():
    assert needs_grant(job(state="expired", deadline=NOW - 1), NOW)
    assert not needs_grant(job(state="failed"), NOW)
    assert not needs_grant(job(state="running", deadline=NOW - 1), NOW)


def test_many_targets_are_counted_by_what_can_be_done_to_them():
    rows = [job(job_id=str(n)) for n in range(5)] + [job(job_id=f"d{n}", state="succeeded") for n in range(2)]
    found = survey(Act.CANCEL, rows, NOW)
    assert found.sentence == "7 marked: 5 can be cancelled, 2 are skipped (already DONE)."
    assert survey(Act.CANCEL, rows[-1:], NOW).sentence == "d1 cannot be cancelled: already DONE."
    assert consequence(Act.CANCEL, [job(state="running", stages_done=2)]).startswith(
        "It is running now; 2 completed"
    )


def test_only_what_runs_can_leave_an_effect_uncertain_and_the_question_says_so():
    assert "effect" in consequence(Act.EXPIRE, [job(state="running"), job(job_id="b", state="queued")])
    assert "effect" not in consequence(Act.CANCEL, [job(state="queued")])
    assert "effect" not in consequence(Act.RESUME, [job(state="failed")])
