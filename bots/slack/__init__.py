"""Footnote in Slack: ``read`` (payload -> turn), ``write`` (outcome -> messages), ``serve``."""
