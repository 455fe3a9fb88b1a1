"""What people asked and did not get answered, grouped by meaning."""
