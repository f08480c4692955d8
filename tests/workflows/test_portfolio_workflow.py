import json

import licence_texts as texts
import make_wording
import pytest
from jobdeck_backend.workflows.registry import PORTFOLIO_STAGES
from workflow_execution import Execution

SOURCES = make_wording.sources()
needs_long_texts = pytest.mark.skipif("GPL-2.0" not in SOURCES, reason="Debian's licence texts are not here")


def outputs(directory, documents):
    made = {}
    for title, text in documents.items():
        result = Execution("contract_review", json.dumps({"title": title, "text": text}), directory).run()
        made[f"job-{title}"] = {"report": result.report, "data": result.data}
    return made


def portfolio(directory, predecessors):
    execution = Execution("portfolio", "What we ship", directory, predecessors=predecessors)
    return execution, execution.run()


@needs_long_texts
def test_a_portfolio_joins_the_reviews_in_one_report(tmp_path):
    documents = {
        "one": texts.MIT,
        "two": texts.MIT,
        "gnu": SOURCES["GPL-2.0"][0],
        "apache": SOURCES["Apache-2.0"][0],
        "changed": texts.ISC.replace("appear in all copies", "need not appear"),
        "odd": "You may not do anything. See the GNU General Public License.",
    }
    execution, result = portfolio(tmp_path, outputs(tmp_path, documents))
    assert execution.recorder.completed == list(PORTFOLIO_STAGES)
    assert result.report.startswith("# What we ship\n")
    for title in documents:
        assert f"| {title} |" in result.report
    assert result.data["documents"] == len(documents)
    assert result.data["licences"]["MIT"] == 2
    reasons = {item["title"]: item["reasons"] for item in result.data["attention"]}
    assert set(reasons) == {"gnu", "changed", "odd"}
    assert reasons["odd"] == ["unknown licence, refers to GPL"]
    assert [item["licences"] for item in result.data["conflicts"]] == [["GPL-2.0", "Apache-2.0"]]
    finals = [output["output_category"] for output in execution.recorder.artifacts("output")]
    assert finals == ["final_report"]


@needs_long_texts
def test_conflicts_follow_what_the_clauses_say(tmp_path):
    gnu_2, gnu_3 = SOURCES["GPL-2.0"][0], SOURCES["GPL-3.0"][0]
    apache, mozilla = SOURCES["Apache-2.0"][0], SOURCES["MPL-2.0"][0]

    def conflicts(*documents):
        made = outputs(tmp_path, {str(number): text for number, text in enumerate(documents)})
        return [item["licences"] for item in portfolio(tmp_path, made)[1].data["conflicts"]]

    assert conflicts(gnu_3, apache, mozilla, texts.MIT) == []
    assert conflicts(gnu_2, mozilla) == []
    assert conflicts(gnu_2, gnu_3) == [["GPL-2.0", "GPL-3.0"]]
    assert conflicts(gnu_2.replace("You may not impose any further", "You may impose further"), apache) == []


def test_a_predecessor_that_is_no_review_is_listed_as_such(tmp_path):
    predecessors = {
        "probe-1": {"report": None, "data": {"completed": []}},
        "probe-2": {"report": "text", "data": None},
    }
    _, result = portfolio(tmp_path, predecessors)
    assert "| probe-1 | no review |" in result.report
    assert [item["reasons"] for item in result.data["attention"]] == [["the job gave no review"]] * 2


def test_a_portfolio_of_nothing_says_so(tmp_path):
    _, result = portfolio(tmp_path, {})
    assert "**Documents:** 0" in result.report
    assert "Nothing to compare." in result.report
