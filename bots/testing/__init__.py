"""`footnote test`: questions with what must hold of their answers, asked again and judged."""
