"""The work of a run, saved: by git on a hidden ref, or by a command of the user's own."""
