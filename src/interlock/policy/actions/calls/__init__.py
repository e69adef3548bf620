"""What a tool call carries: what names say, and the search through the parameters."""
