"""A job's files: one shown as text, one saved where the deck was started."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from textual.dom import DOMNode

from jobdeck_tui.client.artifacts import Artifact
from jobdeck_tui.link.wire import Wire

Say = Callable[[str], None]


class ArtifactReader:
    """Reads and saves files' bytes."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def read(
        self, node: DOMNode, job_id: str, one: Artifact, *, taken: Callable[[str, int], None], failed: Say
    ) -> None:
        """Gives the beginning of a file's text to ``taken``, and how many bytes that is at most."""
        self._wire.start(node, partial(self._read, job_id, one, taken, failed), "artifact", exclusive=True)

    async def _read(self, job_id: str, one: Artifact, taken: Callable[[str, int], None], failed: Say) -> None:
        await self._wire.ready.wait()
        from jobdeck_tui.client.artifact_bytes import VIEW_BYTES, read_text
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        try:
            taken(await read_text(self._wire.api, job_id, one), VIEW_BYTES)
        except ClientError as error:
            failed(error.message)

    def save(self, job_id: str, one: Artifact, directory: Path, *, saved: Say, failed: Say) -> None:
        """Saves a file, whatever screen is shown meanwhile, and gives its path to ``saved``."""
        self._wire.start(
            self._wire.program, partial(self._save, job_id, one, directory, saved, failed), "save"
        )

    async def _save(self, job_id: str, one: Artifact, directory: Path, saved: Say, failed: Say) -> None:
        await self._wire.ready.wait()
        from jobdeck_tui.client.artifact_bytes import save
        from jobdeck_tui.client.errors import ClientError
        from jobdeck_tui.text.sanitise import one_line

        if self._wire.api is None:
            return
        try:
            saved(one_line(str(await save(self._wire.api, job_id, one, directory))))
        except ClientError as error:
            failed(error.message)
