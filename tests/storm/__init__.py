"""Seeded fault runs: a real backend, its cluster and its readers under a storm of faults, then held to account."""
