"""Ingest: the writer, near-duplicates, folders of Markdown, and imports."""
