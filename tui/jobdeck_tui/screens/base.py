"""What every screen of the deck shares: the status bar above, the acts and keys below, and the flush."""

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen

from jobdeck_tui.keys import named
from jobdeck_tui.widgets.acts_line import ActsLine
from jobdeck_tui.widgets.key_line import KeyLine
from jobdeck_tui.widgets.status_bar import Banner, StatusBar

if TYPE_CHECKING:
    from jobdeck_tui.app import DeckApp
    from jobdeck_tui.deck import Deck


class DeckScreen(Screen[None], inherit_bindings=False):
    """A screen whose body is drawn from the deck's state, a few times a second, only while it is shown."""

    TITLE_WORDS: ClassVar[str] = ""
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
        yield StatusBar(id="status")
        yield Banner(id="banner")
        with Vertical(id="body"):
            yield from self.compose_body()
        yield ActsLine(id="acts")
        yield KeyLine(id="keys")

    def compose_body(self) -> ComposeResult:
        """The screen's own widgets."""
        yield from ()

    def on_screen_resume(self) -> None:
        """Shown again: everything may have changed meanwhile."""
        self.flush(everything=True)

    def flush(self, *, everything: bool = False) -> None:
        """Draws what changed; called by the program's one timer."""
        if not self.query(StatusBar) or not self.query(KeyLine):
            return  # not composed yet, or being taken down
        now = self.deck.now()
        self.query_one(StatusBar).refresh_bar(self.deck, now, self.TITLE_WORDS)
        self.query_one(Banner).refresh_banner(self.deck)
        self.set_class(not self.deck.truth().live, "-stale")
        self.query_one(ActsLine).refresh_acts(self.deck, now)
        self.flush_body(now, everything=everything)
        self.query_one(KeyLine).refresh_keys()

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

    def hides(self, binding: Binding) -> bool:  # noqa: ARG002
        """Whether the key line leaves a binding out: it would do nothing for what is chosen now."""
        return False

    def action_leave(self) -> None:
        """Goes back to the jobs."""
        self.program.show_mode("jobs")
