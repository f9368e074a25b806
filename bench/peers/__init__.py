"""Peers: other memories, each in an environment of its own, spoken to in JSON lines."""
