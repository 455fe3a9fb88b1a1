"""Footnote in Slack: ``receive`` (payload -> turn), ``render`` (outcome -> messages), ``post``, ``serve``."""
