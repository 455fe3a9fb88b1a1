"""Many questions in one process, one after the other in many threads: memory and disk as they go.

    python tests/benchmarks/soak.py [--questions 100000]

The durable queue, the assistant and the real client of a local model without latency, over 1,000
synthetic passages, as ``footnote bench growth`` has them; finished turns are forgotten as after
their retention. Prints a line ten times on the way.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from datetime import timedelta
from itertools import cycle, islice
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from bots.bench.growth import PASSAGES, resident
from bots.bench.model_server import Scenario
from bots.bench.queued import CONVERSATIONS, QUEUE, asked, running, size_of
from bots.bench.synthetic import questions
from core.turn_queue import sweep

SIDE_BY_SIDE = 32
THREADS = 500
LOOKS = 10


async def soak(count: int) -> Counter[str]:
    ended: Counter[str] = Counter()
    async with running(PASSAGES) as queue:
        await queue.model.begin(Scenario())
        texts = cycle(questions(PASSAGES))
        for first in range(0, count, SIDE_BY_SIDE):
            batch = [
                asked(text, first + number, str((first + number) % THREADS))
                for number, text in enumerate(islice(texts, SIDE_BY_SIDE))
            ]
            await queue.end(batch)
            ended.update(queue.nobody.outcomes[each.id].kind for each in batch)
            queue.nobody.outcomes.clear()
            queue.nobody.begun.clear()
            if first // SIDE_BY_SIDE % max(1, count // SIDE_BY_SIDE // LOOKS) == 0:
                await sweep(timedelta(0))
                conversations, turns = (size_of(queue.folder / name) for name in (CONVERSATIONS, QUEUE))
                print(
                    f"{first + SIDE_BY_SIDE:>7} questions: {resident() / 1e6:.0f} MB of memory,"
                    f" conversations {conversations / 1e6:.2f} MB, queue {turns / 1e6:.2f} MB on the disk",
                    flush=True,
                )
    return ended


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--questions", type=int, default=100_000)
    print(dict(asyncio.run(soak(parser.parse_args().questions))))


if __name__ == "__main__":
    main()
