"""One module per kind of file. Each turns bytes or text into a Document of blocks.

A parser knows neither the file's name nor its size; :mod:`core.library.formats.read` does. It
leaves ``title`` empty when the document does not name itself.
"""
