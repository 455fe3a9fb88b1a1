"""What stands between the reasoner's steps and a chat model: providers, calls, faults and replies."""
