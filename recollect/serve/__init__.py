"""The HTTP server: the operations of the service under /v1, with tokens, limits, events, metrics and the page."""
