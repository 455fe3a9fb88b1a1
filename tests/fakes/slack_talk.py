"""What the people of an office say in a channel over days."""

from __future__ import annotations

DAY = 86_400.0  # seconds


def said(slack, channel, *, without=()):
    """The text of each message of people by its permalink, as Slack has them."""
    messages = slack.state.conversations[channel].messages.values()
    return {
        link(slack, each): each.text
        for each in messages
        if not each.is_deleted and not each.bot_id and each.subtype in ("", "thread_broadcast")
        if each.user not in without and f"<@{slack.bot}>" not in each.text
    }


async def talk(slack, channel, people, days=6):
    """Some days of talk: threads with and without answers, messages beside them, bots and notices."""
    helper, made = slack.add_bot("helper"), []
    slack.state.conversations[channel].members.append(helper)
    for day in range(days):
        slack.state.clock.ahead += DAY
        for number in range(3):
            ann, ben = people if number % 2 else reversed(people)
            root = await slack.say(ann, channel, f"What is key {day}{number}?")
            made.append(root)
            if number:
                made.append(await slack.say(ben, channel, f"It is value {day}{number}.", root.ts))
            await slack.bot_says(channel, f"a bot says {day}{number}", bot=helper)
        alone = await slack.say(people[0], channel, f"Nobody answers {day}.")
        await slack.bot_says(channel, "as if", alone.ts, bot=helper)
        made.append(alone)
    await slack.join(slack.add_user("cora"), channel)
    return made


def link(slack, message):
    """As "chat.getPermalink" documents it."""
    url = f"{slack.url}/archives/{message.channel}/p{message.ts.replace('.', '')}"
    return f"{url}?thread_ts={message.thread_ts}&cid={message.channel}" if message.thread_ts else url
