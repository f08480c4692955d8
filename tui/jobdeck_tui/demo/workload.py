"""What the demo asks for: one review a document, each with a deadline, and a portfolio that waits for all."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from jobdeck_tui.client.api import Api
from jobdeck_tui.demo.documents import Document
from jobdeck_tui.text.format import plural

REVIEW, PORTFOLIO = "contract_review", "portfolio"
PORTFOLIO_ID = "portfolio"
# The nearest deadline is safely met by two slots; each document has a little longer than the one before.
FIRST_DEADLINE_S, DEADLINE_STEP_S = 60.0, 5.0
BACKEND_OPTIONS = ("--max-running-async-jobs", "2", "--dask-threads-per-worker", "2")


@dataclass(frozen=True)
class Workload:
    """The ids of what was submitted."""

    reviews: tuple[str, ...]
    portfolio: str = PORTFOLIO_ID


async def submit(api: Api, documents: Sequence[Document]) -> Workload:
    """Submit everything. Raises ``ClientError``."""
    reviews = []
    for number, document in enumerate(documents):
        slug = re.sub(r"[^a-z0-9]+", "-", document.title.lower()).strip("-")
        answer = await api.submit(
            {
                "agent_type": REVIEW,
                "job_id": f"{number + 1:02}-{slug}"[:64],
                "input": json.dumps({"title": document.title, "text": document.text}),
                "deadline_seconds": FIRST_DEADLINE_S + DEADLINE_STEP_S * number,
            }
        )
        reviews.append(answer.job_id)
    await api.submit(
        {
            "agent_type": PORTFOLIO,
            "job_id": PORTFOLIO_ID,
            "input": f"Licences of {plural(len(documents), 'document')} found on this machine",
            "after": reviews,
            "deadline_seconds": FIRST_DEADLINE_S + DEADLINE_STEP_S * (len(documents) + 6),
        }
    )
    return Workload(tuple(reviews))
