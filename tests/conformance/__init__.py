"""The conformance suite: what every store must do, tried through the store protocol alone."""
