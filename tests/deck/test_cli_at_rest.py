"""What ``fsck`` and ``backup`` do on a state directory that no backend serves."""

from pathlib import Path

import pytest
from command_line import ran


@pytest.mark.parametrize("arguments", [("fsck",), ("backup", "copy.db")], ids=lambda words: words[0])
def test_settings_that_cannot_be_are_one_sentence_that_repeats_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, said, why = ran(*arguments, "--state-dir", str(tmp_path), JOBDECK_HEARTBEAT_S="s3cret")
    assert (code, said) == (2, "")
    assert why.startswith("jobdeck: JOBDECK_HEARTBEAT_S: ")
    assert len(why.splitlines()) == 1
    assert "s3cret" not in why


@pytest.mark.parametrize("arguments", [("fsck",), ("backup", "copy.db")], ids=lambda words: words[0])
def test_a_directory_without_a_database_is_said_to_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, said, why = ran(*arguments, "--state-dir", str(tmp_path))
    assert (code, said) == (13, "")
    assert "there is no database in " in why
    assert list(tmp_path.iterdir()) == []
