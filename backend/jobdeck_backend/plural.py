"""A count and what is counted, as a sentence says it."""


def plural(count: int, word: str) -> str:
    """Write ``1 job``, ``2 jobs``, ``1,000 replies``."""
    if count == 1:
        return f"1 {word}"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{count:,} {word[:-1]}ies"
    return f"{count:,} {word}s"
