"""The clock and the events: what starts the system loop, and what it sets going."""
