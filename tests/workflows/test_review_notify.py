"""The review's optional last stage: a webhook is told once (R25)."""

import json
from typing import Any

import licence_texts as texts
import pytest
from jobdeck_backend.errors import AddressRefused
from jobdeck_backend.jobs.records import EffectState, Policy
from jobdeck_backend.workflows.registry import find
from jobdeck_backend.workflows.webhook import NotAnswered, NotDelivered
from webhook_listener import listening
from workflow_execution import Execution

KEY = "job-1/notify/5/webhook/0"


def review(directory, url: str | None, **settings: Any) -> Execution:
    request = json.dumps({"title": "a title", "text": texts.MIT, "notify_url": url})
    return Execution("contract_review", request, directory, **{"allow_private_addresses": True, **settings})


def test_whoever_asked_is_told_what_was_found_under_the_effects_key(tmp_path):
    with listening(200) as listener:
        execution = review(tmp_path, listener.url)
        result = execution.run()
    (told,) = listener.received
    assert told["path"] == "/hooks/review?from=jobdeck"
    assert told["key"] == KEY
    assert told["host"] == listener.url.split("/")[2]
    assert told["body"] == {
        "job_id": "job-1",
        "title": "a title",
        "licence": "MIT",
        "obligations": len(result.data["obligations"]),
    }
    known = execution.ledger.effects[KEY]
    assert (known.state, known.policy) == (EffectState.CONFIRMED, Policy.IDEMPOTENT)
    assert json.loads(known.outcome) == {"status": 200}
    assert execution.recorder.completed[-1] == "notify"
    todos = execution.recorder.artifacts("todo")
    done = [sum(item["status"] == "completed" for item in todo["content"]) for todo in todos]
    assert done == [0, 1, 2, 3, 4, 5]
    assert execution.workflow.stages_total(execution.request) == 5


def test_without_an_address_there_is_no_such_stage(tmp_path):
    execution = review(tmp_path, None)
    execution.run()
    assert "notify" not in execution.recorder.completed
    assert execution.ledger.effects == {}
    assert execution.workflow.stages_total(execution.request) == 4


@pytest.mark.parametrize("status", [302, 404, 429])
def test_a_refusal_is_on_record_as_not_happened_and_fails_the_job(tmp_path, status):
    with listening(status) as listener:
        execution = review(tmp_path, listener.url)
        with pytest.raises(NotDelivered, match=f"refused it with {status}"):
            execution.run()
    assert len(listener.received) == 1, "redirects are not followed"
    assert execution.ledger.effects[KEY].state is EffectState.FAILED


def test_an_answer_that_tells_nothing_leaves_the_effect_open(tmp_path):
    with listening(503) as listener:
        execution = review(tmp_path, listener.url)
        with pytest.raises(NotAnswered, match="answered 503"):
            execution.run()
    assert execution.ledger.effects[KEY].state is EffectState.INTENT


@pytest.mark.parametrize("url", ["http://localhost:9/", "http://no-such-host.invalid/"])
def test_what_cannot_be_reached_certainly_did_not_happen(tmp_path, url):
    execution = review(tmp_path, url)
    with pytest.raises(NotDelivered):
        execution.run()
    assert execution.ledger.effects[KEY].state is EffectState.FAILED


def test_a_private_address_is_not_called_unless_allowed(tmp_path):
    with listening(200) as listener:
        execution = review(tmp_path, listener.url, allow_private_addresses=False)
        with pytest.raises(AddressRefused, match="JOBDECK_ALLOW_PRIVATE_ADDRESSES"):
            execution.run()
    assert listener.received == []
    assert execution.ledger.effects[KEY].state is EffectState.FAILED


@pytest.mark.parametrize("url", ["ftp://example.org", "", 3, "http://a:b@example.org"])
def test_an_address_that_is_none_is_refused_at_the_door(url):
    with pytest.raises(ValueError, match="notify_url"):
        find("contract_review").check_input(json.dumps({"text": texts.MIT, "notify_url": url}))
