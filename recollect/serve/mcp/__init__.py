"""The MCP server: the operations of the service as tools, memories as resources, and how clients are set up."""
