"""Recall: from a query to explained results, by query readers, cues, a fusion and stages."""
