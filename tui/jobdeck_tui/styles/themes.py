"""The deck's themes: the same meanings in other colours. Signs, words and weight carry them without any."""

from dataclasses import replace

from textual.theme import BUILTIN_THEMES, Theme

LIGHT = {
    "state-running": "#005f9e",
    "state-assigned": "#00507a",
    "state-queued": "#8a5a00",
    "state-waiting": "#5b4a8a",
    "state-backlog": "#555555",
    "state-held": "#6b5d00",
    "state-failed": "#b03a00",
    "state-succeeded": "#00664d",
    "state-cancelled": "#5f5f5f",
    "state-expired": "#99436f",
    "cursor-ground": "#cfe2f7",
    "faint": "#59636d",
}
CONTRAST = {
    "state-running": "#7fd0ff",
    "state-assigned": "#7fd0ff",
    "state-queued": "#ffc04d",
    "state-waiting": "#d9ccff",
    "state-backlog": "#ffffff",
    "state-held": "#ffff66",
    "state-failed": "#ff9a70",
    "state-succeeded": "#4dffcc",
    "state-cancelled": "#e0e0e0",
    "state-expired": "#ffb3dd",
    "cursor-ground": "#0044cc",
    "faint": "#e0e0e0",
}
GREYS = dict.fromkeys(CONTRAST, "#c8c8c8") | {
    "state-failed": "#ffffff",
    "state-held": "#ffffff",
    "state-running": "#ffffff",
    "cursor-ground": "#4a4a4a",
    "faint": "#a0a0a0",
}

THEMES = (
    replace(BUILTIN_THEMES["textual-dark"], name="dark"),
    Theme(
        "light",
        primary="#005f9e",
        foreground="#1a1a1a",
        background="#fbfbfb",
        surface="#f0f2f4",
        panel="#e2e6ea",
        dark=False,
        variables=LIGHT,
    ),
    Theme(
        "high-contrast",
        primary="#ffff66",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#1f1f1f",
        variables=CONTRAST,
    ),
    Theme(
        "greys",
        primary="#c8c8c8",
        secondary="#a0a0a0",
        accent="#ffffff",
        warning="#c8c8c8",
        error="#ffffff",
        success="#c8c8c8",
        foreground="#d8d8d8",
        background="#141414",
        surface="#1e1e1e",
        panel="#2a2a2a",
        variables=GREYS,
    ),
)
NAMES = tuple(theme.name for theme in THEMES)


def unknown_theme(name: str) -> str:
    """Say that there is no theme of that name; empty where there is."""
    return "" if name in NAMES else f"There is no theme {name}: {', '.join(NAMES)}."
