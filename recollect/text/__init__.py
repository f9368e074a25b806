"""Text into terms: the same words for every store and every recipe."""
