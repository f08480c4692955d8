"""Garbage collection of a program that begins with much that stays, and then runs for days."""

import gc

OBJECTS_BETWEEN = 2_000
"""Made and not yet freed, until the newest are looked through: what is garbage by then is all that is wasted."""


def settle() -> None:
    """Frees what the way here left behind. The first time, all that is left is never looked through again: modules
    and screens stay for good, and would stall the loop each time.
    """
    gc.collect()
    if not gc.get_freeze_count():
        gc.freeze()
        gc.set_threshold(OBJECTS_BETWEEN)
