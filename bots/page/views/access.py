"""The readers of a collection. A change shows what it means before it is made."""

import asyncio
import hashlib
from collections.abc import Collection, Iterable, Mapping

from aiohttp import web

from bots.chat import access
from bots.chat.channels import AccessRule
from bots.chat.texts import counted
from bots.page.rights import names_in
from bots.page.site import Visit, go_to
from bots.page.templating import access_path
from bots.page.views.sources import VIEW
from bots.platforms import ids_of
from core.errors import SettingsError
from core.library.overview import collection_sizes

OFFERED = 200  # channels that have a name
# by the field in which they are typed
FIELD_KINDS = {"channels": access.CHANNEL, "people": access.PERSON, "groups": access.GROUP}
NOT_THERE = "There is no such collection, or who reads it is not yours to change."
UNCHANGED = "Nothing would change."
MEANWHILE = "Somebody changed who reads this after you opened the page. What stands below is how it is now."


@VIEW.get("/sources/access")
async def show_access(
    visit: Visit, typed: Mapping[str, str] | None = None, *, fault: str = "", status: int = 200
) -> web.Response:
    """``typed``: an editor's form, by the names of FIELD_KINDS, and what is wrong with it."""
    rules = await _rules(visit)
    name = visit.request.query.get("collection", "")
    if name not in rules:
        return visit.sorry(NOT_THERE)
    own = rules[name]
    named = [each for each in own if each.kind not in (access.EVERYONE, access.CLOSED)]
    stored = await visit.site.names.stored.channels(OFFERED)
    return visit.show(
        "access.html", status=status, title=f"Who reads {name}", name=name, action=access_path(name),
        documents=await _documents(visit, name), is_open=any(each.kind == access.EVERYONE for each in own),
        named=named, called=await names_in(visit, own),
        offered={each: called for each, called in stored.items() if each not in {one.id for one in named}},
        seen=_digest(own), typed=typed or {}, fault=fault,
    )  # fmt: skip


@VIEW.post("/sources/access")
async def change(visit: Visit) -> web.StreamResponse:
    """Change it, once somebody has seen what it means."""
    rules, name = await _rules(visit), visit.request.query.get("collection", "")
    if name not in rules or not visit.session.may_change_all:
        return visit.sorry(NOT_THERE)
    own, form = rules[name], await visit.form()
    typed = {field: form.get(field, "") for field in FIELD_KINDS}
    if form.get("seen") != _digest(own):
        return await show_access(visit, typed, fault=MEANWHILE, status=409)
    try:
        wanted = _change(own, form, await visit.chosen("keep"), await visit.chosen("open"))
        after, _ = access.changed(name, own, wanted)
        means = meaning(own, after, await _documents(visit, name), await names_in(visit, (*own, *after)))
    except SettingsError as fault:
        return await show_access(visit, typed, fault=str(fault), status=422)
    asked, back = f"Change who reads {name}?", access_path(name)
    ask = await visit.asks_first(asked, means, back=back, yes="Change it", no="Leave it as it is")
    if ask is not None:
        return ask
    channels, known = visit.site.channels.database, visit.site.library.store.collections()
    await channels.call(lambda: access.change_access(channels.database, name, wanted, known=known))
    values = {"before": access.readers(own), "after": access.readers(_listed(after))}
    await visit.record("changed who reads it", name, path=back, collections=(name,), **values)
    return go_to(back, "saved")


def _change(
    own: Iterable[AccessRule], form: Mapping[str, str], kept: Collection[str], opened: Iterable[str]
) -> access.AccessChange:
    """The change in the form; SettingsError for an invalid id. ``kept``: rules as "kind id"; ``opened``: by name."""
    fields = {kind: form.get(field, "").replace(",", " ").split() for field, kind in FIELD_KINDS.items()}
    typed = [(kind, each) for kind, parts in fields.items() for each in ids_of(kind, parts)]
    stay = [(each.kind, each.id) for each in own if f"{each.kind} {each.id}" in kept]
    chosen = [(access.CHANNEL, each) for each in opened if each.count("/") == 2]
    is_open = form.get("readers") == access.EVERYONE
    return access.AccessChange(closes=True, opens_to_everyone=is_open, opens=(*stay, *chosen, *typed))


def meaning(
    before: Iterable[AccessRule], after: Iterable[AccessRule], documents: int, called: Mapping[str, str]
) -> tuple[str, ...]:
    """Sentences about who gains and loses the documents. SettingsError where nothing changes."""
    before, after = _listed(before), _listed(after)
    was_open, is_open = (any(each.kind == access.EVERYONE for each in rules) for rules in (before, after))
    more = f"{documents:,} more document{'' if documents == 1 else 's'}"
    less = f"{counted(documents, 'document')} any more"
    sentences = []
    if is_open and not was_open:
        sentences.append(f"Everybody will read {more}, in every channel.")
    if was_open and not is_open:
        sentences.append(f"Who is not named will not read {less}.")
    gained, lost = _beside(after, before), _beside(before, after)
    now = "reads them as before" if was_open else f"will read {more}"
    still = "reads them as everybody does" if is_open else f"will not read {less}"
    sentences += [f"{_who(each, called)} {now}." for each in gained]
    sentences += [f"{_who(each, called)} {still}." for each in lost]
    if not sentences:
        raise SettingsError(UNCHANGED)
    return tuple(sentences)


def _beside(rules: Iterable[AccessRule], others: Collection[AccessRule]) -> list[AccessRule]:
    """The rules that name somebody and are not among the others."""
    return [each for each in rules if each not in others and each.kind in FIELD_KINDS.values()]


def _who(rule: AccessRule, called: Mapping[str, str]) -> str:
    """ "#help", "Ann, in direct messages,"."""
    name = called.get(rule.id, rule.id)
    if rule.kind == access.CHANNEL:
        return name
    return f"{name if rule.kind == access.PERSON else f'Who belongs to {name}'}, in direct messages,"


def _listed(rules: Iterable[AccessRule]) -> tuple[AccessRule, ...]:
    return tuple(sorted(rules, key=lambda each: (each.kind, each.id)))


def _digest(rules: Iterable[AccessRule]) -> str:
    listed = [(each.kind, each.id) for each in _listed(rules)]
    return hashlib.sha256(repr(listed).encode()).hexdigest()[:16]


async def _rules(visit: Visit) -> Mapping[str, tuple[AccessRule, ...]]:
    """The rules of the collections that the session reads."""
    channels, known = visit.site.channels.database, visit.site.library.store.collections()
    rules = await channels.call(access.access_rules, channels.database, known)
    return {name: own for name, own in rules.items() if visit.session.may_read((name,))}


async def _documents(visit: Visit, name: str) -> int:
    """The number of documents that every reader of the collection reads."""
    database = visit.site.library.store.database
    sizes = await asyncio.to_thread(collection_sizes, database, with_restricted=False)
    return next((each.documents for each in sizes if each.name == name), 0)
