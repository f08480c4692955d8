"""HTTP: the jobs API, the operations API, their streams."""
