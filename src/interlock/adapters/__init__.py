"""The doors for agents: each translates in and out, and decides nothing."""
