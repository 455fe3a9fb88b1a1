"""A mention that an edit adds: whoever was not answered before is answered now, alike in Slack and in Discord."""

from __future__ import annotations

import shutil

import pytest
from fakes.served import CUP, FERRY, PONTOON, PONTOON_ANSWER
from fakes.stages import BeginChat, in_discord, in_slack


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_what_the_bot_kept_silent_about_is_answered_once_an_edit_calls_it(
    begin: BeginChat, template, tmp_path
):
    shutil.copytree(template, tmp_path / "home")
    async with begin(tmp_path / "home", {}) as stage:
        await stage.command("follow thread")
        await stage.ask(FERRY)
        said = await stage.remark(stage.bob, CUP)
        await stage.remark(stage.bob, PONTOON)
        first = await stage.until_answered()
        for _ in range(2):
            await stage.call_by_edit(said, PONTOON)
        answer = await stage.until_answered()
        await stage.ask(FERRY)

    assert PONTOON_ANSWER in first
    assert PONTOON_ANSWER in answer
    assert stage.seen == 4
