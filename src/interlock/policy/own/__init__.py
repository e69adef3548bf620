"""What Interlock itself is made of, and which commands touch it."""
