"""What the operations API says of admissions before and while they are made."""

from typing import Any, Literal

from pydantic import BaseModel, Field


class Offer(BaseModel):
    """A deadline that would hold."""

    deadline: str


class ServiceTimeView(BaseModel):
    """How long executions of a workflow take, in seconds, over its newest ``n`` successes."""

    p50: float
    p95: float
    mean: float
    n: int = Field(description="0: nothing has succeeded yet, the figures are assumed")


class WorkflowForecast(BaseModel):
    """What a job of this workflow without a deadline would meet, were it submitted now."""

    workflow: str
    service_time: ServiceTimeView
    predicted_finish: str | None = Field(description="null: it cannot be told, or its queue is paused")


class AskedForecast(BaseModel):
    """What would become of the strict job that was asked about."""

    workflow: str
    deadline: str
    predicted_finish: str | None
    attainable: bool
    reason: str | None = Field(description="why it could not be promised")
    offer: Offer | None = Field(description="the earliest deadline that would hold, where this one would not")


class ForecastView(BaseModel):
    """The line as it is now, and what new jobs would meet in it."""

    at: str
    slots: int
    unfinished: int
    stuck: int = Field(
        description="those of them that do not start by themselves: held, or in a paused queue"
    )
    drain_seconds: float | None = Field(description="until the others are done; null: it cannot be told")
    workflows: list[WorkflowForecast]
    asked: AskedForecast | None


class BatchRequest(BaseModel):
    """Jobs to submit one by one, in this order: bodies as the jobs API's submit takes them."""

    jobs: list[dict[str, Any]] = Field(min_length=1, max_length=1000)


class BatchResult(BaseModel):
    """What became of one of them."""

    result: Literal["admitted", "offered", "refused"]
    job_id: str | None
    deadline: str | None
    offer: Offer | None
    code: str | None
    message: str | None


class BatchResults(BaseModel):
    """One result for each job, in the order of the request."""

    results: list[BatchResult]
    admitted: int
    offered: int
    refused: int
