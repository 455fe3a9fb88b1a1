"""The operators' page: what was asked and how it was answered, read in a browser."""
