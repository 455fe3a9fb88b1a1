"""The commands of ``footnote …``: functions of ``(arguments, settings)`` that return the exit code."""
