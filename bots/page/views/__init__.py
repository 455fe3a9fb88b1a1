"""The views of the page: each is a :class:`View` of a module, with a template beside it."""

import bots.page.views.access
import bots.page.views.drafts  # noqa: F401 - a part of the view of answers
from bots.page.views.answers import VIEW as ANSWERS
from bots.page.views.ask import VIEW as ASK
from bots.page.views.changes import CHANGES, SESSIONS
from bots.page.views.feedback import VIEW as FEEDBACK
from bots.page.views.gaps import VIEW as GAPS
from bots.page.views.overview import OVERVIEW, SPEND
from bots.page.views.questions import VIEW as QUESTIONS
from bots.page.views.sources import VIEW as SOURCES

#: In the order of the menu.
VIEWS = (OVERVIEW, ASK, QUESTIONS, FEEDBACK, GAPS, ANSWERS, SOURCES, SPEND, CHANGES, SESSIONS)
