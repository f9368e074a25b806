"""Servers: the operations of the service over HTTP and MCP, and the web page."""
