"""What lies in a Google Drive of ours, who may read it, and what its logs of changes say: the rules of the API's
documentation ("Roles and permissions", "Track changes for users and shared drives"), without the API.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

ACCOUNT = "reader@harbour.iam.gserviceaccount.com"
OWNER = "Owner@harbour.example"
EPOCH = 1_600_000_000
GOOGLE = "application/vnd.google-apps."
FOLDER, SHORTCUT, DOCUMENT = f"{GOOGLE}folder", f"{GOOGLE}shortcut", f"{GOOGLE}document"
SHARING = {"owner", "organizer", "fileOrganizer", "writer"}
OWN_LOG = ""


def user(email: str, role: str = "reader", **more: Any) -> dict[str, Any]:
    return {"id": f"u-{email.lower()}", "type": "user", "emailAddress": email, "role": role, **more}


def group(email: str) -> dict[str, Any]:
    return {"id": f"g-{email}", "type": "group", "emailAddress": email, "role": "reader"}


def domain(name: str) -> dict[str, Any]:
    return {"id": f"d-{name}", "type": "domain", "domain": name, "role": "reader"}


ANYONE = {"id": "anyoneWithLink", "type": "anyone", "role": "reader"}


@dataclass
class Node:
    """A file, a folder or a shortcut; the top of a shared drive is a folder with the drive's own id."""

    id: str
    name: str
    mime: str
    parent: str = ""
    drive: str = ""
    content: bytes = b""
    exports: dict[str, bytes] = field(default_factory=dict)  #: by format, of a document of Google's
    permissions: dict[str, dict[str, Any]] = field(default_factory=dict)  #: its own, by id
    is_trashed: bool = False
    is_locked: bool = False  #: may not be downloaded
    is_limited: bool = False  #: does not inherit permissions
    target: str = ""
    at: int = EPOCH
    version: int = 1


