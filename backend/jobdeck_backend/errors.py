"""Every error jobdeck raises on purpose. Each class carries its code and the HTTP status it becomes.

JobdeckError
├── Refused            the request cannot be done; nothing was changed
│   ├── UnknownWorkflow      400  unknown_agent_type
│   ├── InvalidInput         422  invalid_input
│   │   ├── AddressRefused   422  address_refused
│   │   └── SourcesRefused   422  data_sources_refused
│   ├── TooLarge             413  too_large
│   ├── JobNotFound          404  not_found
│   ├── NotFound             404  not_found
│   ├── Gone                 410  gone
│   ├── JobExists            409  job_exists
│   ├── NotEditable          409  not_editable
│   ├── DeadlineUnattainable 409  deadline_unattainable
│   ├── Changed              409  changed
│   ├── NotEligible          409  not_eligible
│   ├── DeadlinePassed       409  deadline_passed
│   ├── VerdictNeeded        409  effect_uncertain
│   ├── StaleRevision        412  stale_revision
│   ├── RevisionNeeded       428  revision_needed
│   ├── TooManyJobs          429  too_many_jobs      try again later
│   ├── NotAllowed           403  not_allowed
│   └── NotVerified          401  nobody knows who asks
│       ├── TokenMissing     401  token_missing
│       ├── TokenExpired     401  token_expired
│       └── TokenInvalid     401  token_invalid
├── Unavailable        503  unavailable   try again later; nothing was changed
│   ├── StorageFull       507  storage_full
│   ├── DatabaseReadOnly  503  database_read_only
│   ├── DatabaseLocked    503  database_locked
│   ├── DatabaseDamaged   503  database_damaged
│   └── ServerFull        503  server_full
├── JobStopped         an execution no longer owns its job (never crosses HTTP)
│   ├── BudgetSpent      its deadline passed before the next stage
│   └── EffectUncertain  only a person can tell whether an effect happened: the job is to be held
├── LeaseLost          a background owner was replaced (never crosses HTTP)
└── StartRefused       the program cannot start; its exit code says why
"""

from typing import Any, ClassVar


class JobdeckError(Exception):
    """Root of the tree; the message is one sentence fit for the caller."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    retry_after_s: int | None = None

    def __init__(self, message: str, *, retry_after_s: int | None = None, **details: Any) -> None:
        """``retry_after_s``: when to come again, for what passes."""
        super().__init__(message)
        self.message = message
        if retry_after_s is not None:
            self.retry_after_s = retry_after_s
        self.details = details


class Refused(JobdeckError):  # noqa: N818
    """The request cannot be done as it stands; nothing was changed."""

    code = "refused"
    http_status = 400


class UnknownWorkflow(Refused):
    """No public workflow has that name."""

    code = "unknown_agent_type"


class InvalidInput(Refused):
    """A field has a value that cannot be used."""

    code = "invalid_input"
    http_status = 422


class AddressRefused(InvalidInput):
    """A URL leads to an address that this server does not send to."""

    code = "address_refused"


class SourcesRefused(InvalidInput):
    """Data sources that do not exist, or that the workflow cannot use; ``details`` has the lists."""

    code = "data_sources_refused"


class TooLarge(Refused):
    """The input or body is over its bound."""

    code = "too_large"
    http_status = 413


class NotFound(Refused):
    """There is no such thing."""

    code = "not_found"
    http_status = 404


class Gone(Refused):
    """It was there; its bytes were removed when their time was over (R6)."""

    code = "gone"
    http_status = 410


class JobNotFound(NotFound):
    """No job has that id."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"Job not found: {job_id}", job_id=job_id)


class JobExists(Refused):
    """The id belongs to a job already; ``request_matches`` tells whether the request was the same."""

    code = "job_exists"
    http_status = 409


class NotEditable(Refused):
    """There is no finished report to edit."""

    code = "not_editable"
    http_status = 409


class DeadlineUnattainable(Refused):
    """A strict admission's deadline cannot be promised. Times in Unix seconds, None where nothing can be told."""

    code = "deadline_unattainable"
    http_status = 409

    def __init__(
        self, message: str, *, deadline: float, predicted_completion: float | None, offer: float | None
    ) -> None:
        super().__init__(message)
        self.deadline = deadline
        self.predicted_completion = predicted_completion
        self.offer = offer


class Changed(Refused):
    """The row is no longer the one the operator saw."""

    code = "changed"
    http_status = 409


class NotEligible(Refused):
    """The job's state does not allow the act."""

    code = "not_eligible"
    http_status = 409


class DeadlinePassed(NotEligible):
    """The job's window is over; a grant would open it again."""

    code = "deadline_passed"


class VerdictNeeded(NotEligible):
    """An effect of the job is uncertain; a verdict must come first."""

    code = "effect_uncertain"


class StaleRevision(Refused):
    """A shared record was written since it was read (R34)."""

    code = "stale_revision"
    http_status = 412


class RevisionNeeded(Refused):
    """A write to a shared record does not say which revision it read."""

    code = "revision_needed"
    http_status = 428


class TooManyJobs(Refused):
    """The caller has as many jobs as it may have."""

    code = "too_many_jobs"
    http_status = 429


class NotAllowed(Refused):
    """The server does not allow this act."""

    code = "not_allowed"
    http_status = 403


class NotVerified(Refused):
    """Who asks is not known (R32)."""

    http_status = 401


class TokenMissing(NotVerified):
    """There is no bearer token."""

    code = "token_missing"


class TokenExpired(NotVerified):
    """The token's time is over."""

    code = "token_expired"


class TokenInvalid(NotVerified):
    """The token is none of this server's issuer, or not for this server."""

    code = "token_invalid"


class Unavailable(JobdeckError):  # noqa: N818
    """Something needed is not there right now; nothing was changed, try again."""

    code = "unavailable"
    http_status = 503
    retry_after_s = 1


class StorageFull(Unavailable):
    """The disk has no room; it goes on by itself once there is some."""

    code = "storage_full"
    http_status = 507
    retry_after_s = 5


class DatabaseReadOnly(Unavailable):
    """The database cannot be written, only read."""

    code = "database_read_only"
    retry_after_s = 5


class DatabaseLocked(Unavailable):
    """Another process holds the database's lock for longer than anything of ours does."""

    code = "database_locked"


class DatabaseDamaged(Unavailable):
    """The file is not what was written to it; only a restored backup helps."""

    code = "database_damaged"
    retry_after_s = 60


class ServerFull(Unavailable):
    """The server has as many unfinished jobs as it takes."""

    code = "server_full"


class JobStopped(JobdeckError):  # noqa: N818
    """This execution no longer owns its job: cancelled, expired or superseded. Nothing it writes counts."""

    code = "stopped"


class BudgetSpent(JobStopped):
    """The deadline passed between two stages: the execution must end as expired."""


class EffectUncertain(JobStopped):
    """An effect of an earlier attempt may or may not have happened: the job is held for a person's verdict."""


class LeaseLost(JobdeckError):  # noqa: N818
    """Another process took the lease over; what this one planned must not be written."""

    code = "lease_lost"


class StartRefused(JobdeckError):  # noqa: N818
    """The program cannot start; ``exit_code`` as docs/commands.md lists them."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code
