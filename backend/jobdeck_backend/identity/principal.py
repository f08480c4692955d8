"""A verified caller, and what its roles allow."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

OWNER_CHARS_MAX = 128


class Role(StrEnum):
    """What operators may do; a caller without one has its own jobs (R36)."""

    VIEWER = "viewer"
    """Sees everybody's jobs, and everything else there is to see."""
    OPERATOR = "operator"
    """Acts on them, too."""
    DRILL = "drill"
    """Injects faults."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody whose token was verified. ``expires_at`` in Unix seconds (UTC)."""

    issuer: str
    subject: str
    roles: frozenset[Role]
    expires_at: float

    @property
    def owner(self) -> str:
        """As records name it: an issuer has no blank in it, so that two callers never share a name."""
        return f"{self.subject} {self.issuer}"

    def objection(self) -> str | None:
        """Why records cannot name anybody so; None where they can."""
        if not self.subject.strip() or not self.subject.isprintable():
            return "the subject is no printable name"
        if len(self.owner) > OWNER_CHARS_MAX:
            return f"issuer and subject have more than {OWNER_CHARS_MAX - 1} characters together"
        return None

    def may(self, role: Role) -> bool:
        """Whether it has a role; whoever acts or drills sees, too."""
        return role in self.roles or (role is Role.VIEWER and bool(self.roles))


def roles_of(claim: object) -> frozenset[Role]:
    """The roles a claim names: a list, or a text with blanks between them. Others are somebody else's."""
    named: Iterable[object] = (
        claim.split() if isinstance(claim, str) else claim if isinstance(claim, list) else ()
    )
    known = set(Role)
    return frozenset(Role(one) for one in named if isinstance(one, str) and one in known)
