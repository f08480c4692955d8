"""The one gate every key passes, so that keys typed ahead of the screen never act on what nobody saw.

Textual forwards each key to the widget that has the focus when the key is *read*, and runs its binding only
after it came back up through every queue. Keys that arrive in one burst (a paste, a slow line, a fast hand)
are then all decided by the state before the first of them ran: of ``/expire`` all but the first would act.
Here a key is decided and done before the next one is looked at, and a screen takes none that was read before
the screen was drawn.
"""

from collections.abc import Iterable
from dataclasses import replace
from time import monotonic

from textual.app import App
from textual.binding import Binding, BindingType
from textual.events import Event, Key
from textual.screen import Screen
from textual.widgets import Input

from jobdeck_tui.core.key_names import FIXED, binding_id


def named(bindings: Iterable[BindingType]) -> list[BindingType]:
    """The bindings with the names by which a config file can give them other keys.

    What leads out of anything has none: its keys are not taken away.
    """
    return [
        replace(binding, id=binding_id(binding.action))
        if isinstance(binding, Binding)
        and not binding.priority
        and not FIXED.intersection(binding.key.split(","))
        else binding
        for binding in bindings
    ]


class GatedApp(App[int], inherit_bindings=False):
    """An app that takes one key at a time. What a key changes (focus, screen) must have changed on return.

    Bindings with ``priority`` are taken at any time: leaving is never in doubt.
    """

    def __init_subclass__(cls, **inherits: bool) -> None:
        cls.BINDINGS = named(cls.__dict__.get("BINDINGS", ()))
        super().__init_subclass__(**inherits)

    _drawn: Screen[object] | None = None
    _drawn_at = 0.0
    _keys_missed = 0

    async def on_event(self, event: Event) -> None:
        """Keys are decided here; everything else goes Textual's way."""
        if isinstance(event, Key) and not event.is_forwarded:
            self.app_focus = True
            await self._take(event)
        else:
            await super().on_event(event)

    async def _take(self, event: Key) -> None:
        focused = self.focused
        if await self._check_bindings(event.key, priority=True):
            return
        if self._drawn is not self.screen or event.time <= self._drawn_at:
            self._missed()
        elif isinstance(focused, Input) and event.is_printable and event.character is not None:
            focused.replace(event.character, *focused.selection)
        else:
            await self._check_bindings(event.key)

    def post_display_hook(self) -> None:
        """The screen in view was drawn: it takes keys from now on."""
        screen = self.screen
        if screen is self._drawn or self._batch_count or not screen.is_mounted:
            return
        self._drawn, self._drawn_at = screen, monotonic()

    def _missed(self) -> None:
        self._keys_missed += 1
        if self._keys_missed == 1:
            self.call_later(self._tell_missed)

    def _tell_missed(self) -> None:
        missed, self._keys_missed = self._keys_missed, 0
        self.keys_missed(missed)

    def keys_missed(self, count: int) -> None:
        """So many keys came before the screen in view was drawn, and were not taken."""
