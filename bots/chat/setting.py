"""What the layout of an outcome depends on beside the outcome itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from bots.chat.texts import clipped
from core.settings import WebApproval
from core.values import value


@value
class Setting:
    """Of one installation, and of the people who have to do with a proposal."""

    engine: str = "the web"  #: the search engine, as people know it
    approval: WebApproval = "asker"
    has_approvers: bool = False  #: whether others than the asker may decide
    can_retry: bool = False  #: whether a turn that failed can be begun anew by a press
    names: Mapping[str, str] = field(default_factory=dict)  #: what people are called, by user id

    def name(self, user: str) -> str:
        return clipped(self.names.get(user, user))
