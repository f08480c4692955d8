"""A job's incident bundle, saved where the deck was started."""

from functools import partial
from pathlib import Path

from jobdeck_tui.link.wire import Wire


class BundleSaver:
    """Saves bundles, whatever screen is shown meanwhile."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def save(self, job_id: str) -> None:
        """Saves a job's bundle over nothing that is there, and says where."""
        self._wire.start(self._wire.program, partial(self._save, job_id), "bundle")

    async def _save(self, job_id: str) -> None:
        from jobdeck_tui.client.errors import ClientError
        from jobdeck_tui.client.saving import Saving, bundle_name, free_name

        deck = self._wire.deck
        if self._wire.api is None:
            return
        try:
            with Saving(free_name(Path.cwd() / bundle_name(job_id))) as saving:
                await self._wire.api.save_bundle(job_id, saving)
        except OSError as error:
            deck.say(f"No bundle was saved in {Path.cwd()}: {error.strerror}.", "bad")
        except ClientError as error:
            deck.say(f"No bundle was saved: {error.message}", "bad")
        else:
            deck.say(f"Saved {saving.path} ({saving.bytes} bytes, without content).", "notice")
        deck.fresh = True
