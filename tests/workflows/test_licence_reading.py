import json
import time
from importlib.metadata import distributions
from pathlib import Path

import jobdeck_backend.workflows.licences.wording as wording
import licence_texts as texts
import make_wording
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobdeck_backend.workflows.licences.clauses import Lines, split_clauses
from jobdeck_backend.workflows.licences.families import FAMILIES
from jobdeck_backend.workflows.licences.review import joined, review_identity, review_obligations
from jobdeck_backend.workflows.licences.rules import RULES

GOLDEN = json.loads((Path(make_wording.__file__).parent / "obligations.json").read_text())
TEXTS = {id_: text for id_, (text, _) in make_wording.sources().items()}


needs_long_texts = pytest.mark.skipif("GPL-2.0" not in TEXTS, reason="Debian's licence texts are not here")


def review(text):
    return joined(review_identity(text), review_obligations(text))


def codes(findings):
    return {item["code"] for item in findings["obligations"]}


def without(text, clause):
    return text[: clause.start] + text[clause.end :]


@pytest.mark.parametrize("licence", TEXTS)
def test_the_obligations_of_common_licences_and_their_places_are_the_golden_ones(licence):
    findings = review(TEXTS[licence])
    assert findings["licence"] == licence
    assert findings["confidence"] == 1
    assert not findings["modified"]
    assert findings["deviations"] == []
    assert findings["category"] == GOLDEN[licence]["category"]
    stated = {item["code"]: item["clause_name"] for item in findings["obligations"]}
    assert stated == GOLDEN[licence]["obligations"]


@pytest.mark.parametrize("licence", TEXTS)
def test_each_obligation_falls_with_the_clause_that_states_it(licence):
    text = TEXTS[licence]
    clauses = split_clauses(text)
    before = review_obligations(text)["obligations"]
    for obligation in before:
        if obligation["places"] == 1:
            clause = clauses[obligation["clause"] - 1]
            assert obligation["code"] not in codes(review_obligations(without(text, clause)))


@pytest.mark.parametrize("licence", TEXTS)
def test_every_finding_stands_where_it_says(licence):
    text = TEXTS[licence]
    lines, flat = Lines(text), " ".join(text.split())
    for item in review_obligations(text)["obligations"]:
        words = text[item["offset"] : item["offset"] + item["length"]]
        assert lines.line(item["offset"]) == item["line"]
        assert text.split("\n")[item["line"] - 1].strip()
        assert item["quote"].rstrip("…") in flat
        assert " ".join(words.split())[:40] in item["quote"] or item["quote"] in " ".join(words.split())
    for found in review_identity(text)["licences"]:
        for evidence in found["evidence"]:
            assert " ".join(text[evidence["offset"] :].split()).startswith(evidence["words"])


@pytest.mark.parametrize(
    ("licence", "words", "instead", "code"),
    [
        ("MIT", "shall be included in", "may be left out of", "keep-notices"),
        ("BSD-3-Clause", "code must retain", "code need not retain", "keep-notices"),
        (
            "Apache-2.0",
            "You must cause any modified files",
            "You may cause any modified files",
            "state-changes",
        ),
        (
            "GPL-2.0",
            "You may not impose any further",
            "You may impose any further",
            "no-further-restrictions",
        ),
        ("Zlib", "must not be misrepresented; you", "may be misrepresented;", "no-misrepresentation"),
    ],
)
def test_a_softened_clause_is_no_longer_the_obligation_and_shows_as_modified(licence, words, instead, code):
    if licence not in TEXTS:
        pytest.skip("Debian's licence texts are not here")
    altered = TEXTS[licence].replace(words, instead)
    assert altered != TEXTS[licence]
    findings = review(altered)
    assert code not in codes(findings)
    assert findings["modified"]
    assert {"missing", "added"} <= {item["kind"] for item in findings["deviations"]}
    assert any(instead in item["text"] for item in findings["deviations"] if item["kind"] == "added")


def test_a_condition_put_into_a_licence_is_told_with_its_line():
    extra = "The Software shall be used for Good, not Evil."
    text = texts.MIT.replace('THE SOFTWARE IS PROVIDED "AS', f'{extra}\n\nTHE SOFTWARE IS PROVIDED "AS', 1)
    findings = review(text)
    (added,) = findings["deviations"]
    assert (added["kind"], added["text"], findings["modified"]) == ("added", extra, True)
    assert extra in text.splitlines()[added["line"] - 1]


def test_text_beside_a_licence_is_listed_but_changes_it_not():
    findings = review(
        "This program is called Difference and was written by nobody in particular.\n\n" + texts.ISC
    )
    assert findings["licence"] == "ISC"
    assert not findings["modified"]
    assert [item["kind"] for item in findings["deviations"]] == ["beside"]


