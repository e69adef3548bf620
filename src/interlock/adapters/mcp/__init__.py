"""MCP: a proxy that judges what goes to a server, and Interlock as a server itself."""
