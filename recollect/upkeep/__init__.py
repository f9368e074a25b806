"""Maintenance: consolidation, health checks and repair, Markdown export."""
