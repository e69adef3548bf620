"""Requests and answers as they travel: bodies, JSON, what is told of failures."""
