"""Jeffs Brain: a query language, a retry ladder, rank fusion, intent and reranking."""
