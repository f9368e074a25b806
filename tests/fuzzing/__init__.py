"""Inputs from atheris for everything that reads what others wrote; see __main__.py."""
