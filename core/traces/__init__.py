"""Records of what became of each question, and how the graph came to it."""
