"""One file a graph."""
