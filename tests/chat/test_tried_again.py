"""Who is the asker of a turn that is tried again."""

from __future__ import annotations

from dataclasses import replace

from fakes.scripted import decision, question

from bots.chat.replies import tried_again
from core.conversation import Attachment
from core.graph.approval import may_allow_reading

LEASE = Attachment(id="F1", name="lease.md", url="", media_type="text/markdown", size=9)


def test_whoever_presses_asks_anew():
    again = tried_again(question(), "bob")

    assert (again.id, again.author) == ("q1~2", "bob")
    assert tried_again(replace(decision("p1"), author="ann"), "bob").author == "bob"


def test_a_colleague_who_presses_may_not_let_the_askers_files_be_read():
    asked = replace(question(), author="ann", attachments=(LEASE,))

    again = tried_again(asked, "bob")

    assert (again.id, again.author) == ("q1~2", "ann")
    assert not may_allow_reading(again, "bob", (), approval="asker", approvers=())
    assert may_allow_reading(again, "ann", (), approval="asker", approvers=())
