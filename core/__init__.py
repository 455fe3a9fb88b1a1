"""Footnote's core: it knows no platform.

Two libraries read these switches when they are first imported, so they are set here,
before anything else of core is.
"""

import os

# Checkpoints rebuild only the types of our own state; by default a crafted one could call anything.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
# A tracing switch in the environment would send people's questions to a third party.
for _switch in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
    os.environ[_switch] = "false"
# A gateway would take the model's place, and a handler of that name no longer exists and breaks every call.
for _name in ("LANGSMITH_GATEWAY", "LANGCHAIN_HANDLER"):
    os.environ.pop(_name, None)
