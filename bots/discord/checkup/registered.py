"""Whether Discord was told of the commands as they are now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bots.discord.checkup.asking import PATIENCE, Asking, Refused, Silent
from bots.discord.commands import COMMANDS, Command
from bots.doctor.findings import Finding, failed, ok, skipped, warning

REGISTERED = "Discord commands"
SYNC = "`footnote manifest discord --sync`"

#: What a field means where it is left out, "Application Command Structure" and "Option Structure".
#: Fields that are not here say nothing of what people see.
_COMMAND: Mapping[str, Any] = {
    "type": 1, "name": "", "description": "", "default_member_permissions": None, "nsfw": False,
}  # fmt: skip
_OPTION: Mapping[str, Any] = {
    "type": 0, "name": "", "description": "", "required": False, "max_length": None, "min_length": None,
    "autocomplete": False,
}  # fmt: skip


async def of_commands(asking: Asking, application_id: str) -> list[Finding]:
    try:
        registered = await asking.get(f"/applications/{application_id}/commands")
    except Refused as refused:
        return [skipped(REGISTERED, f"Discord does not tell which are registered: {refused}.")]
    except Silent:
        return [skipped(REGISTERED, f"Discord did not tell within {PATIENCE:g} s which are registered.")]
    return list(compare(registered))


def compare(registered: Sequence[Command]) -> Iterator[Finding]:
    """What is registered, beside what is used."""
    known, used = ({_key(each): shape(each) for each in those} for those in (registered, COMMANDS))
    missing = [name for kind, name in used if (kind, name) not in known]
    changed = [key[1] for key in used if key in known and known[key] != used[key]]
    if missing:
        yield failed(REGISTERED, f"Not registered: {', '.join(missing)}.", SYNC)
    if changed:
        yield failed(REGISTERED, f"Registered otherwise than they are: {', '.join(changed)}.", SYNC)
    if not missing and not changed:
        yield ok(REGISTERED, f"All {len(used)} are registered.")
    if more := [name for kind, name in known if (kind, name) not in used]:
        yield warning(
            REGISTERED, f"Registered, but not Footnote's: {', '.join(more)}.", f"{SYNC} takes them away."
        )


def shape(command: Command) -> Mapping[str, Any]:
    """All that decides what a command is, defaults included."""
    options = [
        {name: given.get(name, default) for name, default in _OPTION.items()}
        | {"choices": [(choice["name"], choice["value"]) for choice in given.get("choices") or ()]}
        for given in command.get("options") or ()
    ]
    whole = {name: command.get(name, default) for name, default in _COMMAND.items()}
    return whole | {"contexts": sorted(command.get("contexts") or ()), "options": options}


def _key(command: Command) -> tuple[int, str]:
    """A name is taken once for each type."""
    return command.get("type", 1), command["name"]
