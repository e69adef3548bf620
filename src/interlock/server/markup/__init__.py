"""HTML that needs no template engine: text made harmless, and what is shown on paper as well."""
