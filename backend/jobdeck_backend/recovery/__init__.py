"""After a loss: read, plan, apply; and the drills that rehearse it."""
