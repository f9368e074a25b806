"""Servers: the operations of the service over HTTP and MCP, with tokens, limits and events, and the web page."""
