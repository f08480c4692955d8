"""Help, written by the binding registry itself: what each key does on the screen it was asked from."""

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from jobdeck_tui.text.format import MEANINGS, state_glyph, state_word
from jobdeck_tui.widgets.table_styles import MARKS
from jobdeck_tui.widgets.text_line import Piece, TextLine

FILTER_HELP = (
    ("state:failed,expired", "one of several states (`,` is or)"),
    ("queue:research agent:deep*", "both must hold; `*` stands for anything"),
    ("left<60s try>1 age>10m", "times and numbers"),
    ("worker:w3 !queue:demo", "`!` negates a term"),
    ('"free text"', "anywhere in id, note, error"),
)
READING = (
    ("-02:31 / +00:12", "time left to the deadline / time over it"),
    ("LIVE", "what is shown is now; acts go out only then"),
    ("STALE · RETRY · OFFLINE", "nothing came / connecting again / no server: data as of the time said"),
    ("DENIED", "the server answered and does not let this deck in"),
    ("waiting", "its inputs are not ready (jobs it comes after)"),
    ("queued", "ready; the scheduler holds it until a slot is free"),
    ("no-worker", "ready; no worker fits what the task asks for"),
    ("drained", "a worker that takes nothing new (D) until it is taken back (U) or restarted (r)"),
    ("epoch", "the scheduler's number: it rises whenever one was lost"),
    ("dry run", "what an act would come to, asked of the server, with nothing done"),
    ("requested → accepted → seen", "an act was sent, the server took it, its effect was seen in the list"),
    ("already done", "refused (409): the job is so already; `changed`: it is another than you saw"),
    ("outcome unknown, checking", "no answer came: the deck looks until the job tells"),
)


class HelpScreen(ModalScreen[None]):
    """All keys of the screen below, and what the words and signs mean."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "close", "Back", key_display="esc"),
        Binding("j,down", "roll(1)", "Down", show=False),
        Binding("k,up", "roll(-1)", "Up", show=False),
        Binding("pagedown,space", "roll(15)", "Page", show=False),
        Binding("pageup", "roll(-15)", "Page up", show=False),
    ]

    def __init__(self, words: str, bindings: Iterable[Binding]) -> None:
        super().__init__()
        self._words = words
        self._keys = list(bindings)

    def compose(self) -> ComposeResult:
        """One scrolling text."""
        with VerticalScroll(classes="sheet"):
            yield TextLine(id="help")

    def on_mount(self) -> None:
        """Writes the text."""
        lines: list[Piece] = [(f" Keys: {self._words}", "strong"), ("      esc back, j k roll\n", "faint")]
        for keys, words in self._rows():
            lines += [(f"   {keys:<14}", "strong"), (f" {words}\n", "")]
        lines.append(("\n States\n", "strong"))
        for state, meaning in MEANINGS.items():
            look = state if state in MARKS else "warn"
            lines += [(f"   {state_glyph(state)} {state_word(state):<11}", look), (f"  {meaning}\n", "")]
        for title, rows in (("Filter", FILTER_HELP), ("Reading the deck", READING)):
            lines.append((f"\n {title}\n", "strong"))
            for term, meaning in rows:
                lines += [(f"   {term:<28}", ""), (f" {meaning}\n", "faint")]
        self.query_one("#help", TextLine).show(lines)

    def _rows(self) -> list[tuple[str, str]]:
        keys_of: dict[str, list[str]] = {}
        for binding in self._keys:
            if binding.description:
                shown = binding.key_display or self.app.get_key_display(binding)
                keys = keys_of.setdefault(binding.description, [])
                if shown not in keys:
                    keys.append(shown)
        return [(" ".join(keys), words) for words, keys in keys_of.items()]

    def action_roll(self, rows: int) -> None:
        """Scrolls the text."""
        self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False)

    def action_close(self) -> None:
        """Back to the screen below."""
        self.dismiss()
