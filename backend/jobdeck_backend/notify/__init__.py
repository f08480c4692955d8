"""Telling callers how their jobs ended."""
