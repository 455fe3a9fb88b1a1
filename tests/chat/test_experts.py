"""Whom the bot asks, and whose replies it keeps."""

from dataclasses import replace

from bots.chat.access import experts_for, trusted_in
from core.conversation import Conversation

HELP = Conversation(platform="test", space="s", channel="help", thread="1")


def test_experts_are_those_of_the_channel_else_of_what_it_reads_else_the_general_ones():
    experts = {"": ("U1",), "handbook": ("S2",), "C9": ("U3", "U4")}
    here = replace(HELP, channel="C9")

    assert experts_for(experts, here, {"handbook"}) == ("U3", "U4")
    assert experts_for(experts, HELP, {"handbook", "default"}) == ("S2",)
    assert experts_for(experts, HELP, {"default"}) == ("U1",)
    assert trusted_in(experts, here, ()) == ("U3", "U4", "U1")
    assert experts_for({}, HELP, {"default"}) == ()
