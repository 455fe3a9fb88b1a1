"""Code blocks stand in their source line by line."""

from __future__ import annotations

import pytest

from core.text.listings import holds_code_block

SOURCE = """Do so:

```python
from store import Cache, Shelf

cache = Cache(
    entries=300,
    wait=5,
)
cache.put("key", 1)  # quick
```

```console
$ <b>pip</b> install store
```
"""


@pytest.mark.parametrize(
    "code",
    [
        "from store import Cache\n\ncache = Cache(entries=300, wait=5)",
        "mine = Cache(\n    entries=300,\n    wait=5\n)",
        "cache.put('key', 1)",
        "$ pip install store",
        "cache.put('key', 1)  # the key",
    ],
)
def test_layout_and_the_name_of_a_variable_are_free(code):
    assert holds_code_block(f"```\n{code}\n```", SOURCE)


@pytest.mark.parametrize(
    "code",
    [
        "from shop import Cache",
        "from store import Cash",
        "cache = Cache(entries=301, wait=5)",
        "cache = Cache(\n    wait_long=5,\n    entries=300\n)",
        "cache.get('key', 1)",
        "pip install shop",
        "cache.put('key', 1)\ncache.put('key', 2)",
    ],
)
def test_a_changed_line_is_not_the_source_s(code):
    assert not holds_code_block(f"```\n{code}\n```", SOURCE)
