"""The checkpoints of one turn: read once, and written rarely.

One is written where a kill would cost more than thinking again, and at the end.

LangGraph has a checkpoint stored after each node, and what the node returned once more before it. A turn is in
the durable queue already, so most of that would be written for nothing.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint import base
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple

from core.graph.state import State

TASK_RESULT = "__return__"  # where LangGraph stores what a function returned that is a ``task``


#: What a checkpoint is stored with.
Entry = tuple[RunnableConfig, Checkpoint, CheckpointMetadata]


class Checkpoints(base.BaseCheckpointSaver[str]):
    """The part of the savers of both databases that LangGraph lacks. A checkpoint that cannot be read is StoreTrouble."""

    @abstractmethod
    async def put_last(self, entry: Entry, new_versions: ChannelVersions, /) -> None:
        """Store the checkpoint with which a turn ends, delete the others of its thread, and wait for the disk."""

    @abstractmethod
    async def forget(self, thread: str) -> None:
        """Delete a thread."""

    @abstractmethod
    async def threads(self) -> tuple[str, ...]:
        """Ids of all conversations that are remembered."""


class TurnCheckpoints(base.BaseCheckpointSaver[str]):
    """The checkpoints of one turn in LangGraph's saver. The turn must hold the conversation meanwhile."""

    def __init__(
        self, store: Checkpoints, newest: CheckpointTuple | None, is_worth_writing: Callable[[State], bool]
    ) -> None:
        super().__init__(serde=store.serde)
        self.get_next_version = store.get_next_version  # type: ignore[method-assign]
        self._store, self._newest, self._is_worth_writing = store, newest, is_worth_writing
        #: What the newest checkpoint is written with; None if it is stored.
        self._unwritten: Entry | None = None
        self._versions: ChannelVersions = {}  #: of the channels that changed since the last one that is stored

    @property
    def state(self) -> State:
        """The state of the newest checkpoint; empty for a new conversation."""
        values = self._newest.checkpoint["channel_values"] if self._newest else {}
        return cast("State", {name: values[name] for name in State.__annotations__ if name in values})

    @property
    def newest(self) -> str:
        """The id of the newest checkpoint; empty for a new conversation."""
        return str(self._newest.checkpoint["id"]) if self._newest else ""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:  # noqa: ARG002 - the turn's own
        """A copy, since LangGraph changes what it is given."""
        newest = self._newest
        return newest and newest._replace(checkpoint=base.copy_checkpoint(newest.checkpoint))

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:  # fmt: skip
        own = {**config["configurable"], "checkpoint_id": checkpoint["id"]}
        written: RunnableConfig = {"configurable": own}
        self._newest = CheckpointTuple(written, checkpoint, metadata, pending_writes=[])
        self._unwritten = config, checkpoint, metadata
        self._versions = {**self._versions, **new_versions}
        if self._is_worth_writing(self.state):
            await self._write()
        return written

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores writes of tasks; those of nodes are in the checkpoint that follows at once."""
        if any(channel == TASK_RESULT for channel, _ in writes):
            await self._write()
            await self._store.aput_writes(config, writes, task_id, task_path)

    async def finish(self, values: Mapping[str, Any]) -> None:
        """Put values into the newest checkpoint, store it as the conversation's only one, and wait for the disk."""
        assert self._unwritten is not None
        config, checkpoint, metadata = self._unwritten
        checkpoint = base.copy_checkpoint(checkpoint)
        checkpoint["channel_values"] |= values
        for name in values:
            current: Any = checkpoint["channel_versions"].get(name)
            version = self.get_next_version(current, None)
            checkpoint["channel_versions"][name] = self._versions[name] = version
        await self._store.put_last((config, checkpoint, metadata), self._versions)
        self._unwritten = None

    async def _write(self) -> None:
        """Store the newest checkpoint. LangGraph may hand over the next one meanwhile, which stays unwritten."""
        if (unwritten := self._unwritten) is not None:
            versions, self._versions = self._versions, {}
            await self._store.aput(*unwritten, versions)
            if self._unwritten is unwritten:
                self._unwritten = None
