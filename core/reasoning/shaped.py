"""Asking a chat model for a reply of a given shape; what that takes is built once for each model and shape.

LangChain's structured model is a sequence: the model, told a schema, and a parser. They are run here
one after the other, because the raw reply is wanted as well, for its ending and its tokens: LangChain's
own way to keep it (``include_raw``), built at every call, cost more than all the rest of the call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from core.reasoning.prompts import Messages
from core.reasoning.replies import Reply
from core.values import value

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.output_parsers import BaseLLMOutputParser
    from langchain_core.runnables import Runnable

TRACED = "ls_structured_output_format"  # for LangSmith, made anew at every call; nothing is traced here


@value
class Shaped:
    """A reply, and what was read in it."""

    raw: Any  #: LangChain's message
    parsed: Any  #: of the shape, if all went well; None where it could not be parsed
    trouble: BaseException | None  #: why not


class ShapedModel:
    """A chat model that replies in shapes."""

    def __init__(self, model: BaseChatModel) -> None:
        self.model = model
        self._asking: dict[type[Reply], Callable[[Messages], Awaitable[Shaped]]] = {}

    async def ask(self, shape: type[Reply], messages: Messages) -> Shaped:
        """Raises what the model's client raises."""
        if shape not in self._asking:
            self._asking[shape] = _asking(self.model, shape)
        return await self._asking[shape](messages)


def _asking(model: BaseChatModel, shape: type[Reply]) -> Callable[[Messages], Awaitable[Shaped]]:
    from langchain_core.output_parsers import BaseLLMOutputParser

    match getattr(model.with_structured_output(shape), "steps", None):
        case [told, BaseLLMOutputParser() as parser]:
            return partial(_ask_and_parse, _untraced(told), parser)
    return partial(_ask_as_one, model.with_structured_output(shape, include_raw=True))


async def _ask_and_parse(
    told: Runnable[Any, Any], parser: BaseLLMOutputParser[Any], messages: Messages
) -> Shaped:
    from langchain_core.outputs import ChatGeneration

    from core.reasoning.quiet import QUIET

    raw = await told.ainvoke(list(messages), config=QUIET)
    try:
        return Shaped(raw=raw, parsed=parser.parse_result([ChatGeneration(message=raw)]), trouble=None)
    except Exception as trouble:  # noqa: BLE001 - whichever provider's parser: the model is told, and asked again
        return Shaped(raw=raw, parsed=None, trouble=trouble)


async def _ask_as_one(structured: Runnable[Any, Any], messages: Messages) -> Shaped:
    """The way of a provider whose structured model is made of other parts."""
    from core.reasoning.quiet import QUIET

    reply = await structured.ainvoke(list(messages), config=QUIET)
    return Shaped(raw=reply["raw"], parsed=reply["parsed"], trouble=reply["parsing_error"])


def _untraced(told: Runnable[Any, Any]) -> Runnable[Any, Any]:
    from langchain_core.runnables.base import RunnableBinding

    if not isinstance(told, RunnableBinding):
        return told
    needed = {name: given for name, given in told.kwargs.items() if name != TRACED}
    return told.model_copy(update={"kwargs": needed})
