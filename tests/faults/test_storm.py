"""A short storm of faults on every run of the tests; ``make faults SEED=n`` makes long ones."""

from pathlib import Path

from tests.storm.run import run


def test_i1_to_i12_i18_whatever_strikes_every_job_ends_and_the_records_stay_whole(tmp_path: Path) -> None:
    account = run(seed=7, directory=tmp_path, length_s=12)
    assert account.broken == [], account.as_json()
    assert account.figures["jobs"] > 0
