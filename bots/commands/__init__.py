"""The commands of ``footnote …``: functions of ``(arguments, settings)``, asynchronous or not, that return the exit code."""
