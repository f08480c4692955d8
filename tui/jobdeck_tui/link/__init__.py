"""Between the deck's memory and a server: the feed, the job list, single jobs, Dask's dashboard, acts sent."""
