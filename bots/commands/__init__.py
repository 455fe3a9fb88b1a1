"""What can be typed after ``footnote``: one module each, with ``run(arguments, settings)`` -> exit code."""
