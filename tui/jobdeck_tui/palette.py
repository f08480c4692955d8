"""The palette's providers: jobs by the beginning of their id, what can be done here, views, servers, looks.

Texts of jobs are only ever shown as ``Content``: what stands in them is never markup.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from jobdeck_tui.core.config import SavedView, server_words
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.styles.themes import NAMES
from jobdeck_tui.text.format import fit, plural, state_label

if TYPE_CHECKING:
    from jobdeck_tui.app import DeckApp
    from jobdeck_tui.client.models import Job

JOBS_MAX = 20
MOVES = (
    "move(",
    "page(",
    "roll(",
    "choose(",
    "screen.shift(",
    "top",
    "bottom",
    "home",
    "end",
    "leave",
    "command",
)
"""Keys that only make sense under the finger."""
Command = tuple[str, Callable[[], object]]


class DeckProvider(Provider):
    """Commands by their words; a subclass lists them."""

    @property
    def program(self) -> "DeckApp":
        """The running deck."""
        return cast("DeckApp", self.app)

    def commands(self) -> Iterable[Command]:
        """What is offered now."""
        return ()

    async def discover(self) -> Hits:
        """All of it, before anything is typed."""
        for words, run in self.commands():
            yield DiscoveryHit(Content(words), run, text=words)

    async def search(self, query: str) -> Hits:
        """What matches."""
        matcher = self.matcher(query)
        for words, run in self.commands():
            if (score := matcher.match(words)) > 0:
                yield Hit(score, Content(words), run, text=words)


class JobCommands(DeckProvider):
    """A job by the beginning of its id, or a part of it; nothing before something is typed."""

    async def search(self, query: str) -> Hits:
        """The first jobs that match, those that begin so before all others."""
        wanted = query.casefold().removeprefix("job ").strip()
        jobs = self.program.deck.jobs
        found = list(islice((job for job in jobs if job.job_id.casefold().startswith(wanted)), JOBS_MAX))
        if not found and len(wanted) > 2:
            found = list(islice((job for job in jobs if wanted in job.job_id.casefold()), JOBS_MAX))
        if self.program.deck.job_list.server_list is not None and len(found) < JOBS_MAX:
            here = {job.job_id for job in found}
            there = await self.program.link.pager.find(wanted, JOBS_MAX)
            found += [job for job in there if job.job_id not in here]
        for job in found:
            yield Hit(1.0, _job_line(job), partial(self.program.open_job, job.job_id), text=job.job_id)


def _job_line(job: "Job") -> Content:
    return Content(f"job {fit(job.job_id, 36)} {fit(state_label(job.state), 12)} {job.workflow}")


class DeckCommands(DeckProvider):
    """What the screen in view offers, saved views and servers, then looks, the bell, and diagnostics."""

    def commands(self) -> Iterator[Command]:
        """All of them."""
        yield from self._of_the_screen()
        program = self.program
        for view in program.deck.views.values():
            yield f"View {view.name}  {view.filter or 'all jobs'}", partial(self._show_view, view)
        for profile in program.profiles.values():
            here = "  (in use)" if profile.name == program.profile_name else ""
            words = f"Server {profile.name}  {server_words(profile)}{here}"
            yield words, partial(program.go_to_server, profile.name)
        for name in NAMES:
            here = "  (in use)" if name == program.theme else ""
            yield f"Theme {name}{here}", partial(program.choose_theme, name)
        yield f"Bell {'on' if program.deck.alerts.silent else 'off'}", self._toggle_bell
        yield "Copy diagnostics", self._copy_diagnostics

    def _of_the_screen(self) -> Iterator[Command]:
        """Each action once, with its key, as far as it would do something now."""
        screen = self.screen
        if not isinstance(screen, DeckScreen):
            return
        seen: set[str] = set()
        for node, binding, enabled, _ in screen.active_bindings.values():
            action = binding.action
            if not enabled or not binding.description or action in seen or action.startswith(MOVES):
                continue
            seen.add(action)
            if not screen.hides(binding):
                key = self.program.get_key_display(binding)
                yield f"{binding.description}  ({key})", partial(self.program.run_action, action, node)

    def _show_view(self, view: SavedView) -> None:
        self.program.deck.job_list.show_view(view)
        self.program.show_jobs()

    def _toggle_bell(self) -> None:
        alerts = self.program.deck.alerts
        alerts.silent = not alerts.silent
        self.program.tell("The bell is off; alerts are shown." if alerts.silent else "The bell is on.")

    def _copy_diagnostics(self) -> None:
        self.program.copy_words("\n".join(diagnostics(self.program)), "diagnostics")


def diagnostics(program: "DeckApp") -> list[str]:
    """What is worth knowing where something is wrong with the deck itself; no job's text, no credential."""
    import platform
    from importlib.metadata import version  # a tenth of a second that the first frame need not pay

    deck, size = program.deck, program.size
    truth = deck.truth()
    scheduler = deck.overview.scheduler.state if deck.overview is not None else "not known"
    known = f"{plural(len(deck.jobs), 'job')}, {plural(deck.feed.seen, 'event')}"
    return [
        f"jobdeck {version('jobdeck')}, textual {version('textual')}, Python {platform.python_version()}",
        f"{platform.system()} {platform.release()}, terminal {size.width}x{size.height}",
        f"theme {program.theme}, colours {'off (NO_COLOR)' if program.no_color else 'on'}",
        f"connection {truth.text}, scheduler {scheduler}",
        f"{known}, {deck.unreadable + deck.feed.unreadable} unreadable",
        f"screen {program.current_mode}, {'read-only' if deck.read_only else 'read and write'}",
        f"log {program.log_path or 'none'}",
    ]
