"""The verbs, and the only writers of jobs and their events."""
