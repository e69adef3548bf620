"""Is it really done? What an agent's last message says about that, and what follows."""
