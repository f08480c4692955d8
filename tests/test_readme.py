"""What the README states and the program can be asked."""

import re
from pathlib import Path

import pytest
from jobdeck_backend.settings import Settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_configuration_table_is_the_settings_with_their_defaults(monkeypatch, tmp_path):
    for name in Settings.model_fields:
        monkeypatch.delenv(f"JOBDECK_{name.upper()}", raising=False)
    settings = Settings().model_dump(exclude={"state_dir"})
    rows = re.findall(r"^\| `JOBDECK_(\w+)` \| `([^`]+)` \|", README, re.MULTILINE)
    assert {name.lower(): default for name, default in rows} == {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in settings.items()
    }


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make (\w+)`", README))))
def test_each_make_target_named_exists(target):
    assert re.search(rf"^{target}:.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_each_fault_of_the_contracts_peers_names_tests_that_exist():
    table = (ROOT / "tests/conformance/README.md").read_text()
    written = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in re.findall(r"`(test_\w{20,})`", table) if f"def {name}(" not in written] == []
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ") and "---" not in line]
    numbers = [row[0].removeprefix("| ") for row in rows if row[0][2:].isdigit()]
    assert numbers == [str(number) for number in range(1, 23)]
    assert [row for row in rows if row[-1] != "found by |" and "`test_" not in row[-1]] == []
