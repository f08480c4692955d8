"""``jobdeck demo``: a backend of its own in a directory of its own, the workload, and the deck or the story."""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from jobdeck_tui.client.embedded import EmbeddedBackend
from jobdeck_tui.client.errors import StartFailed
from jobdeck_tui.client.instance import default_state_dir
from jobdeck_tui.demo import witness
from jobdeck_tui.demo.narrator import Narrator
from jobdeck_tui.demo.story import tell
from jobdeck_tui.demo.workload import BACKEND_OPTIONS

FAILED = 1
PARTING = """\
The demo's backend, scheduler and workers were ended and its jobs removed, with {}.
'jobdeck demo' begins anew; 'jobdeck' opens a deck that keeps its jobs, in {}.
"""
# Slow enough to watch; with a person at the keys, long enough to look around and to inject a fault by hand.
TOKENS_PER_SECOND, TOKENS_PER_SECOND_BY_HAND = "25", "8"


def main(*, headless: bool, as_json: bool) -> int:
    """Run the demo; answers the exit code: 0 only if every check held."""
    pace = TOKENS_PER_SECOND if headless else TOKENS_PER_SECOND_BY_HAND
    os.environ.setdefault("JOBDECK_OFFLINE_TOKENS_PER_SECOND", pace)
    # Its backend is on this machine and ends with it: nobody need be asked who they are.
    os.environ["JOBDECK_AUTH"] = "false"
    state_dir = Path(tempfile.mkdtemp(prefix="jobdeck-demo-"))
    backend = EmbeddedBackend(state_dir, BACKEND_OPTIONS)
    try:
        if headless:
            return _tell_story(backend, Narrator(as_json))
        from jobdeck_tui.demo.deck import show

        code = show(backend)
    finally:
        backend.stop()
        shutil.rmtree(state_dir, ignore_errors=True)
    if code == 0:
        sys.stderr.write(PARTING.format(state_dir, default_state_dir()))
    return code


def _tell_story(backend: EmbeddedBackend, narrator: Narrator) -> int:
    began = time.monotonic()
    try:
        instance = backend.start()
    except StartFailed as failure:
        sys.stderr.write(failure.message + "\n")
        return failure.exit_code
    narrator.say("backend", f"backend pid {instance.pid} answers at {instance.url}", pid=instance.pid)
    asyncio.run(tell(instance.url, backend.state_dir, narrator))
    pids = witness.descendants(instance.pid)
    backend.stop()
    left = [pid for pid in (instance.pid, *pids) if witness.process_exists(pid)]
    narrator.check(
        "nothing left behind",
        f"{len(pids) + 1} processes were the backend's, {len(left)} are left",
        held=not left,
    )
    took = time.monotonic() - began
    verdict = "every check held" if not narrator.failed else f"failed: {', '.join(narrator.failed)}"
    narrator.say("end", f"{verdict}, in {took:.0f} s", held=not narrator.failed, seconds=round(took, 1))
    return FAILED if narrator.failed else 0
