import csv
import io
import json

import licence_texts as texts
import make_wording
import pytest
from jobdeck_backend.errors import JobStopped
from jobdeck_backend.workflows.licences import obligation_table
from jobdeck_backend.workflows.licences.clauses import clause_at, split_clauses
from jobdeck_backend.workflows.plain import plain
from jobdeck_backend.workflows.registry import find
from jobdeck_backend.workflows.review_input import REVIEW_STAGES
from workflow_execution import Execution, ListRecorder

LONG = make_wording.sources().get("GPL-3.0", make_wording.sources()["PSF-2.0"])[0]


def review(directory, text, title="a title", **more):
    return Execution("contract_review", json.dumps({"title": title, "text": text}), directory, **more)


def test_a_review_tells_its_work_as_it_goes_and_ends_with_one_final_report(tmp_path):
    execution = review(tmp_path, LONG)
    result = execution.run()
    recorder = execution.recorder
    assert recorder.completed == list(REVIEW_STAGES)
    tools = [event["name"] for event in recorder.of("tool.start")]
    assert tools[:4] == ["read_document", "split_clauses", "identify_licence", "find_obligations"]
    assert set(tools[4:]) == {"read_clause"}
    assert len(recorder.of("tool.end")) == len(tools)
    outputs = recorder.artifacts("output")
    assert [output["output_category"] for output in outputs] == ["intermediate", "final_report"]
    assert outputs[-1]["content"] == result.report
    todos = recorder.artifacts("todo")
    done = [sum(item["status"] == "completed" for item in todo["content"]) for todo in todos]
    assert done == [0, 1, 2, 3, 4]
    assert {len(todo["content"]) for todo in todos} == {4}
    assert all(event["metadata"] is None for event in recorder.of("artifact.update"))
    said = "".join(event["data"]["chunk"] for event in recorder.of("llm.chunk"))
    assert result.data["summary"] in said
    assert result.data["summary"] in result.report


def test_a_document_of_one_line_has_one_line(tmp_path):
    assert "2 words in 1 line, 0 clauses  \n" in review(tmp_path, "MIT License").run().report


def test_citations_lead_to_the_words_in_the_document(tmp_path):
    execution = review(tmp_path, LONG)
    data = execution.run().data
    found = {source["url"]: source for source in execution.recorder.artifacts("citation_source")}
    used = [use["url"] for use in execution.recorder.artifacts("citation_use")]
    assert used
    assert set(used) <= set(found)
    for url, source in found.items():
        start, end = map(int, url.split("#char=")[1].split(","))
        assert LONG.count("\n", 0, start) + 1 == source["line"]
        assert " ".join(LONG[start:end].split())[:60] in source["quote"]
    places = [int(url.split("#char=")[1].split(",")[0]) for url in used]
    cited = {clause_at(split_clauses(LONG), place).number for place in places}
    assert cited == {item["clause"] for item in data["obligations"]}


def test_the_result_is_plain_json_for_a_portfolio(tmp_path):
    data = review(tmp_path, texts.MIT).run().data
    assert plain(data) == data
    assert (data["title"], data["licence"], data["confidence"], data["clauses"]) == ("a title", "MIT", 1.0, 4)


def test_plain_text_is_reviewed_under_its_first_line(tmp_path):
    data = Execution("contract_review", texts.ISC, tmp_path).run().data
    assert (data["title"], data["licence"]) == ("ISC License", "ISC")


@pytest.mark.parametrize("number", [2, 3, 4])
def test_taking_a_clause_away_alters_the_report(tmp_path, number):
    clause = split_clauses(texts.MIT)[number - 1]
    whole = review(tmp_path, texts.MIT).run()
    cut = review(tmp_path, texts.MIT[: clause.start] + texts.MIT[clause.end :]).run()
    lost = {item["text"] for item in whole.data["obligations"]} - {
        item["text"] for item in cut.data["obligations"]
    }
    assert lost
    for text in lost:
        assert f"| {text} |" in whole.report
        assert f"| {text} |" not in cut.report


def test_the_summary_says_what_the_document_says_not_what_its_licence_usually_says(tmp_path):
    softened = texts.MIT.replace("shall be included in all", "may be left out of all")
    result = review(tmp_path, softened).run()
    assert result.data["modified"]
    assert "It asks nothing in return" in result.data["summary"]
    assert "**modified**" in result.report
    assert "may be left out of all" in result.report


def test_a_documents_markup_does_not_become_the_reports(tmp_path):
    evil = "# Ha\n\n`[click](http://evil.example)` <img src=x> | a | b |\n\n" + texts.MIT.replace(
        "Ada Example", "`x` | [y](http://evil.example) <script>"
    ).replace("merge,", "merge, `|` \x1b[2J \u202e <b>")
    report = review(tmp_path, evil, title="| `t` [l](http://evil.example) <i>\n# new").run().report
    assert "\x1b" not in report
    assert "\u202e" not in report
    tables = [line for line in report.splitlines() if line.startswith("| ")]
    assert all(line.count("|") == 4 for line in tables)
    assert "<script>" not in report
    assert "](http" not in report
    assert "\n# new" not in report
    assert all(line.count("`") % 2 == 0 for line in report.splitlines())


def test_a_stopped_review_resumes_without_repeating_a_finished_stage(tmp_path):
    execution = review(tmp_path, texts.BSD_3, recorder=ListRecorder(stop_at="identify_licence"))
    with pytest.raises(JobStopped):
        execution.run()
    execution.recorder.stop_at = None
    assert execution.run().data["licence"] == "BSD-3-Clause"
    assert execution.recorder.completed == list(REVIEW_STAGES)
    lines = map(json.loads, (tmp_path / "contract_review-journal.jsonl").read_text().splitlines())
    assert [line["stage"] for line in lines if line["event"] == "stage_completed"] == list(REVIEW_STAGES)


@pytest.mark.parametrize(
    ("request_text", "message"),
    [
        ('{"title": "t"}', 'needs the document in "text"'),
        ('{"text": "  "}', 'needs the document in "text"'),
        ('{"text": "words", "title": 3}', '"title" must be text'),
        ("--- ***", "no words"),
    ],
)
def test_an_input_without_a_document_is_refused_with_a_sentence(request_text, message):
    with pytest.raises(ValueError, match=message):
        find("contract_review").check_input(request_text)


@pytest.mark.parametrize("request_text", ["{ this is no JSON", "{" * 5_000 + "x", '["a list"]'])
def test_text_that_only_looks_like_json_is_a_document(request_text):
    find("contract_review").check_input(request_text)


def test_text_that_no_store_takes_is_reviewed_all_the_same(tmp_path):
    request = '{"title": "half \\ud800 and \\u0000", "text": ' + json.dumps(texts.MIT + "\x00") + "}"
    data = Execution("contract_review", request, tmp_path).run().data
    json.dumps(data, ensure_ascii=False).encode()
    assert (data["title"], data["licence"]) == ("half ? and \ufffd", "MIT")


@pytest.mark.parametrize("evil", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r\n=1", "＝1", " =1"])
def test_no_cell_of_the_obligations_table_is_a_formula(evil):
    columns = {**dict.fromkeys(obligation_table.COLUMNS, evil), "line": -3}
    header, row = csv.reader(io.StringIO(obligation_table.obligations_csv([columns])))
    cells = dict(zip(header, row, strict=True))
    assert cells.pop("line") == "-3", "a number of ours is one"
    assert {cell[0] for cell in cells.values()} == {"'"}
