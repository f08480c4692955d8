"""Every bound and every choice, read once from the environment (``JOBDECK_…``) and frozen.

The command line sets the same variables, so that a worker reads what the server was told without anything
passing through Dask.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from platformdirs import user_state_path
from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "JOBDECK_"
SQLITE = "sqlite:///"
ALIKE = 0.75
"""From which likeness on a name is taken for a misspelt one, as ``difflib`` measures it."""


def what_is_wrong(error: ValidationError) -> str:
    """Which variables cannot be, and why; never their values, which may be secrets."""
    reasons = [
        ": ".join([*(f"JOBDECK_{str(name).upper()}" for name in one["loc"]), one["msg"]])
        for one in error.errors(include_input=False, include_url=False)
    ]
    return "; ".join(reasons).replace("Value error, ", "")


class Settings(BaseSettings):
    """jobdeck's configuration. Durations end in ``_s`` (seconds), sizes in ``_bytes``."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    host: str = "127.0.0.1"
    port: int = Field(default=8787, ge=0, le=65535)
    """0 takes a free one; the ready line names it."""
    trusted_hosts: str = "localhost"
    """Host names, with commas between them: other names of this server, and hosts whose web pages may use it."""
    state_dir: Path = Field(default_factory=lambda: user_state_path("jobdeck"))
    """Journals, logs and lock of one instance, and its database unless there is a ``db_url``."""
    db_url: SecretStr | None = None
    """``postgresql://user:password@host:port/database``, or ``sqlite:///PATH`` of a file elsewhere."""
    redis_url: SecretStr | None = None
    """``redis://…`` or ``rediss://…``: preferences are kept there, in place of the database."""

    auth: bool = False
    """Whether callers must say who they are, by a bearer token."""
    token_secret: SecretStr | None = None
    """Signs jobdeck's own tokens; without one, a secret is made and kept in the state directory."""
    auth_keys: str | None = None
    """``https://…`` or a file: the JSON Web Key Set of the issuer whose tokens are taken, not jobdeck's own."""
    auth_issuer: str = Field(default="jobdeck", pattern=r"^\S{1,100}$")
    auth_audience: str = Field(default="jobdeck", min_length=1)
    auth_roles_claim: str = Field(default="roles", min_length=1)
    """Which claim of a token names the caller's roles."""

    scheduler_address: str | None = None
    """``tcp://…`` or ``tls://…``: attach to this Dask scheduler in place of starting one."""
    tls_ca_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    """All three go with a ``tls://`` address."""
    scheduler_port: int = Field(default=0, ge=0, le=65535)
    """Where the embedded scheduler listens; 0 takes a free one, and keeps it from epoch to epoch."""
    workflows: Path | None = None
    """A ``langgraph.json`` that names workflows beside the built-in ones."""

    max_running_async_jobs: int = Field(default=2, ge=1, le=256)
    """Worker processes of the embedded cluster."""
    dask_threads_per_worker: int = Field(default=1, ge=1, le=64)
    dask_dashboard: bool = False
    """Whether the embedded scheduler serves Dask's own pages, which takes bokeh."""
    allow_drills: bool | None = None
    """Whether faults may be injected; unsaid, they may on the embedded cluster and not on an external one."""

    allow_private_addresses: bool = False
    """Whether requests that callers name (callbacks, webhooks) may go to private and loopback addresses."""

    input_bytes_max: int = 1 << 20
    body_bytes_max: int = 4 << 20
    request_timeout_s: float = Field(default=10.0, gt=0)
    """How long a request's head may take to come in; its body has the same, and a second more for each KiB."""
    unfinished_jobs_max: int | None = Field(default=None, ge=1)
    """Unfinished jobs that the server takes; the next one is 503. None: any number."""
    unfinished_jobs_per_principal_max: int | None = Field(default=None, ge=1)
    """Unfinished jobs of one caller; the next one is 429."""
    submissions_per_minute_max: int | None = Field(default=None, ge=1)
    """Jobs one caller may submit within 60 s; the next one is 429."""
    assumed_service_s: float = Field(default=60.0, gt=0)
    """How long an execution counts for a strict admission before any of its workflow has succeeded."""
    dispatch_window: int = Field(default=256, ge=1)
    """Jobs handed to Dask beyond its slots, as long as they could run nowhere else."""
    lost_attempts_max: int = Field(default=3, ge=1)
    """Attempts a job may lose with their worker before it is held for a person."""
    recovery: Literal["auto", "manual"] = "auto"
    """``manual``: after a loss jobs wait for an operator to apply the plan; deadlines still expire them."""
    ghost_timeout_s: float = Field(default=300.0, gt=0)
    """How long a lost job may wait for its recovery before it is a failure."""

    heartbeat_s: float = 5.0
    heartbeat_stale_s: float = 20.0
    heartbeat_event_s: float = 30.0
    cancel_look_s: float = 0.5
    cancel_grace_s: float = 3.0
    """How long a cancelled job's worker has to acknowledge before its fence rises."""
    expire_grace_s: float = 2.0
    """How long past its deadline a running job is left to its own worker."""
    scheduler_suspect_s: float = 1.0
    scheduler_lost_s: float = 5.0
    lease_ttl_s: float = 10.0

    retention_s: float | None = Field(default=None, gt=0)
    """How long after its end a job is kept; unset: until an operator prunes."""
    artifact_dir: Path | None = None
    """Where the bytes of artifacts are kept, for every worker and the server: ``artifacts`` in ``state_dir``."""
    artifact_files_max: int = Field(default=200, ge=1)
    """Artifacts of one job."""
    artifact_file_bytes_max: int = Field(default=50_000_000, ge=1)
    artifact_job_bytes_max: int = Field(default=500_000_000, ge=1)

    callback_secret: SecretStr | None = None
    """Signs callbacks; without one, a secret is made at the first start and kept in the state directory."""
    callback_timeout_s: float = Field(default=10.0, gt=0)
    """How long one attempt to deliver a callback may take, all in all."""
    callback_attempts_max: int = Field(default=12, ge=1)
    callback_retry_s: float = Field(default=5.0, gt=0)
    """The pause after the first failed attempt; each later one is twice as long, up to an hour."""
    callback_concurrency_max: int = Field(default=8, ge=1)

    model: str = "offline"
    """``offline`` (the scripted model) or a LangChain ``init_chat_model`` string such as ``openai:gpt-5``."""
    offline_tokens_per_second: float = Field(default=60.0, gt=0)
    model_attempts_max: int = Field(default=4, ge=1)
    model_retry_s: float = Field(default=0.5, ge=0)
    """The first pause before a failed model call is tried again; each later one is longer."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        tls = (self.tls_ca_file, self.tls_cert, self.tls_key)
        address = self.scheduler_address or ""
        if self.scheduler_address is not None and not address.startswith(("tcp://", "tls://")):
            raise ValueError(f"a scheduler's address begins with tcp:// or tls://; {address!r} does not")
        if address.startswith("tls://") and None in tls:
            raise ValueError("a tls:// scheduler needs --tls-ca-file, --tls-cert and --tls-key, all three")
        if not address.startswith("tls://") and any(tls):
            raise ValueError(
                "--tls-ca-file, --tls-cert and --tls-key go with a tls:// --scheduler-address only"
            )
        if self.auth_keys is not None and not self._is_safe_source(self.auth_keys):
            raise ValueError(
                "JOBDECK_AUTH_KEYS must be a file or an https:// address (http:// on this machine)"
            )
        missing = [str(path) for path in tls if path is not None and not path.is_file()]
        if missing:
            raise ValueError(f"there is no file {missing[0]}")
        return self

    @staticmethod
    def _is_safe_source(keys: str) -> bool:
        """Whoever can change the keys on their way can be anybody."""
        address = urlsplit(keys)
        at_home = address.scheme == "http" and address.hostname in ("127.0.0.1", "localhost", "::1")
        return "://" not in keys or address.scheme == "https" or at_home

    @property
    def drills_allowed(self) -> bool:
        """Whether faults may be injected here."""
        return self.scheduler_address is None if self.allow_drills is None else self.allow_drills

    @property
    def log_directory(self) -> Path:
        """Where the scheduler's and the workers' logs are."""
        return self.state_dir / "logs"

    @property
    def artifact_root(self) -> Path:
        """Where the bytes of artifacts are kept."""
        return self.artifact_dir or self.state_dir / "artifacts"

    @property
    def sandboxes_path(self) -> Path:
        """The directories in which executions leave their files, one an attempt."""
        return self.state_dir / "sandboxes"

    @property
    def callback_secret_path(self) -> Path:
        """Where a secret that jobdeck made itself is kept."""
        return self.state_dir / "callback-secret"

    @property
    def token_secret_path(self) -> Path:
        """Where the secret of jobdeck's own tokens is kept, if jobdeck made it itself."""
        return self.state_dir / "token-secret"

    @property
    def database_path(self) -> Path:
        """The SQLite file of this instance."""
        if self.db_url is not None:
            return Path(self.db_url.get_secret_value().removeprefix(SQLITE))
        return self.state_dir / "jobdeck.db"

    @property
    def database_place(self) -> Path | str:
        """Where the records are: the SQLite file, or the URL with its password, for ``Database`` alone."""
        url = None if self.db_url is None else self.db_url.get_secret_value()
        return self.database_path if url is None or url.startswith(SQLITE) else url


def misspelt(variables: Iterable[str]) -> dict[str, str]:
    """Those that are no setting but look like one, and the one that was meant; they change nothing."""
    settings = [name.upper() for name in Settings.model_fields]
    names = {name.removeprefix(PREFIX) for name in variables if name.startswith(PREFIX)}
    alike = {
        name: get_close_matches(name, settings, n=1, cutoff=ALIKE) for name in names.difference(settings)
    }
    return {PREFIX + name: PREFIX + close[0] for name, close in sorted(alike.items()) if close}
