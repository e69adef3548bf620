"""What is sent out: webhooks, and word to people that something waits for them."""
