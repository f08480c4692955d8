"""A job's files: one shown as text, one saved where the deck was started."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from textual.dom import DOMNode

from jobdeck_tui.client.artifacts import Artifact
from jobdeck_tui.link.wire import Wire

Say = Callable[[str, bool], None]
"""Takes one sentence, and whether it tells of a success."""


class ArtifactReader:
    """Reads and saves files' bytes."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def read(self, node: DOMNode, job_id: str, one: Artifact, take: Callable[[str], None], say: Say) -> None:
        """Gives the beginning of a file's text to ``take``, or says why there is none."""
        self._wire.start(node, partial(self._read, job_id, one, take, say), "artifact", exclusive=True)

    async def _read(self, job_id: str, one: Artifact, take: Callable[[str], None], say: Say) -> None:
        await self._wire.ready.wait()
        from jobdeck_tui.client.artifacts import read_text
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        try:
            take(await read_text(self._wire.api, job_id, one))
        except ClientError as error:
            say(error.message, False)
        self._wire.deck.fresh = True

    def save(self, job_id: str, one: Artifact, directory: Path, say: Say) -> None:
        """Saves a file whatever screen is shown meanwhile, and says where."""
        self._wire.start(self._wire.program, partial(self._save, job_id, one, directory, say), "save")

    async def _save(self, job_id: str, one: Artifact, directory: Path, say: Say) -> None:
        await self._wire.ready.wait()
        from jobdeck_tui.client.artifacts import save
        from jobdeck_tui.client.errors import ClientError
        from jobdeck_tui.text.sanitise import one_line

        if self._wire.api is None:
            return
        try:
            path = await save(self._wire.api, job_id, one, directory)
        except ClientError as error:
            say(error.message, False)
        else:
            say(f"Saved {one_line(str(path))}, for your eyes only.", True)
        self._wire.deck.fresh = True
