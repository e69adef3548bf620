"""What programs can ask over HTTP, one module per resource."""
