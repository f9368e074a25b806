"""OpenClaw memory search: the recipe, and Workspace with its tools over a folder of Markdown."""
