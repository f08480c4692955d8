"""A database that is taken away while jobdeck runs: said, refused, nothing promised, and mended by its return."""

from running_backend import wait_until


def test_a_database_taken_away_is_said_and_accepts_nothing_until_it_is_back(start_backend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    before = backend.submit({"name": "only", "seconds": 0})
    backend.wait_for(before, "success")
    path, aside = backend.state_dir / "jobdeck.db", backend.state_dir / "aside.db"
    path.rename(aside)
    submit = {"agent_type": "probe", "input": "{}", "job_id": "lost"}
    refused = backend.http.post("/v1/jobs/async/submit", json=submit)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "removed or replaced" in refused.json()["detail"]
    assert backend.http.get("/health").status_code == 503
    listing = backend.http.get("/v1/ops/jobs")
    assert (listing.status_code, listing.json()["detail"]["code"]) == (503, "unavailable")
    assert backend.http.get(f"/v1/jobs/async/job/{before}").status_code == 503
    assert not path.exists(), "no empty database is made in its place"
    aside.rename(path)
    wait_until(lambda: backend.http.get("/health").status_code == 200, what="the database is usable again")
    after = backend.submit({"name": "only", "seconds": 0})
    backend.wait_for(after, "success")
    assert backend.http.get("/v1/jobs/async/job/lost").status_code == 404
