"""The terminal as a platform: a conversation typed at a prompt, or read from a pipe."""
