"""What a server tells whoever runs it: counts, traces and logs."""
