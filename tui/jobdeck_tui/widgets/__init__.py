"""The deck's own widgets: each draws plain cells, never markup, and never trusts its text twice."""
