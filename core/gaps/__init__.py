"""Questions that were not answered, grouped by meaning."""
