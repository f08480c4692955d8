"""A job's effects as its screen shows them: what was about to be done, whether it was, and who says so."""

from collections.abc import Iterator, Sequence

from jobdeck_tui.client.models import Effect
from jobdeck_tui.text.format import NONE, clock, plural

Row = list[tuple[str, str]]

# State → glyph, word, look.
WORDS = {
    "intent": ("▸", "CALLING", "running"),
    "confirmed": ("✔", "CONFIRMED", "succeeded"),
    "failed": ("✖", "FAILED", "failed"),
    "uncertain": ("?", "UNCERTAIN", "warn"),
    "happened": ("✔", "HAPPENED", "succeeded"),
    "not_happened": ("⊘", "NOT HAPPENED", "cancelled"),
    "retry": ("↻", "TRY AGAIN", "queued"),
}
POLICIES = {
    "manual": "only a person can tell",
    "probe": "its provider is asked",
    "idempotent": "called again with the same key",
    "repeatable": "may be repeated",
}
NOTHING = "No effect is on record: nothing was done to the outside world that this job's author guards."


def state_words(effect: Effect) -> str:
    """Give glyph and word of an effect's state."""
    glyph, word, _ = WORDS.get(effect.state, ("?", effect.state.upper(), ""))
    return f"{glyph} {word}"


def uncertain(effects: Sequence[Effect]) -> list[Effect]:
    """Give those a verdict can be given on, first those that a resume needs one for."""
    unknown = [effect for effect in effects if effect.state == "uncertain"]
    return sorted(unknown, key=lambda effect: effect.policy != "manual")


def effect_rows(effects: Sequence[Effect], judges: str) -> list[Row]:
    """Effects in the order of their intents, the uncertain ones first; the key ``judges`` gives a verdict."""
    if not effects:
        return [[(f" {NOTHING}", "faint")]]
    unknown = uncertain(effects)
    rows: list[Row] = []
    for effect in [*unknown, *(one for one in effects if one not in unknown)]:
        rows += [*_effect(effect, judges), []]
    return rows


def _effect(effect: Effect, judges: str) -> Iterator[Row]:
    look = WORDS.get(effect.state, ("", "", ""))[2]
    yield [
        (f" {state_words(effect):<15}", look),
        (f" {effect.name}", "strong"),
        (f"  stage {effect.node}, step {effect.step}", ""),
        (f"  {POLICIES.get(effect.policy, effect.policy)}", "faint"),
    ]
    settled = f"settled {clock(effect.settled_at)} by {effect.settled_by}" if effect.settled_at else "open"
    tries = plural(effect.intents, "try").replace("trys", "tries")
    yield [(f"   intent {clock(effect.intent_at)}, attempt {effect.attempt}, {tries}; {settled}", "")]
    yield [("   request ", "faint"), (effect.request or NONE, "")]
    if effect.outcome is not None:
        yield [("   outcome ", "faint"), (effect.outcome, "")]
    if effect.proof is not None:
        yield [("   proof   ", "faint"), (effect.proof, "")]
    if effect.state == "uncertain":
        yield [(f"   {judges}", "strong"), (" says whether it happened", "notice")]
    yield [(f"   key {effect.key}", "faint")]
