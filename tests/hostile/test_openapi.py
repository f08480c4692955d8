"""The whole OpenAPI document tried with made-up requests: no server error, and only what is documented."""

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from starting_backends import StartBackend

EXAMPLES = 3
# It never ends; its frames have tests of their own.
ENDLESS = {"/v1/ops/events/stream"}


def conforms(operation: Any, mode: Any, checks: list[Any]) -> None:
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
    def ask(case: Any) -> None:
        case.validate_response(case.call(timeout=20), checks=checks)

    ask()


@pytest.mark.timeout(180)
def test_no_made_up_request_finds_a_server_error_or_an_undocumented_answer(
    start_backend: StartBackend,
) -> None:
    # Imported here: a second of CPU, which would be spent in every process that collects tests.
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    conformance = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    backend = start_backend("--no-drills")
    schema = schemathesis.openapi.from_url(f"{backend.url}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    tried = [one for one in operations if one.path not in ENDLESS]
    assert len(tried) > 30
    for operation in tried:
        conforms(operation, schemathesis.GenerationMode.POSITIVE, conformance)
        # Any word is an id: with nothing but ids there is nothing to break, and a long search for it.
        if operation.query or operation.body:
            conforms(operation, schemathesis.GenerationMode.NEGATIVE, conformance)
