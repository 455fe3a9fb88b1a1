"""What the bot cannot read stops nothing but itself: it is acknowledged, and the log says so once in a while."""

from __future__ import annotations

import copy

from fakes.office import FERRY, FERRY_ANSWER

LEFT_OUT = "what could not be read was left out"
SECRET = "the harbour master's birthday is in May"
#: What an event has in place of what is described.
ODDITIES = [
    {"channel": {"id": SECRET}},
    {"ts": SECRET},
    {"ts": None},
    {"text": 5},
    {"text": [SECRET]},
    {"user": {"id": SECRET}},
    {"files": [None]},
    {"files": 5},
]


async def test_events_that_cannot_be_read_are_acknowledged_and_one_line_of_the_log(
    office, slack, ann, general
):
    await office.open()
    begun = await slack.mention(ann, general, FERRY)
    await office.until_answered(begun)
    known = slack.deliveries_of(begun)[0].payload
    payloads = [copy.deepcopy(known) | {"event": known["event"] | oddity} for oddity in ODDITIES]
    payloads += [{**known, "event": event} for event in (None, [], SECRET, 7)]
    payloads += [
        {"type": "block_actions", "container": 5},
        {"type": "view_submission", "view": SECRET},
        {"type": "view_submission", "user": {"id": ann}, "view": {"callback_id": "query"}},
        {"type": "block_actions", "user": ann, "actions": SECRET, "container": {"channel_id": general}},
    ]

    for number, payload in enumerate(payloads):
        await slack.sockets.send(
            {
                "type": "events_api",
                "envelope_id": f"odd-{number}",
                "payload": payload,
                "accepts_response_payload": False,
            }
        )
    acknowledged = [f"socket: no such envelope: odd-{number}" for number in range(len(payloads))]
    await slack.until(lambda: set(acknowledged) <= set(slack.rejected))
    asked = await slack.mention(ann, general, FERRY)
    (answer,) = await office.until_answered(asked)

    assert FERRY_ANSWER in answer.visible
    assert len([entry for entry in office.faults if entry["message"] == LEFT_OUT]) == 1
    assert {entry["level"] for entry in office.faults} == {"warning"}
    assert "Traceback" not in office.log
    assert SECRET not in office.log


async def test_a_message_of_the_thread_that_cannot_be_read_is_left_out(office, slack, ann, general):
    await office.open()
    root = await slack.say(ann, general, FERRY)
    for oddity in ({"text": 5}, {"ts": None}, {"user": [], "text": {}}, {"metadata": 7}):
        odd = await slack.say(ann, general, "something odd", root.ts)
        odd.oddities = oddity

    called = await slack.mention(ann, general, "can you answer this?", root.ts)
    (answer,) = await office.until_answered(called)

    assert FERRY_ANSWER in answer.visible
    assert "Traceback" not in office.log
