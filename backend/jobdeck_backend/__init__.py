"""jobdeck's backend: accepts agent jobs, schedules them on Dask, keeps their records, recovers them."""

__version__ = "0.1.0"