def test_holders_years_layout_and_comment_signs_are_no_departure():
    text = texts.BSD_3.replace(
        "the copyright holder nor the names of its", "Ada Example Ltd nor the names of its"
    )
    text = text.replace("THE COPYRIGHT HOLDER OR", "ADA EXAMPLE LTD. OR").replace('"AS IS"', "``AS IS''")
    commented = "".join(f"# {line}\n" for line in text.splitlines())
    for variant in (text, commented, text.replace("\n\n", "\r\n\r\n").replace("  ", " ")):
        findings = review(variant)
        assert (findings["licence"], findings["modified"]) == ("BSD-3-Clause", False)
        assert codes(findings) == set(GOLDEN["BSD-3-Clause"]["obligations"])


def test_taking_the_third_clause_away_makes_it_the_two_clause_licence():
    third = next(clause for clause in split_clauses(texts.BSD_3) if clause.label == "3")
    assert review(without(texts.BSD_3, third))["licence"] == "BSD-2-Clause"


@needs_long_texts
def test_several_licences_in_one_file_are_all_found_and_need_not_be_modified():
    findings = review(f"{texts.MIT}\n\n{TEXTS['Apache-2.0']}\n\n{texts.ZLIB}")
    assert set(findings["licence"].split(" AND ")) == {"MIT", "Apache-2.0", "Zlib"}
    assert not findings["modified"]
    assert codes(findings) >= {"sublicense", "include-notice-file", "no-misrepresentation"}


def test_part_of_a_licence_that_asks_for_something_elsewhere_is_not_called_public_domain():
    findings = review(texts.MIT.partition("subject to the following conditions")[0])
    assert findings["licence"] == "MIT"
    assert not any(item["group"] == "condition" for item in findings["obligations"])
    assert findings["category"] == "permissive"


def test_a_document_that_only_speaks_of_licences_is_unknown_and_says_of_which():
    findings = review("This is made available under the terms of the Apache License or the MIT License.")
    assert findings["licence"] == findings["category"] == "unknown"
    assert findings["mentions"] == ["Apache-2.0", "MIT"]
    assert findings["obligations"] == []


def test_the_licence_files_of_installed_packages_are_recognised():
    declared = {"MIT": 0, "Apache-2.0": 0, "BSD-3-Clause": 0, "MPL-2.0": 0}
    for distribution in distributions():
        expression = distribution.metadata.get("License-Expression")
        for file in distribution.files or ():
            if expression in declared and file.name in {"LICENSE", "LICENSE.txt", "LICENSE.md"}:
                text = Path(str(file.locate())).read_text(errors="replace")
                licence = review_identity(text)["licence"]
                if licence != "unknown" and len(text) > 1_000:
                    assert expression in licence.split(" AND "), f"{distribution.name} is {licence}"
                    declared[expression] += 1
    assert declared["MIT"] >= 5
    assert declared["BSD-3-Clause"] >= 2


def test_the_record_of_wording_is_that_of_the_canonical_texts():
    recorded = json.loads((Path(wording.__file__).parent / "wording.json").read_text())
    made = json.loads(json.dumps(make_wording.build()))
    assert recorded.keys() == GOLDEN.keys()
    assert {id_: recorded[id_] for id_ in made} == made


def test_codes_and_identifiers_are_unique():
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert len({family.id for family in FAMILIES}) == len(FAMILIES)


PIECES = st.sampled_from(
    [
        *texts.MIT.split("\n\n"),
        *texts.ZLIB.split("\n\n"),
        "1. ",
        "(a) ",
        "\n",
        "\n\n",
        "----",
        "\x00",
        "\ud800",
        "İ",
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=40)), max_size=20).map("\n".join))
def test_any_text_can_be_read_and_its_clauses_are_in_order_and_apart(text):
    clauses = split_clauses(text)
    findings = review(text)
    json.dumps(findings)
    end = 0
    for number, clause in enumerate(clauses, start=1):
        assert clause.number == number
        assert end <= clause.start < clause.end <= len(text)
        assert text[clause.start : clause.end].strip() == text[clause.start : clause.end]
        assert clause.line == text.count("\n", 0, clause.start) + 1
        end = clause.end
    for item in findings["obligations"]:
        assert 0 <= item["offset"] < item["offset"] + item["length"] <= len(text)


@pytest.mark.parametrize(
    "piece",
    [
        "redistributions of source code must ",
        "in no event shall ",
        "you must retain ",
        "x",
        "1. \n",
        "neither the name of x nor the names of ",
        "provided by ",
        "a b c d e f. ",
    ],
)
def test_a_large_hostile_document_is_read_in_time_linear_in_its_size(piece):
    text = (piece * ((1 << 17) // len(piece) + 1))[: 1 << 17]
    began = time.process_time()
    review(text)
    assert time.process_time() - began < 5
