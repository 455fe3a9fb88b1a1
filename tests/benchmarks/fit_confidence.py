"""Fit the confidence of core/library/confidence.py and say what it is worth.

    python tests/benchmarks/fit_confidence.py ../shared/data MODEL [--write]

MODEL is a folder with model.onnx, or "none" for lexical search alone. Trained on questions
whose article is, or is not, in a library of SQuAD 2 articles (the whole library, and a few
articles of it, one to eight paragraphs of it), and on two sets of questions over the FastAPI documentation. The held-out set
(tests/evaluation/fastapi_heldout.jsonl) takes no part in the fit. A question counts as
answerable when a passage that answers it is among the three best: that is what an answer
would be quoted from. ``--write`` puts the coefficients into core/library/coefficients.py.
"""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from random import Random
from urllib.parse import quote

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

import numpy as np
from benchmarks.corpora import EVERYTHING, add_paragraphs, lines, open_library, open_model

from core.library import confidence
from core.library.documents import Scope
from core.library.library import Library
from core.library.retriever import Query

HERE = Path(__file__).resolve().parents[1] / "evaluation"
TAKEN = 350  # questions of each kind from SQuAD 2
PENALTY = 1.0  # of squared coefficients, on standardised features
TOP = 3

Row = tuple[dict[str, float], bool, bool]  # features, is found, is answerable


class Recorder:
    """Reads the features of a retrieval where the library computes them."""

    def __init__(self) -> None:
        self.features: dict[str, float] = {}
        self._real = confidence.features_of

    def __call__(self, *args):
        features = self._real(*args)
        self.features = asdict(features)
        return features


recorder = Recorder()
confidence.features_of = recorder


def row(library: Library, question: str, scope: Scope, is_gold, *, answerable: bool) -> Row:
    found = library.retrieve(Query(text=question, scope=scope)).passages
    hit = answerable and any(is_gold(h.passage) for h in found[:TOP])
    return dict(recorder.features), hit, answerable


def squad(data: Path, folder: Path, model) -> dict[str, list[Row]]:
    library = open_library(folder, model)
    paragraphs = lines(data / "squad2/paragraphs.jsonl")
    articles = sorted({p["title"] for p in paragraphs})
    kept = articles[::2]
    for title in kept:
        add_paragraphs(
            library, f"/squad/{quote(title)}", title, [p["text"] for p in paragraphs if p["title"] == title]
        )
    library.embed_pending()
    texts = {p["id"]: p for p in paragraphs}
    asked = [q for q in lines(data / "squad2/questions.jsonl") if q["answerable"]]
    random = Random(7)
    random.shuffle(asked)
    inside = [q for q in asked if texts[q["paragraph"]]["title"] in kept][:TAKEN]
    outside = [q for q in asked if texts[q["paragraph"]]["title"] not in kept][:TAKEN]

    def few(gold: dict, *, is_in: bool) -> Scope:
        chosen = {*random.sample(kept, 2), *([gold["title"]] if is_in else [])}
        return Scope(
            collections=EVERYTHING.collections, addresses=tuple(f"/squad/{quote(t)}" for t in sorted(chosen))
        )

    addresses = {e.address: e.title for e in library.entries()}
    place = {
        p.text: p.source for p in library.catalogue.passages(map(str, range(1, 10_000)), EVERYTHING).values()
    }

    def tiny(gold: dict, *, is_in: bool) -> Scope:
        """One to eight paragraphs, the gold one among them when it is there; half of them from its article."""
        near = [a for a, title in addresses.items() if title == gold["title"]] if is_in else []
        others = random.sample(sorted(addresses), random.randrange(0, 5)) + near[: random.randrange(0, 4)]
        chosen = {*others, *([place[gold["text"]]] if is_in else random.sample(sorted(addresses), 1))}
        return Scope(collections=EVERYTHING.collections, addresses=tuple(sorted(chosen)))

    def rows(make_scope) -> list[Row]:
        result = []
        for q in (*inside, *outside):
            gold = texts[q["paragraph"]]
            is_in = gold["title"] in kept
            scope = make_scope(gold, is_in=is_in)
            result.append(
                row(
                    library,
                    q["question"],
                    scope,
                    lambda p, gold=gold: p.text == gold["text"],
                    answerable=is_in,
                )
            )
        return result

    return {
        "squad2 whole": rows(lambda _gold, is_in: EVERYTHING),
        "squad2 few": rows(few),
        "squad2 tiny": rows(tiny),
    }


