"""``python -m bots`` is ``footnote``."""

from bots.cli import main

raise SystemExit(main())
