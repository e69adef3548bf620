"""The policy file: TOML in, one compiled policy out."""
