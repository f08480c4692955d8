"""jobdeck's deck: the terminal program and the command line. Knows the backend by HTTP only."""
