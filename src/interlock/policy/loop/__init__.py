"""What next? What is decided for the system loop, and what holds it back."""
