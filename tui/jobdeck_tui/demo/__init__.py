"""The demo: real documents of this machine, reviewed by agents, through the loss of their scheduler."""
