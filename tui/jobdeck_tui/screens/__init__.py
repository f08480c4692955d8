"""The deck's screens, one file each."""
