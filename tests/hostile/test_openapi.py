"""The whole OpenAPI document tried with made-up requests: no server error, and only what is documented."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starting_backends import StartBackend

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 3
# It never ends; its frames have tests of their own.
ENDLESS = {"/v1/ops/events/stream"}


def conforms(operation: Any, mode: GenerationMode) -> None:
    """Try one operation with requests that keep to its schema, or with such that break it."""

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(mode))
    def ask(case: schemathesis.Case) -> None:
        case.validate_response(case.call(timeout=20), checks=CHECKS)

    ask()


@pytest.mark.timeout(180)
def test_no_made_up_request_finds_a_server_error_or_an_undocumented_answer(
    start_backend: StartBackend,
) -> None:
    backend = start_backend("--no-drills")
    schema = schemathesis.openapi.from_url(f"{backend.url}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    tried = [one for one in operations if one.path not in ENDLESS]
    assert len(tried) > 30
    for operation in tried:
        conforms(operation, GenerationMode.POSITIVE)
        # Any word is an id: with nothing but ids there is nothing to break, and a long search for it.
        if operation.query or operation.body:
            conforms(operation, GenerationMode.NEGATIVE)