def fastapi(data: Path, folder: Path, model) -> dict[str, list[Row]]:
    library = open_library(folder, model)
    library.ingest([data / "fastapi_docs"])
    library.embed_pending()
    sets = {}
    for name in ("fastapi_questions", "fastapi_training", "fastapi_heldout"):
        sets[name] = [
            row(
                library,
                q["question"],
                EVERYTHING,
                lambda p, q=q: p.source.split("/", 1)[1] in q["sources"],
                answerable=q["answerable"],
            )
            for q in lines(HERE / f"{name}.jsonl")
        ]
    return sets


def fit(sets: dict[str, list[Row]], names: list[str]) -> tuple[float, dict[str, float]]:
    """Logistic regression by Newton's method; the sets of one source share a weight."""
    x, y, weight = [], [], []
    for name, rows in sets.items():
        source = name.split("_")[0].split(" ")[0]
        sharing = sum(other.startswith(source) for other in sets)
        for features, is_found, _ in rows:
            x.append([features[n] for n in names])
            y.append(float(is_found))
            weight.append(1 / len(rows) / sharing)
    design, target, w = np.array(x), np.array(y), np.array(weight) * len(x) / sum(weight)
    mean, spread = design.mean(0), design.std(0) + 1e-9
    z = np.hstack([np.ones((len(x), 1)), (design - mean) / spread])
    beta = np.zeros(z.shape[1])
    penalty = np.diag([0.0] + [PENALTY * 5] * len(names))
    for _ in range(50):
        p = 1 / (1 + np.exp(-z @ beta))
        gradient = z.T @ (w * (target - p)) - penalty @ beta
        beta += np.linalg.solve((z * (w * p * (1 - p) + 1e-9)[:, None]).T @ z + penalty, gradient)
    raw = beta[1:] / spread
    return float(beta[0] - raw @ mean), dict(zip(names, raw.round(4).tolist(), strict=True))


def probabilities(rows: list[Row], model: tuple[float, dict[str, float]]) -> np.ndarray:
    bias, weights = model
    return np.array([1 / (1 + np.exp(-bias - sum(w * f[n] for n, w in weights.items()))) for f, _, _ in rows])


def auc(positive: np.ndarray, negative: np.ndarray) -> float:
    return float(np.mean(positive[:, None] > negative) + np.mean(positive[:, None] == negative) / 2)


def report(sets: dict[str, list[Row]], model: tuple[float, dict[str, float]]) -> list[str]:
    said = []
    for name, rows in sets.items():
        p = probabilities(rows, model)
        answerable = np.array([a for _, _, a in rows])
        found = np.array([f for _, f, _ in rows])
        line = f"{name}: AUC {auc(p[answerable], p[~answerable]):.3f}"
        for at in (0.4, 0.5, 0.6):
            line += f" | at {at}: answered {np.mean(p[answerable] >= at):.2f}"
            line += f" from the right place {np.mean((p >= at)[answerable] & found[answerable]):.2f}"
            line += f", false {np.mean(p[~answerable] >= at):.2f}"
        said.append(line)
    return said


def write(name: str, model: tuple[float, dict[str, float]], said: list[str]) -> None:
    file = Path(__file__).resolve().parents[2] / "core/library/coefficients.py"
    bias, weights = model
    comments = "".join(f"# {line}\n" for line in said)
    values = "".join(f'        "{n}": {w},\n' for n, w in weights.items())
    block = f"{comments}{name}: Coefficients = (\n    {bias:.4f},\n    {{\n{values}    }},\n)\n"
    text = file.read_text(encoding="utf-8")
    pattern = rf"(?:# .*\n)*{name}: Coefficients = \((?:.*\)\n|\n(?:.*\n)*?\)\n)"
    file.write_text(re.sub(pattern, lambda _: block, text, count=1), encoding="utf-8")


def main() -> None:
    data, folder = Path(sys.argv[1]), sys.argv[2]
    model = open_model(folder)
    names = [
        f for f in confidence.Features.__annotations__ if model or not f.startswith(("cosine", "agreement"))
    ]
    with tempfile.TemporaryDirectory() as scratch:
        sets = squad(data, Path(scratch, "squad"), model) | fastapi(data, Path(scratch, "fastapi"), model)
    held_out = {"fastapi_heldout": sets.pop("fastapi_heldout")}
    fitted = fit(sets, names)
    said = report(sets | held_out, fitted)
    print(*said, sep="\n")
    print(fitted)
    if "--write" in sys.argv:
        write("WITH_VECTORS" if model else "LEXICAL_ALONE", fitted, said)


if __name__ == "__main__":
    main()
