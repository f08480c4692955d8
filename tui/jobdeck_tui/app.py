"""The deck as a program: its screens, its one timer, its manners in a terminal."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import Screen

from jobdeck_tui.comfort import COMFORT_BINDINGS, Comfort
from jobdeck_tui.core.acts import Phase
from jobdeck_tui.core.config import Profile, server_words
from jobdeck_tui.core.dask_words import WITHOUT_BACKEND
from jobdeck_tui.deck import NOTICE_SECONDS, Awaited, Deck
from jobdeck_tui.deck_log import log
from jobdeck_tui.link.link import Link, Reach
from jobdeck_tui.opening import view_of
from jobdeck_tui.palette import DeckCommands, DeckProvider, JobCommands
from jobdeck_tui.safety import (
    ControlFilter,
    crash_report,
    end_on_signals,
    end_without_terminal,
)
from jobdeck_tui.screens.acting import ActingScreen
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.screens.dialogs import Question
from jobdeck_tui.screens.jobs import JobsScreen
from jobdeck_tui.screens.main_screens import MAIN_SCREENS, import_others, opened
from jobdeck_tui.styles import SHEETS, VARIABLES
from jobdeck_tui.styles.parsed_once import DeckStylesheet
from jobdeck_tui.text.format import id_words, plural
from jobdeck_tui.view_file import ViewFile

if TYPE_CHECKING:
    from jobdeck_tui.screens.choice import Option

FLUSH_SECONDS = 0.1
LOOKS_A_DRAW = 3
"""What streams in is drawn at every third look, the first of it after a rest at the next one: more than three
draws a second of what never rests show nothing more to eyes, and cost the most of all that is done then."""
TICK_SECONDS = 1.0
ANNOUNCED_SECONDS = 60.0
LEFT_AS = {Phase.GRACE: "not sent yet", Phase.SENT: "sent, not answered yet"}
Severity = Literal["information", "warning", "error"]
NOTICE_LOOKS: dict[Severity, str] = {"information": "notice", "warning": "warn", "error": "bad"}


class DeckApp(Comfort, inherit_bindings=False):
    """The deck. All it knows is in ``deck``; all it sends and reads goes through ``link``."""

    CSS_PATH = SHEETS  # type: ignore[assignment] # a list of paths is what Textual takes
    COMMANDS: ClassVar[set[type[DeckProvider]]] = {JobCommands, DeckCommands}  # type: ignore[assignment]
    TITLE = "jobdeck"
    VERTICAL_BREAKPOINTS = [(0, "-cramped"), (20, "-spacious")]  # noqa: RUF012 (Textual's own); of dialogs
    MODES: ClassVar[dict[str, Callable[[], Screen[None]]]] = {  # type: ignore[assignment]
        mode: partial(opened, mode) for mode in MAIN_SCREENS
    }
    DEFAULT_MODE = "jobs"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "mode('jobs')", "Jobs"),
        Binding("2", "mode('cluster')", "Cluster"),
        Binding("3", "mode('recovery')", "Recovery"),
        Binding("4", "mode('drills')", "Drills"),
        Binding("5", "mode('events')", "Events"),
        Binding("6", "mode('queues')", "Queues"),
        Binding("7", "mode('failures')", "Failures"),
        Binding("8", "mode('audit')", "Audit"),
        Binding("q", "leave_program", "Quit"),
        Binding("ctrl+c,ctrl+q", "leave_program", "Quit, from a dialog too", show=False, priority=True),
        Binding("x", "switch_server", "Another server", show=False),
        Binding("L", "my_acts", "My acts and their results", show=False),
        *COMFORT_BINDINGS,
        Binding("question_mark,f1", "help", "Help", key_display="?"),
    ]

    def __init__(self, reach: Reach, deck: Deck | None = None) -> None:
        # Without this Textual turns colours to greys under NO_COLOR, and still sends them.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self.deck = deck or Deck()
        self.log_path: Path | None = None
        self.set_keymap({})
        self.use_themes()
        self.stylesheet = DeckStylesheet(variables=self.get_css_variables())
        self.link = Link(self, self.deck, reach, self.give_up)
        self.farewell = ""
        self.profiles: Mapping[str, Profile] = {}
        self.profile_name = ""
        self.switch_to: Profile | None = None
        self.view_file: ViewFile | None = None
        self._flushed_at = float("-inf")
        self._looks = 0
        self._ticks = 0
        self._asked_when_seen: object = None

    # Life

    def on_mount(self) -> None:
        """Starts the timers, and the link once the first frame is out."""
        if not self.is_headless:
            end_on_signals(self.end)
            end_without_terminal(self.end)
        self.set_interval(FLUSH_SECONDS, self._draw)
        self.set_interval(TICK_SECONDS, self._tick)
        self.call_after_refresh(self.link.open)
        self.call_after_refresh(self.run_worker, self._import_screens, group="screens")
        if self.deck.without_backend:
            self.switch_mode("cluster")

    async def _import_screens(self) -> None:
        """One at a time, with all that waits in between: a key that opens one finds it here."""
        for load in (*MAIN_SCREENS.values(), import_others):
            load()
            await asyncio.sleep(0)

    async def on_unmount(self) -> None:
        """Nothing is left open."""
        self.keep_view()
        await self.link.close()

    def end(self, code: int) -> None:
        """Ends the program; acts still in their grace are not sent."""
        self.deck.acts.drop_pending("not sent: the deck was closed")
        self.exit(code, return_code=code)

    def give_up(self, words: str, code: int) -> None:
        """Ends the program because there is no server to show; ``words`` stay on the terminal."""
        self.farewell = words
        self.end(code)

    # Drawing

    def front(self) -> DeckScreen | None:
        """The deck screen in view, under any dialog."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, DeckScreen):
                return screen
        return None

    def _draw(self) -> None:
        """Draws what is new, within three looks; at rest once a second, for ages and countdowns."""
        if not self.is_running:
            return  # the screens are taken down one after another
        if self.deck.graces():
            self.send_due_acts()
        self.ring()
        now = self.deck.monotonic()
        self._looks += 1
        due = self.deck.fresh and self._looks >= LOOKS_A_DRAW
        if not due and now - self._flushed_at < TICK_SECONDS - FLUSH_SECONDS / 2 and not self.deck.graces():
            return
        self._looks = 0
        self.deck.fresh = False
        self._flushed_at = now
        if (awaited := self.deck.drain_awaited()) is not None:
            self._announce(awaited)
        screen = self.front()
        if self.deck.choices and isinstance(self.screen, ActingScreen):
            self.screen.offer_choice(*self.deck.choices.pop())
        if screen is not None and screen.stands and self.size.height:
            screen.flush()

    def _announce(self, awaited: Awaited) -> None:
        """Says that an awaited job has succeeded, with the cursor on it if the operator rests."""
        jobs = self._jobs_screen
        offered = jobs is not None and jobs.offer(awaited.job_id)
        listed = f"Enter in the list ({self.deck.key('mode.jobs')}) opens it"
        keys = "Enter opens it" if self.screen is jobs else listed
        words = f"{awaited.gives} is ready: {keys if offered else f'job {awaited.job_id}'}."
        self.tell(words, seconds=ANNOUNCED_SECONDS)

    def _tick(self) -> None:
        """Asks Dask itself, only while somebody looks at its answer; beside the list less often, unless in doubt,
        and least where nothing moves."""
        self._ticks += 1
        self.keep_view()
        if self.current_mode == "events":
            return
        listed, seen = self.current_mode == "jobs", (self.deck.jobs.revision, self.deck.overview)
        every = 8 if seen == self._asked_when_seen else 2
        if listed and not self.deck.agreement.in_doubt and self._ticks % every != 1:
            return
        self._asked_when_seen = seen
        self.link.dask.poll(with_cluster=not listed or self._ticks % 4 == 1)

    def send_due_acts(self) -> None:
        """Sends the acts whose grace is over."""
        self.link.acts.send_due()

    # Going about

    @property
    def cursor_job_id(self) -> str | None:
        """The job under the list's cursor."""
        return self._jobs_screen.table.cursor_id if self._jobs_screen is not None else None

    @property
    def _jobs_screen(self) -> JobsScreen | None:
        for screen in self._screen_stacks.get("jobs", ()):
            if isinstance(screen, JobsScreen) and screen.stands:
                return screen
        return None

    def open_job(self, job_id: str, tab: str = "events", *, to_judge: bool = False) -> None:
        """Opens one job, ``to_judge`` with the question what became of its effect; what was said has been read."""
        from jobdeck_tui.screens.job import JobScreen

        self.deck.hush()
        self.push_screen(JobScreen(job_id, tab, to_judge=to_judge))

    def show_jobs(self) -> None:
        """Goes to the list itself, from wherever."""
        if self.current_mode != "jobs":
            self.show_mode("jobs")
        self.show_mode("jobs")

    def show_mode(self, mode: str) -> None:
        """Goes to a main screen as it was left, once more to its first; without a backend there is but one."""
        if self.deck.without_backend and mode != "cluster":
            self.tell(WITHOUT_BACKEND)
        elif mode != self.current_mode:
            self.switch_mode(mode)
        else:
            while isinstance(self.screen, DeckScreen) and self.screen is not self.screen_stack[0]:
                self.pop_screen()
            if isinstance(self.screen, DeckScreen):
                self.screen.flush(everything=True)

    def action_mode(self, mode: str) -> None:
        """Goes to one of the main screens."""
        if isinstance(self.screen, DeckScreen):
            self.show_mode(mode)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Not offered: the screen one is on."""
        here = parameters == (self.current_mode,) and self.front() is self.screen_stack[0]
        return not (action == "mode" and here)

    def action_help(self) -> None:
        """Shows the keys of the screen in view."""
        from jobdeck_tui.screens.help import HelpScreen

        screen = self.screen
        if isinstance(screen, DeckScreen):
            bindings = [binding for _, binding, _, _ in screen.active_bindings.values()]
            self.push_screen(HelpScreen(screen.TITLE_WORDS, bindings))

    def action_my_acts(self) -> None:
        """Lists the acts of this session."""
        from jobdeck_tui.screens.my_acts import MyActsScreen

        if isinstance(self.screen, DeckScreen):
            self.push_screen(MyActsScreen(self.deck))

    def keep_view(self) -> None:
        """Keeps the view for the next session, where one is kept."""
        if self.view_file is not None:
            self.view_file.keep(view_of(self))

    def action_switch_server(self) -> None:
        """Goes to another server: the deck begins anew there, and nothing of this one comes along."""
        if not isinstance(self.screen, DeckScreen):
            return
        options = [(one.name, server_words(one)) for one in self.profiles.values()]
        self.choose("server", options, self.go_to_server, self.profile_name)

    def choose(
        self,
        what: str,
        options: Sequence["Option"],
        then: Callable[[str | None], None],
        chosen: str = "",
    ) -> None:
        """Asks which one of what the config file names; says so where it names none."""
        from jobdeck_tui.screens.choice import Choice

        if options:
            self.push_screen(Choice(f"Which {what}?", options, chosen), then)
        else:
            self.tell(f"No {what} is in the config file: 'jobdeck config' says where it is.")

    def go_to_server(self, name: str | None) -> None:
        """Goes to the server of a profile; to the one that is shown already, or to none, is no step."""
        if name is not None and name != self.profile_name:
            self.switch_to = self.profiles[name]
            self.action_leave_program()

    def action_leave_program(self) -> None:
        """Quits; asks first when an act has not been sent or answered yet."""
        pending = self.deck.acts.unanswered()
        if not pending or isinstance(self.screen, Question):
            self.end(0)
            return
        lines = [f"{act.act.value} {id_words(act.job_id)}: {LEFT_AS[act.phase]}" for act in pending]

        def answered(yes: bool | None) -> None:  # noqa: FBT001 (Textual's callback)
            if yes:
                self.end(0)
            else:
                self.switch_to = None

        notes = ["What is not sent when you leave never will be."]
        self.push_screen(Question("leave and drop", lines, notes, what="act"), answered)

    # Manners

    def tell(
        self, words: str, *, severity: Severity = "information", seconds: float = NOTICE_SECONDS
    ) -> None:
        """Says something for a few seconds: above the keys, over a dialog as a toast. Never read as markup."""
        self.deck.say(words, NOTICE_LOOKS[severity], seconds)
        if isinstance(self.screen, DeckScreen):
            self.screen.flush_acts()
        else:
            self.notify(words, severity=severity, markup=False)

    def keys_missed(self, count: int) -> None:
        """Says that keys typed ahead did nothing."""
        self.tell(f"{plural(count, 'key')} typed before this screen was drawn: not taken.")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The deck's own colours, in every theme."""
        return VARIABLES

    def get_line_filters(self) -> list[LineFilter]:
        """The last net below the sanitised client: no control character leaves this program."""
        return [*super().get_line_filters(), self._control_filter]

    _control_filter = ControlFilter()

    def _fatal_error(self) -> None:
        """A crash shows lines of code and no variable's value (Textual's own shows all locals)."""
        self.bell()
        log.exception("the deck crashed")
        self._exit_renderables.append(crash_report(self.console))
        self._close_messages_no_wait()
