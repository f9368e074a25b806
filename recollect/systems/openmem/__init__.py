"""OpenMem: recall by words, spreading activation and competition, without vectors."""
