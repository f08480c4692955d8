"""Help, written by the binding registry itself: what each key does on the screen it was asked from."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input

from jobdeck_tui.text.format import MEANINGS, state_glyph, state_word
from jobdeck_tui.widgets.looks import LOOKS
from jobdeck_tui.widgets.text_line import Piece, TextLine

FILTER_HELP = (
    ("state:failed,expired", "one of several states (`,` is or)"),
    ("queue:research agent:deep*", "both must hold; `*` stands for anything"),
    ("left<60s try>1 age>10m", "times and numbers"),
    ("worker:w3 !queue:demo", "`!` negates a term"),
    ('"free text"', "anywhere in id, note, error"),
)
READING = (
    ("LEFT -02:31", "a countdown: 2 minutes 31 are left to the deadline"),
    ("LEFT +00:12", "12 seconds over it"),
    ("SLACK +01:10 / -00:20", "what the forecast leaves to spare / how much too late it will be"),
    ("longer than predicted", "it should have ended by now: the forecast says nothing more of it"),
    ("LIVE", "what is shown is now; acts go out only then"),
    ("STALE · RETRY · OFFLINE", "nothing came / connecting again / no server: data as of the time said"),
    ("DENIED", "this deck is not let in; the line under the first says why"),
    ("waiting", "its inputs are not ready (jobs it comes after)"),
    ("queued", "ready; the scheduler holds it until a slot is free"),
    ("no-worker", "ready; no worker fits what the task asks for"),
    ("drained", "a worker that takes nothing new until it is taken back or restarted"),
    ("epoch", "the scheduler's number: it rises whenever one was lost"),
    ("dry run", "what an act would come to, asked of the server, with nothing done"),
    ("requested → accepted → seen", "an act was sent, the server took it, its effect was seen in the list"),
    ("already done", "refused (409): the job is so already; `changed`: it is another than you saw"),
    ("outcome unknown, checking", "no answer came: the deck looks until the job tells"),
)


Line = tuple[str, str, str]
"""A term, its look, and what it means."""


class HelpScreen(ModalScreen[None]):
    """All keys of the screen below, and what the words and signs mean; ``/`` leaves only what was sought."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "close", "Back", key_display="esc"),
        Binding("slash", "seek", "Search", key_display="/"),
        Binding("j,down", "roll(1)", "Down", show=False),
        Binding("k,up", "roll(-1)", "Up", show=False),
        Binding("pagedown,space", "roll(15)", "Page", show=False),
        Binding("pageup", "roll(-15)", "Page up", show=False),
        Binding("g,home", "roll(-1000)", "To the beginning", show=False),
        Binding("G,end", "roll(1000)", "To the end", show=False),
    ]

    def __init__(self, words: str, bindings: Iterable[Binding]) -> None:
        super().__init__()
        self._words = words
        self._active = list(bindings)

    def compose(self) -> ComposeResult:
        """One scrolling text, and a place to type what is sought."""
        with Vertical(classes="sheet"):
            with VerticalScroll():
                yield TextLine(id="help")
            yield Input(id="sought", compact=True, select_on_focus=False, placeholder="a key, or a word")

    def on_mount(self) -> None:
        """Writes the text."""
        self.query_one(Input).display = False
        self._write()

    def _sections(self) -> Iterator[tuple[str, list[Line]]]:
        yield f"Keys: {self._words}", [(f"{keys:<14}", "strong", words) for keys, words in self._keys()]
        states = [
            (f"{state_glyph(state)} {state_word(state):<11}", state if state in LOOKS else "warn", meaning)
            for state, meaning in MEANINGS.items()
        ]
        yield "States", states
        for title, rows in (("Filter", FILTER_HELP), ("Reading the deck", READING)):
            yield title, [(f"{term:<28}", "", meaning) for term, meaning in rows]

    def _write(self) -> None:
        sought = self.query_one(Input).value.strip().casefold()
        pieces: list[Piece] = [(" esc back, j k roll, / searches\n", "faint")]
        found = 0
        for title, lines in self._sections():
            left = [line for line in lines if sought in f"{line[0]} {line[2]}".casefold()]
            found += len(left)
            if left:
                pieces.append((f" {title}\n", "strong"))
            for term, look, words in left:
                pieces += [(f"   {term}", look), (f" {words}\n", "")]
            pieces.append(("\n" if left else "", ""))
        if not found:
            pieces.append((f" Nothing here says {sought}.", "warn"))
        self.query_one("#help", TextLine).show(pieces)

    def _keys(self) -> list[tuple[str, str]]:
        keys_of: dict[str, list[str]] = {}
        for binding in self._active:
            if binding.description:
                shown = binding.key_display or self.app.get_key_display(binding)
                keys = keys_of.setdefault(binding.description, [])
                if shown not in keys:
                    keys.append(shown)
        return [(" ".join(keys), words) for words, keys in keys_of.items()]

    @on(Input.Changed)
    def _typed(self) -> None:
        self._write()
        self.query_one(VerticalScroll).scroll_home(animate=False)

    @on(Input.Submitted)
    def _entered(self) -> None:
        self.set_focus(None)

    def action_seek(self) -> None:
        """Opens the place to type."""
        sought = self.query_one(Input)
        sought.display = True
        self.set_focus(sought)

    def action_roll(self, rows: int) -> None:
        """Scrolls the text."""
        self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False)

    def action_close(self) -> None:
        """Shows all again where something was sought, else back to the screen below."""
        sought = self.query_one(Input)
        if not sought.display:
            self.dismiss()
            return
        sought.value, sought.display = "", False
        self.set_focus(None)
