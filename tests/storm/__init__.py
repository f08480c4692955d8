"""Seeded fault runs: a real backend, its cluster and its readers under a storm of faults, then held to account."""

import sys
from pathlib import Path

# Tests find each other's helpers as pytest has them: by their own names.
sys.path.insert(0, str(Path(__file__).parent.parent))
