"""Any command as a governed run: it is watched, frozen, ended and confined from outside."""
