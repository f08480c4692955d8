"""What a ``World`` tells of the server itself: what is kept, and when jobs would be done."""

from .world_of_a_job import Json, Text


def storage(text: Text) -> Json:
    """What is kept, on a disk that is nearly full."""
    kinds = ("jobs", "events", "checkpoints", "checkpoint_writes", "artifacts")
    prunable = {"jobs": 4, "events": 40, "removed": {}, "freed_bytes": 0}
    return {
        "state": {"state": "low", "reason": text("the disk is nearly full")},
        "kinds": {name: {"rows": 10, "bytes": 4096} for name in kinds},
        "space": {"database_bytes": 9, "free_bytes": 1, "log_bytes": 2, "disk_free_bytes": 3},
        "unfinished": 6,
        "retention_seconds": None,
        "prunable": {"state": text("none"), "error": text("locked"), **prunable},
    }


def forecast(text: Text, count: int, finish: str) -> Json:
    """When jobs would be done: ``finish``, those of each workflow."""
    workflows = [
        {
            "workflow": text("contract_review"),
            "predicted_finish": finish,
            "service_time": {"p50": 2.0, "p95": 9.0, "n": 12},
        }
        for _ in range(max(2, count))
    ]
    return {"drain_seconds": 95.0, "unfinished": 6, "stuck": count, "slots": 4, "workflows": workflows}
