"""What every call of the command line has in common: its options, its ledger, its exit code."""
