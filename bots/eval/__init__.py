"""`footnote eval`: a team's own questions, judged, with the report."""
