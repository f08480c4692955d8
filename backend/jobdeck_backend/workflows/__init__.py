"""What jobs run: graphs, their registry, their context."""
