"""The backend over HTTP: requests, live feeds, and decoding into immutable, sanitised values."""
