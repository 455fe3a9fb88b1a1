"""The way from the reasoner's steps to a chat model: providers, calls, faults and replies."""
