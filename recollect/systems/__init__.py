"""The described memory systems: one folder for each, with its recipe and everything that only it uses."""
