"""Stores: the protocol (base.py), one SQLite file (sqlite/), and the reference in memory (reference/)."""
