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
