"""``python -m recollect``: the command line."""

from recollect.cli.app import main

main()
