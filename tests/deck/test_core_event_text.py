"""Events as lines, tokens as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobdeck_tui.client.models import Event
from jobdeck_tui.core.event_text import BODY_CHARACTERS, ChunkFolder, body, chunk_of, head, line, stage_of
from jobdeck_tui.text.sanitise import is_safe

from .rows import NOW


def event(kind, name=None, **payload):
    return Event("job-1", 1, kind, NOW, name, payload)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (
            event("tool.start", "web_search", data={"input": {"query": "tide"}}),
            'web_search  {"query": "tide"}',
        ),
        (event("tool.end", "web_search", data={"output": "12\n  hits"}), "web_search  12 hits"),
        (event("tool.end", "web_search", metadata={"error": "no route"}), "web_search  failed: no route"),
        (event("llm.start", "Model", metadata={"message_count": 3}), "Model  3 messages"),
        (event("llm.end", "Model", metadata={"usage": {"output_tokens": 64}}), "Model  64 tokens"),
        (event("llm.chunk", data={"chunk": "Tidal "}), "Tidal "),
        (event("workflow.start", "w", metadata={"stage": {"node": "read", "step": 1}}), "read (step 1)"),
        (event("workflow.end", "w", data={"output": "done"}), "w  done"),
        (
            event("job.update", "recovered", data={"output": "scheduler lost"}),
            "recovered  scheduler lost",
        ),
        (event("job.update", "log", data={"output": "hello"}), "log  hello"),
        (event("job.cancelled", data={"reason": "cancelled by user"}), "cancelled by user"),
        (event("job.error", data={"error": "boom", "error_type": "ValueError"}), "boom"),
        (
            event("artifact.update", data={"type": "citation_use", "url": "http://e"}),
            "citation_use  http://e",
        ),
        (
            event(
                "artifact.update",
                data={"type": "todo", "content": [{"content": "x", "status": "in_progress"}]},
            ),
            "todo 0 of 1 done  x",
        ),
        (event("something.new", "n", data={"a": 1}), 'n  {"a": 1}'),
        (event("something.bare"), ""),
    ],
)
def test_an_event_says_what_it_is_about(seen, said):
    assert body(seen) == said


def test_a_stage_is_told_from_the_whole_job():
    stage = event("workflow.start", "w", metadata={"stage": {"node": "read", "step": 1}})
    assert (head(stage), stage_of(stage)) == ("stage.start", ("read", 1))
    whole = event("workflow.start", "w")
    assert (head(whole), stage_of(whole)) == ("workflow.start", None)
    assert line(stage) == "08:00:00 stage.start     read (step 1)"


json_values = st.recursive(
    st.none() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "metadata", "stage", "usage"]), inner)
    ),
    max_leaves=8,
)
kinds = st.sampled_from(
    ["tool.end", "llm.start", "llm.end", "llm.chunk", "workflow.end", "job.update", "artifact.update", "x"]
)


@given(kinds, st.dictionaries(st.sampled_from(["data", "metadata", "name"]), json_values))
def test_a_payload_of_any_shape_makes_a_bounded_line(kind, payload):
    seen = Event("job-1", 1, kind, None, None, payload)
    assert len(body(seen)) <= BODY_CHARACTERS
    assert is_safe(line(seen))
    chunk_of(seen)


def test_tokens_become_whole_lines_of_text():
    folder = ChunkFolder(width=20)
    lines = [
        said
        for token in ("Tidal ", "power\nis ", "cheap", "er than wave power.")
        for said in folder.add(token)
    ]
    assert lines == ["Tidal power", "is cheaper than"]
    assert folder.flush() == ["wave power."]
    assert folder.flush() == []


@given(st.lists(st.text(alphabet="ab \n", max_size=12), max_size=20))
def test_folding_loses_no_word(tokens):
    folder = ChunkFolder(width=8)
    lines = [said for token in tokens for said in folder.add(token)] + folder.flush()
    assert "".join("".join(lines).split()) == "".join("".join(tokens).split())
    assert all("\n" not in said for said in lines)
