"""What every screen of the deck shares: the status bar above, the acts and keys below, and the flush."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual._styles_cache import StylesCache
from textual.actions import parse
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen

from jobdeck_tui.core.records import Records
from jobdeck_tui.keys import named
from jobdeck_tui.screens.dialogs import Question
from jobdeck_tui.widgets.acts_line import ActsLine
from jobdeck_tui.widgets.event_log import EventLog
from jobdeck_tui.widgets.key_line import KeyLine
from jobdeck_tui.widgets.news_line import NewsLine
from jobdeck_tui.widgets.status_bar import Banner, StatusBar
from jobdeck_tui.widgets.text_pane import TextPane

if TYPE_CHECKING:
    from jobdeck_tui.app import DeckApp
    from jobdeck_tui.deck import Deck


SENT = frozenset(
    {
        *("act", "grant", "again", "move_in_line", "verdict", "callback"),
        *("ask", "pause", "unpause", "apply", "arm", "inject"),
    }
)
"""What goes out to the server, by the names of actions. To take an act back, and to heal, is always let."""


class DeckScreen(Screen[None], inherit_bindings=False):
    """A screen whose body is drawn from the deck's state, a few times a second, only while it is shown."""

    TITLE_WORDS: ClassVar[str] = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-roomy")]  # noqa: RUF012 (Textual's own)
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init_subclass__(cls, **inherits: bool) -> None:
        cls.BINDINGS = named(cls.__dict__.get("BINDINGS", ()))
        super().__init_subclass__(**inherits)

    @property
    def program(self) -> "DeckApp":
        """The running program."""
        return cast("DeckApp", self.app)

    @property
    def deck(self) -> "Deck":
        """What the deck knows."""
        return self.program.deck

    def compose(self) -> ComposeResult:
        """The frame; the body is the screen's own."""
        self._warn_around()
        self._dim()
        self._fit_breakpoints()
        yield StatusBar(id="status")
        yield Banner(id="banner")
        yield NewsLine(id="news")
        with Vertical(id="body"):
            yield from self.compose_body()
        yield ActsLine(id="acts")
        yield KeyLine(id="keys")

    def compose_body(self) -> ComposeResult:
        """The screen's own widgets."""
        yield from ()

    def on_screen_suspend(self) -> None:
        """A dialog over it has keys of its own, and shows them."""
        if self.stands:
            self.query_one(KeyLine).refresh_keys()

    def on_screen_resume(self) -> None:
        """Shown again: everything may have changed meanwhile."""
        self.flush(everything=True)

    def on_unmount(self) -> None:
        """Closed. Textual's cache over all widgets would keep a thousand of them, with every line they drew."""
        StylesCache.get_inner_outer.cache_clear()

    def flush(self, *, everything: bool = False) -> None:
        """Draws what changed; called by the program's one timer."""
        if not {StatusBar, KeyLine} <= {type(child) for child in self.children}:
            return  # not composed yet, or being taken down
        now = self.deck.now()
        self.query_one(StatusBar).refresh_bar(self.deck, now, self.TITLE_WORDS)
        self.query_one(Banner).refresh_banner(self.deck)
        self.query_one(NewsLine).refresh_news(self.deck, now)
        self._dim()
        if self._warn_around():
            self.call_after_refresh(self.flush, everything=True)  # lines have another width now
        self.query_one(ActsLine).refresh_acts(self.deck, now)
        self.flush_body(now, everything=everything)
        self.query_one(KeyLine).refresh_keys()

    def _fit_breakpoints(self) -> None:
        """As Textual will once it knows the size, which the program knows already."""
        points = zip(self.app.size, (self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS), strict=True)
        for cells, breakpoints in points:
            self.add_class(max(one for one in breakpoints if one[0] <= cells)[1])

    def _dim(self) -> None:
        """What is not current is dimmed. Like the frame it is there from the first: each change of a class later
        looks at the styles of all widgets again."""
        self.set_class(not self.deck.truth().live, "-stale")

    def _warn_around(self) -> bool:
        """Frames the screen where acts reach production, or a fault is armed; whether that has just changed."""
        before = self.classes
        self.set_class(self.deck.guarded, "-guarded")
        self.set_class(self.deck.fuse.fault is not None, "-armed")
        return self.classes != before

    def sure(
        self, verb: str, target: str, notes: Sequence[str], do: Callable[[], None], *, what: str = "job"
    ) -> None:
        """Does an act on one thing; on production only once that was confirmed."""

        def answered(yes: bool | None) -> None:  # noqa: FBT001 (Textual's callback)
            if yes:
                do()

        if self.deck.guarded and not self.deck.refusal():
            self.app.push_screen(Question(verb, [target], notes, what=what), answered)
        else:
            do()

    @property
    def stands(self) -> bool:
        """Whether it is composed, and not being taken down as the program ends."""
        return self.is_mounted and bool(self.children)

    def flush_acts(self) -> None:
        """Draws only what was said and what acts do."""
        if self.stands:
            self.query_one(ActsLine).refresh_acts(self.deck, self.deck.now())

    def flush_body(self, now: float, *, everything: bool) -> None:
        """Draws the screen's own widgets."""

    def hides(self, binding: Binding) -> bool:
        """Whether the key line leaves a binding out: it would do nothing for what is chosen now, or no act may go
        out, as the lines above say. Pressing it anyway says why not."""
        return parse(binding.action)[1] in SENT and bool(self.deck.refusal())

    def puts_first(self, binding: Binding) -> bool:  # noqa: ARG002
        """Whether the key line shows a binding before all others: what is chosen needs just this."""
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a log has long lines."""
        if action in ("wrap", "shift"):
            return isinstance(self.focused, (EventLog, TextPane))
        return super().check_action(action, parameters)

    def records(self) -> Records:
        """What an export would write: the lines of the log or page in view."""
        pane = self.focused
        if isinstance(pane, EventLog):
            return Records("events", pane.records())
        if isinstance(pane, TextPane):
            return Records(self.TITLE_WORDS.lower(), [{"line": line} for line in pane.plain.split("\n")])
        return Records(self.TITLE_WORDS.lower(), [])

    def action_export(self) -> None:
        """Writes what is shown to a file."""
        self.program.export(self.records())

    def action_wrap(self) -> None:
        """Wraps the long lines of the log in view, or lets them go on to the right."""
        if isinstance(pane := self.focused, (EventLog, TextPane)):
            pane.toggle_wrap()

    def action_shift(self, steps: int) -> None:
        """Moves long lines sideways."""
        if isinstance(pane := self.focused, (EventLog, TextPane)):
            pane.shift(steps)

    def action_leave(self) -> None:
        """Goes back to the jobs."""
        self.program.show_mode("jobs")
