"""What the deck decides, as pure functions and state machines: no I/O, no terminal, clocks passed in."""
