"""The style sheets, parsed once for each set of colours."""

from textual.css.stylesheet import Stylesheet


class DeckStylesheet(Stylesheet):
    """Textual parses everything anew for each screen that is opened for the first time, before it is drawn."""

    def set_variables(self, variables: dict[str, str]) -> None:
        """Forget what was parsed with other colours."""
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        """Parse what is not parsed yet."""
        self.parse()
