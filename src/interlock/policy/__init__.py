"""Deciding: pure functions of an input, the facts and the policy."""