class DriveWorld:
    """My Drive of somebody who shares with an account, and shared drives."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.logs: dict[str, list[str]] = defaultdict(list)  #: ids as they changed, by shared drive
        self.oldest: dict[str, int] = defaultdict(int)  #: the first change that a log still has
        self.now = EPOCH
        self._number = 0
        self._shown: set[str] = set()

    # Changing it

    def add(self, name: str, parent: str = "", *, mime: str = DOCUMENT, text: str = "", **more: Any) -> str:
        self._number += 1
        above = self.nodes.get(parent)
        node = Node(id=f"of-harbour-{self._number:04d}", name=name, mime=mime, parent=parent, **more)
        node.drive = above.drive if above else ""
        if not node.drive and (above is None or not parent):
            node.permissions["u-owner"] = user(OWNER, "owner")
        self.nodes[node.id] = node
        self._fill(node, text)
        self.touch(node.id)
        return node.id

    def folder(self, name: str, parent: str = "") -> str:
        return self.add(name, parent, mime=FOLDER)

    def shared_drive(self, name: str, *members: dict[str, Any]) -> str:
        """A shared drive with these members; the account is one."""
        self._number += 1
        drive = f"{self._number:04d}-drive-PVA"
        top = Node(id=drive, name=name, mime=FOLDER, drive=drive)
        for member in (user(ACCOUNT), *members):
            top.permissions[member["id"]] = member
        self.nodes[drive] = top
        self.touch(drive)
        return drive

    def _fill(self, node: Node, text: str) -> None:
        self.now += 1
        node.at = self.now
        if node.mime == DOCUMENT:
            node.exports["text/markdown"] = f"# {node.name}\n\n{text}\n".encode()
        elif not node.mime.startswith(GOOGLE):
            node.content = text.encode()

    def write(self, id: str, text: str) -> None:
        self._fill(self.nodes[id], text)
        self.touch(id)

    def rename(self, id: str, name: str) -> None:
        self.nodes[id].name = name
        self.touch(id)

    def move(self, id: str, parent: str) -> None:
        """With all that lies in it, into another shared drive too."""
        node, above = self.nodes[id], self.nodes.get(parent)
        node.parent = parent
        drive = above.drive if above else ""
        for each in (node, *self.within(id)) if drive != node.drive else (node,):
            self.touch(each.id)  # in the log that it leaves
            each.drive = drive
            self.touch(each.id)

    def trash(self, id: str, *, is_trashed: bool = True) -> None:
        self.nodes[id].is_trashed = is_trashed
        self.touch(id)

    def delete(self, id: str) -> None:
        """For good, with all that lies in it; the log tells of the folder alone."""
        self.touch(id)
        for each in [*self.within(id), self.nodes[id]]:
            del self.nodes[each.id]

    def share(self, id: str, permission: dict[str, Any]) -> None:
        self._permit(id, lambda own: own.update({permission["id"]: permission}))

    def unshare(self, id: str, permission: str) -> None:
        self._permit(id, lambda own: own.pop(permission, None))

    def _permit(self, id: str, change: Any) -> None:
        """My Drive gives what lies in a folder its permissions; in a shared drive they follow from the folder."""
        before = {each.id for each in self.nodes.values() if self.may_see(each)}
        change(self.nodes[id].permissions)
        self._shown |= before
        self.touch(id)
        if not self.nodes[id].drive:
            for each in self.within(id):
                self.touch(each.id)

    def touch(self, id: str) -> None:
        node = self.nodes[id]
        node.version += 1
        if self.may_see(node):
            self._shown.add(id)
        if id in self._shown:
            logs = {self.log_of(node)} | ({OWN_LOG} if node.id == node.drive else set())
            for log in logs:
                self.logs[log].append(id)

    # What follows

    def within(self, id: str) -> Iterator[Node]:
        for each in [each for each in self.nodes.values() if each.parent == id]:
            yield each
            yield from self.within(each.id)

    def permissions(self, node: Node) -> dict[str, dict[str, Any]]:
        """With those that it inherits."""
        above = self.nodes.get(node.parent)
        inherited = self.permissions(above) if above is not None and not node.is_limited else {}
        return {**inherited, **node.permissions}

    def is_in_trash(self, node: Node) -> bool:
        above = self.nodes.get(node.parent)
        return node.is_trashed or (above is not None and self.is_in_trash(above))

    def may_see(self, node: Node) -> bool:
        return f"u-{ACCOUNT}" in self.permissions(node)

    def may_share(self, node: Node) -> bool:
        return self.permissions(node).get(f"u-{ACCOUNT}", {}).get("role") in SHARING

    def is_member(self, drive: str) -> bool:
        return drive in self.nodes and f"u-{ACCOUNT}" in self.nodes[drive].permissions

    def log_of(self, node: Node) -> str:
        return node.drive if self.is_member(node.drive) else OWN_LOG

    def json(self, node: Node) -> dict[str, Any]:
        """As a ``File``, with all fields that we use."""
        above = self.nodes.get(node.parent)
        stamp = datetime.fromtimestamp(node.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        given: dict[str, Any] = {
            "kind": "drive#file", "id": node.id, "name": node.name, "mimeType": node.mime,
            "version": str(node.version), "modifiedTime": stamp, "trashed": self.is_in_trash(node),
            "capabilities": {"canDownload": not node.is_locked, "canShare": self.may_share(node)},
            "webViewLink": f"https://docs.google.com/open?id={node.id}",
        }  # fmt: skip
        if above is not None and self.may_see(above):
            given["parents"] = [above.id]
        if node.target:
            given["shortcutDetails"] = {"targetId": node.target, "targetMimeType": DOCUMENT}
        if not node.mime.startswith(GOOGLE):
            given["md5Checksum"] = hashlib.md5(node.content, usedforsecurity=False).hexdigest()
            given["size"] = str(len(node.content))
        if node.drive:
            given |= {"driveId": node.drive, "hasAugmentedPermissions": bool(node.permissions)}
            given["inheritedPermissionsDisabled"] = node.is_limited
        else:
            given["owners"] = [{"emailAddress": OWNER}]
            if self.may_share(node):
                given["permissions"] = list(self.permissions(node).values())
        return given

    # What must be in the index

    def live(self, root: str) -> set[str]:
        """The documents that a source has, found by going through all folders and shortcuts."""
        found: set[str] = set()
        waiting = [root]
        while waiting:
            node = self.nodes.get(waiting.pop())
            if node is None or node.id in found or not self.may_see(node) or self.is_in_trash(node):
                continue
            found.add(node.id)
            if node.mime == FOLDER:
                waiting += [each.id for each in self.nodes.values() if each.parent == node.id]
            waiting += [node.target] if node.target else []
        return found

    def all_live(self) -> set[str]:
        nodes = self.nodes.values()
        return {each.id for each in nodes if self.may_see(each) and not self.is_in_trash(each)}

    def hashes(self, root: str = "") -> dict[str, str]:
        """SHA-256 of each document as it is exported, by id; of all that the account sees without a root."""
        live = self.live(root) if root else self.all_live()
        nodes = map(self.nodes.__getitem__, live)
        return {
            each.id: hashlib.sha256(each.exports.get("text/markdown", each.content)).hexdigest()
            for each in nodes
            if (each.exports or each.content) and not each.mime.startswith("image/")
        }

    def readers(self, root: str = "") -> dict[str, frozenset[str] | None]:
        """Who may read each, as far as addresses and domains say."""
        return {each: self._readers(self.nodes[each]) for each in self.hashes(root)}

    def _readers(self, node: Node) -> frozenset[str] | None:
        if not node.drive and not self.may_share(node):
            return frozenset({OWNER.lower()})
        given = [each for each in self.permissions(node).values() if not each.get("deleted")]
        if any(each["type"] == "anyone" for each in given):
            return None
        people = {each["emailAddress"].lower() for each in given if each["type"] == "user"}
        return frozenset(people | {f"@{each['domain']}" for each in given if each["type"] == "domain"})
