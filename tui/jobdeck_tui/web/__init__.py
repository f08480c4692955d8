"""The deck in a browser: the same program, one process for each page, served on this machine only."""
