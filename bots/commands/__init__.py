"""What carries out ``footnote …``: functions of ``(arguments, settings)`` that return the exit code."""
