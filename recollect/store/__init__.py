"""Where memories live. ``base`` is the protocol; each folder beside it is a house that keeps it."""
