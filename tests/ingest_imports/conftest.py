"""Commands in a terminal, as the tests of the command line run them."""

from tests.cli.conftest import recollect

__all__ = ["recollect"]
