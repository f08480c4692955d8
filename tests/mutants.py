"""Proof that the tests bite: faults put in on purpose, each of which a test must find.

``make mutants``: the tree is copied, one line of it is made wrong, and the smallest test that must fail is run.
Exits 0 only when every mutant was killed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BACKEND = Path("backend/jobdeck_backend")
TESTS_FAILED = 1
"""pytest's exit code; others mean that the test could not be run."""

MODEL = "tests/model/test_command_machine.py::test_the_commands_do_what_the_model_says"
ALONE = (
    "tests/flows/test_execution_alone.py"
    "::test_r20_once_a_checkpoint_exists_the_original_input_is_never_passed_again"
)
FOREIGN = (
    "tests/contract/test_operations_cluster.py"
    "::test_a_key_cancelled_by_a_foreign_client_is_told_and_its_job_given_again"
)

BRANCHES = "tests/flows/test_saving.py::test_r20_no_branch_of_many_is_on_record_before_its_output_is"


@dataclass(frozen=True)
class Mutant:
    """``right`` stands once in ``file`` and is replaced by ``wrong``; ``killer`` is the test that must fail."""

    name: str
    file: str
    right: str
    wrong: str
    killer: str = MODEL


MUTANTS = (
    Mutant(
        "no fence check when events are written",
        "store/events.py",
        'jobs.c.fence == bindparam("owner_fence")',
        'jobs.c.fence >= bindparam("owner_fence")',
    ),
    Mutant(
        "no fence check when the outcome is written",
        "commands/execution.py",
        "owned = job.status is Status.RUNNING and job.fence == claim.fence",
        "owned = job.status is Status.RUNNING",
    ),
    Mutant(
        "no fence check at the claim",
        "commands/execution.py",
        "job.status is not Status.SUBMITTED or job.fence != fence or",
        "job.status is not Status.SUBMITTED or",
    ),
    Mutant(
        "a job's reader skips an event",
        "store/events.py",
        'events.c.seq > bindparam("after", type_=BigInteger)',
        'events.c.seq > bindparam("after", type_=BigInteger) + 1',
    ),
    Mutant(
        "a job's reader hears an event twice",
        "store/events.py",
        'events.c.seq > bindparam("after", type_=BigInteger)',
        'events.c.seq >= bindparam("after", type_=BigInteger)',
    ),
    Mutant(
        "the feed's reader skips an event",
        "store/events.py",
        '_FEED = (\n    select(*_EVENT)\n    .where(events.c.position > bindparam("after"))',
        '_FEED = (\n    select(*_EVENT)\n    .where(events.c.position > bindparam("after") + 1)',
    ),
    Mutant(
        "the original input is passed on resume",
        "scheduling/worker.py",
        "first = None if begun else module.initial_state(admission.input)",
        "first = module.initial_state(admission.input)",
        ALONE,
    ),
    Mutant(
        "a stage is on record before its output is saved",
        "scheduling/recorder.py",
        " if not one.tasks.isdisjoint(task_ids)]",
        "]",
        BRANCHES,
    ),
    Mutant(
        "a recovered or resumed job is given a fresh deadline",
        "commands/transition.py",
        "    if one.verb in OUTCOMES:\n",
        "    if one.verb in (Verb.RECOVER, Verb.RESUME):\n"
        "        jobs.update_admission(tx, one.after.job_id, deadline=one.at + 600)\n"
        "    if one.verb in OUTCOMES:\n",
    ),
    Mutant(
        "an attempt is given a fresh budget",
        "commands/execution.py",
        "return Claim(admission, started.attempt",
        "from dataclasses import replace\n"
        "    fresh = None if admission.deadline is None else now + admission.deadline - admission.accepted_at\n"
        "    return Claim(replace(admission, deadline=fresh), started.attempt",
    ),
    Mutant(
        "a future reported cancelled is taken for a user's cancel",
        "scheduling/dispatcher.py",
        "        if unstarted:\n",
        "        from jobdeck_backend.commands import operators\n"
        "        for job_id, handed in done.items():\n"
        "            if handed.future.cancelled():\n"
        '                by = operators.By("dask", now())\n'
        '                self._writer.submit(operators.act, "cancel", job_id, operators.cancel, by)\n'
        "        if unstarted:\n",
        FOREIGN,
    ),
)


def run_test(tree: Path, *tests: str) -> int:
    """Run tests against the tree alone; answers pytest's exit code."""
    python_path = os.pathsep.join(str(tree / part) for part in ("backend", "tui"))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", *tests],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": python_path, "JOBDECK_MODEL_UNSHRUNK": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode


def is_killed(tree: Path, mutant: Mutant) -> bool:
    """Whether its test fails. Raises ``LookupError`` when the code it changes is not there any more."""
    path = tree / BACKEND / mutant.file
    source = path.read_text()
    if source.count(mutant.right) != 1:
        raise LookupError(f"mutant {mutant.name!r}: {mutant.file} does not hold this once: {mutant.right}")
    path.write_text(source.replace(mutant.right, mutant.wrong))
    try:
        return run_test(tree, mutant.killer) == TESTS_FAILED
    finally:
        path.write_text(source)


def main() -> int:
    """Kill them one by one, those whose names hold the words given or all."""
    chosen = [one for one in MUTANTS if all(word in one.name for word in sys.argv[1:])]
    with tempfile.TemporaryDirectory(prefix="jobdeck-mutants-") as directory:
        tree = Path(directory) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "__pycache__", "screenshots"))
        if run_test(tree, *{one.killer for one in chosen}) != 0:
            print("the tests fail as it is: nothing can be told of mutants")
            return 1
        survivors = 0
        for mutant in chosen:
            began = time.monotonic()
            killed = is_killed(tree, mutant)
            survivors += not killed
            took_s = time.monotonic() - began
            by = mutant.killer.partition("::")[2]
            print(
                f"{'killed' if killed else 'SURVIVED':9}{took_s:6.1f} s  {mutant.name}, by {by}", flush=True
            )
    return survivors


if __name__ == "__main__":
    sys.exit(main())
