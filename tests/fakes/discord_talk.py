"""What the people of a server say in a channel over days."""

from __future__ import annotations

from fakes.discord.state import TYPES

DAY = 86_400.0  # seconds


def said(fake, channel, *, without=()):
    """The text of each message of people by its link, as Discord has them: in the channel and its open threads."""
    threads = [each for each in channel.guild.threads.values() if each.parent is channel]
    places = [channel, *(each for each in threads if not each.is_private_thread)]
    return {
        link(each): opened(place, each) + each.content
        for place in places
        for each in place.messages.values()
        if not each.is_deleted and not each.author.is_bot and each.type in (0, 19)
        if each.author not in without and fake.bot.mention not in each.content
    }


async def talk(fake, channel, people, days=4):
    """Some days of talk: threads with and without answers, messages beside them, bots and notices."""
    helper, made = fake.add_user("helper", is_bot=True), []
    for day in range(days):
        fake.state.clock.ahead += DAY
        for number in range(3):
            ann, bob = people if number % 2 else reversed(people)
            root = await fake.post(ann, channel, f"What is key {day}{number}?")
            made.append(root)
            if number:
                thread = fake.open_thread(channel, f"key {day}{number}", ann, starter=root)
                made.append(await fake.post(bob, thread, f"It is value {day}{number}."))
                if day % 2:
                    fake.archive(thread)
            await fake.post(helper, channel, f"a bot says {day}{number}")
        made.append(await fake.post(people[0], channel, f"Nobody answers {day}."))
        loose = fake.open_thread(channel, f"loose {day}", people[0])
        made.append(await fake.post(people[0], loose, f"Said in a loose thread {day}."))
    hidden = fake.open_thread(channel, "hidden", people[0], kind=TYPES["private_thread"])
    fake.add_to_thread(fake.bot, hidden)
    await fake.post(people[0], hidden, "The canary of the private thread.")
    return made


def opened(place, message):
    """The name of the post that a message begins."""
    is_post = place.parent is not None and place.parent.type == TYPES["forum"]
    return f"{place.name}\n\n" if is_post and message.id == place.id else ""


def link(message):
    """As "Copy Message Link" gives it."""
    channel = message.channel
    return f"https://discord.com/channels/{channel.guild.id}/{channel.id}/{message.id}"
