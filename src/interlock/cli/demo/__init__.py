"""Agents that only play: what `interlock serve --demo` shows."""
