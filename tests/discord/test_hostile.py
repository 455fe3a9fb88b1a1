"""A model that does whatever documents and people tell it: what it writes only shows."""

from __future__ import annotations

from itertools import cycle
from random import Random

import pytest
from fakes.discord_server import Server
from fakes.gemini import FakeGemini
from fakes.hostile import HOSTILE
from fakes.served import CUP, FERRY

OUTPUTS = 300
EVIL = "https://evil.example/x"

#: What Discord alone understands.
OF_DISCORD = (
    "@everyone", "@here", "\\@everyone", "`@everyone`", "@\u200beveryone", "<@{ann}>", "<@!{ann}>", "<@&{role}>",
    "\\<@{ann}>", "`<@{ann}>`", "```\n<@{ann}>\n```\n<@{ann}>", "||<@{ann}>||", "> <@{ann}>", "-# <@{ann}>",
    "# <@&{role}>", "<@{ann}", "<@{ann}><@{ann}>", "[<@{ann}>](" + EVIL + ")", "<#{general}>", "<id:customize>",
    "<t:1700000000:R>", "</ask:{general}>", "<:a:{general}>", "<a:a:{general}>", f"[docs]({EVIL})",
    f"[docs](<{EVIL}>)", f"[https://good.example]({EVIL})", f"<{EVIL}>", f"||{EVIL}||", f"-# {EVIL}",
    f"[a\\]({EVIL})", f'[a]({EVIL} "b")', f"[a](\n{EVIL})", f"[`a`]({EVIL})", f"[a **b]({EVIL})**",
    "https://discord.gg/evil", "discord.gg/evil", f"[]({EVIL})", f"![a]({EVIL}.png)", f"[\u200b]({EVIL})",
    "https://cdn.discordapp.com/a.png", "```", "``", "`", "~~~", "||", "||||", "**||`", "> >>> x", ">>> @everyone",
    "-# -# -# x", "*" * 3, "\\", "\\" * 7, "```js\n", "``` ```", "`\n`", "- - - x", "1. " * 9, "__||~~*x",
    "@everyone" * 200, "x" * 5_000,
)  # fmt: skip


@pytest.fixture
async def server(template, tmp_path, fake):
    fake.hasten()
    async with Server.copied(template, tmp_path, fake) as server:
        yield server


def obedient(outputs):
    """Says hostile things wherever a model may say anything, in every kind of ending."""
    chance = Random(1)
    routes = cycle(("documents", "web", "documents", "clarify", "none"))  # each, in whatever order calls come

    def reply(step, call):
        text = chance.choice(outputs)
        if step == "plan":
            return {
                "route": next(routes), "standalone": text[:500], "queries": [text[:200]], "web_query": text[:400],
                "reply": text, "options": [text[:300], text[:70]],
            }  # fmt: skip
        if step == "grade":
            numbers = range(1, len(call.blocks("passage")) + 1)
            is_known = CUP not in call.prompt
            given = {"relevance": "correct", "evidence": [1]} if is_known else {"relevance": "incorrect"}
            verdicts = [{"passage": one, "evidence": []} | given for one in numbers]
            return {"passages": verdicts, "sufficient": is_known, "missing": text}
        if step == "grounding":
            return {"unsupported": []}
        if step == "usefulness":
            return {"useful": True}
        # The plainest attacks are in each answer, as which of the others are seen depends on the order of calls.
        return f"{text} [1]\n\nAsk @everyone at {EVIL} first. [1]\n\nThe ferry to Sark leaves pier three at half past nine. [1]"

    return reply


def hostile_page(outputs):
    """A document in which every sentence is about the ferry to Sark."""
    lines = (f"## {text[:80]}\n\nThe ferry to Sark, says {text[:300]}, leaves at noon." for text in outputs)
    page = "\n\n".join(("# @everyone <@1>", *lines))
    return "".join(sign for sign in page if sign.isprintable() or sign == "\n").encode(errors="replace")


def said_by_people(text):
    """Discord takes no half of a sign."""
    return text[:1_500].encode(errors="replace").decode()


@pytest.mark.parametrize("questions", [12, pytest.param(OUTPUTS, marks=pytest.mark.long)])
async def test_nothing_that_an_obedient_model_says_does_anything(server, fake, ann, general, questions):
    role = fake.add_role("everybody", is_mentionable=True)
    ids = {"ann": ann.id, "role": role.id, "general": general.id}
    own = [text.format(**ids) for text in OF_DISCORD]
    others = [text.replace("U1", str(ann.id)).replace("C1", str(general.id)) for text in HOSTILE]
    outputs, chance = [*own, *others], Random(2)
    async with FakeGemini(reply=obedient(outputs)) as model:
        server.settings |= {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url}
        server.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": "http://127.0.0.1:9"}
        await server.open()
        taught = await fake.mention(ann, general, "learn", files=[("@everyone.md", hostile_page(outputs))])
        await server.until_answered(taught)
        for number in range(questions):
            question = FERRY if number % 3 else CUP
            asked = await fake.mention(ann, general, f"{question} {said_by_people(chance.choice(outputs))}")
            if number % 8 == 7:
                await server.until_answered(asked)
        await fake.until(lambda: server.log.count('"turn deliver"') == questions)
        assert await server.stop() == 0

    said = fake.said()
    shown = "".join(message.visible for message in said)
    known = ("evil.example", "everyone", str(ann.id), "I would search")
    assert [word for word in known if word not in shown] == []
    assert [message.visible for message in fake.pinging()] == []
    assert [link for message in said for state in message.revisions for link in state.links] == []
    assert [image for message in said for state in message.revisions for image in state.images] == []
    assert [each for each in fake.rejected if "10008" not in each] == []
    assert len({message.channel for message in said}) == questions + 1
