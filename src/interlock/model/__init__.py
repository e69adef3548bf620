"""The nouns: frozen values, without behaviour that needs the world."""
