"""Fit the confidence of core/library/confidence.py and say what it is worth.

Both are fitted: words with vectors and words alone. They are trained on
SQuAD 2 with its articles in the library or left out of it (over half of all articles, over three
articles, over one to eight paragraphs) and with its near-misses, on MTRAG and CLAPNQ, and on two sets
of questions over the FastAPI documentation. The third (tests/benchmarks/evaluation/fastapi_heldout.jsonl) takes
no part in the fit. A question counts as answerable when a passage that answers it is among the three
best: that is what an answer would be quoted from.

What is reported was not seen by the coefficients that judged it: the questions are parted into folds,
those about one article or of one conversation together, and each fold is judged by a fit on the others.
``--write`` puts the coefficients of a fit on all of them into core/library/coefficients.toml, under the network's name.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from random import Random

import numpy as np

from benchmarks import DATA, EVALUATION, ROOT, Say
from benchmarks.confidence import auc, false_at, scoped
from benchmarks.evaluation_sets import (
    EVERYTHING,
    EvaluationSet,
    LabelledQuestion,
    clapnq,
    fill,
    folder,
    lines,
    mtrag,
    open_library,
    open_model,
    spot,
    squad,
)
from benchmarks.retrieval import sides
from bots.testing.report import Section, Table
from core.library import confidence
from core.library.confidence import WORDS_ALONE
from core.library.documents import Passage, Scope
from core.library.embedding.scale import REFERENCE, network_name
from core.library.library import Library
from core.library.retriever import Query

TAKEN = 700  # questions of each set at most, evenly spread
PENALTY = 5.0  # of squared coefficients, on standardised features
TOP = 3  # passages among which one must answer
FOLDS = 5
THRESHOLDS = (0.4, 0.5, 0.66, 0.8, 0.9)

#: What each set counts for in the fit, whatever its size. A near-miss can hardly be told by these
#: features: more weight would lower every confidence and part the other sets worse.
WEIGHTS = {
    "left_out": 1.0, "few": 0.5, "tiny": 0.5, "near": 0.5, "mtrag": 0.5, "clapnq": 0.5,
    "fastapi_questions": 0.5, "fastapi_training": 1.0,
}  # fmt: skip
#: By these the scale of the confidence is set: a question nobody wrote to mislead.
PLAIN = ("left_out", "few", "tiny", "fastapi_questions", "fastapi_training")
HELD_OUT = "fastapi_heldout"

DENSE = ("cosine", "agreement")  # how the names of features begin that only vectors give

Coefficients = tuple[float, dict[str, float]]

COEFFICIENTS = ROOT / "core/library/coefficients.toml"

COLUMNS = ("set", "questions", "AUC", "false at 90% answered", *(f"at {at}" for at in THRESHOLDS))
NOTE = "At a threshold: share of the answerable answered, from the right place, and of the others falsely answered."


@dataclass(frozen=True)
class FitQuestion:
    """A question, where it is asked, and which passages answer it."""

    asked: LabelledQuestion
    scope: Scope
    answers: Callable[[Passage], bool]
    together: str  #: questions with the same one are kept in one fold

    @property
    def is_answerable(self) -> bool:
        return bool(self.asked.gold)

    @property
    def fold(self) -> int:
        return int.from_bytes(blake2b(self.together.encode(), digest_size=4).digest(), "big") % FOLDS


@dataclass(frozen=True)
class FitRow:
    features: dict[str, float]
    is_found: bool
    is_answerable: bool
    fold: int


Sets = dict[str, list[FitRow]]


@contextmanager
def features_recorded() -> Iterator[dict[str, float]]:
    """The features of the last retrieval, taken where the library computes them."""
    features, real = {}, confidence.features_of

    def record(*args):
        found = real(*args)
        features.update(asdict(found))
        return found

    confidence.features_of = record
    try:
        yield features
    finally:
        confidence.features_of = real


# Questions


def questions_of(data: Path, scratch: Path, model) -> Iterator[tuple[Library, dict[str, list[FitQuestion]]]]:
    """Each library with what is asked of it, by set."""
    for name, read in (("mtrag", mtrag), ("clapnq", clapnq)):
        corpus = read(data)
        yield stocked(scratch / name, model, corpus), {name: of(scoped(name, corpus))}
    corpus = squad(data)
    asked = {"left_out": of(scoped("left_out", corpus)), "near": of(scoped("near", corpus))}
    asked |= narrowed(corpus)
    yield stocked(scratch / "squad", model, corpus), asked
    library = open_library(scratch / "fastapi", model)
    library.ingest([data / "fastapi_docs"])
    library.embed_pending()
    files = ("fastapi_questions", "fastapi_training", HELD_OUT)
    yield library, {name: list(over_files(lines(EVALUATION / f"{name}.jsonl"))) for name in files}


def stocked(place: Path, model, corpus: EvaluationSet) -> Library:
    return fill(open_library(place, model), corpus.documents)


def of(asked: Iterable[tuple[LabelledQuestion, Scope]]) -> list[FitQuestion]:
    return [
        FitQuestion(
            asked=each,
            scope=scope,
            answers=lambda passage, gold=each.gold: spot(passage) in gold,
            together=each.group if each.group.startswith("/") else each.id.split("<::>")[0],
        )
        for each, scope in asked
    ]


def over_files(rows: Iterable[dict]) -> Iterator[FitQuestion]:
    for row in rows:
        sources = frozenset(row["sources"] if row["answerable"] else ())
        yield FitQuestion(
            asked=LabelledQuestion(
                id=row["id"], question=row["question"], gold=frozenset((s, 0) for s in sources)
            ),
            scope=EVERYTHING,
            answers=lambda passage, sources=sources: passage.source.split("/", 1)[1] in sources,
            together=row["id"],
        )


def narrowed(corpus: EvaluationSet) -> dict[str, list[FitQuestion]]:
    """Questions of SQuAD 2 asked of three articles, and of one to eight paragraphs; half have the gold one."""
    random = Random(7)
    sources = sorted(source for source, _, _ in corpus.documents)
    articles = sorted({folder(source) for source in sources})
    few, tiny = [], []
    for number, asked in enumerate(random.sample(corpus.questions, TAKEN)):
        is_in = number % 2 == 0
        gold = next(source for source, _ in asked.gold)
        others = [article for article in articles if article != asked.group]
        few.append((asked, [*random.sample(others, 2), asked.group if is_in else random.choice(others)]))
        near = [s for s in sources if folder(s) == asked.group and s != gold]
        far = [s for s in sources if folder(s) != asked.group]
        beside = random.sample(near, min(len(near), random.randrange(4))) if is_in else []
        chosen = [*random.sample(far, random.randrange(5)), *beside, gold if is_in else random.choice(far)]
        tiny.append((asked, chosen))
    return {"few": of(map(within, few)), "tiny": of(map(within, tiny))}


def within(asked_where: tuple[LabelledQuestion, list[str]]) -> tuple[LabelledQuestion, Scope]:
    """The question with the gold that these places hold."""
    asked, places = asked_where
    scope = Scope(collections=EVERYTHING.collections, addresses=tuple(sorted(set(places))))
    held = {asked.group, *(source for source, _ in asked.gold)} & set(places)
    gold = asked.gold if held else frozenset()
    return LabelledQuestion(id=asked.id, question=asked.question, gold=gold, group=asked.group), scope


def rows_of(library: Library, questions: list[FitQuestion]) -> list[FitRow]:
    rows = []
    with features_recorded() as features:
        for each in questions[:: max(1, len(questions) // TAKEN)]:
            query = Query(text=each.asked.question, scope=each.scope, history=each.asked.history)
            features.clear()
            found = library.retrieve(query).passages[:TOP]
            if features:  # where nothing is found the confidence is 0 whatever the coefficients
                hit = each.is_answerable and any(each.answers(hit.passage) for hit in found)
                rows.append(FitRow(dict(features), hit, each.is_answerable, each.fold))
    return rows


# The fit


def fit(sets: Sets) -> Coefficients:
    """Logistic regression over all sets, its scale then set by the plain ones."""
    names = list(next(iter(sets.values()))[0].features)
    bias, weights = regression(sets, names, PENALTY)
    plain = {
        name: [FitRow({"score": score(row, (bias, weights))}, row.is_found, row.is_answerable, row.fold) for row in rows]
        for name, rows in sets.items()
        if name in PLAIN
    }  # fmt: skip
    shift, slope = regression(plain, ["score"], 0.0)
    scale = slope["score"]
    return shift + scale * bias, {name: round(scale * weight, 4) for name, weight in weights.items()}


def regression(sets: Sets, names: list[str], penalty: float) -> Coefficients:
    """By Newton's method; each set counts for what WEIGHTS says."""
    rows = [(row, WEIGHTS[name] / len(rows)) for name, rows in sets.items() for row in rows]
    design = np.array([[row.features[name] for name in names] for row, _ in rows])
    target = np.array([float(row.is_found) for row, _ in rows])
    w = np.array([weight for _, weight in rows])
    w *= len(w) / w.sum()
    mean, spread = design.mean(0), design.std(0) + 1e-9
    z = np.hstack([np.ones((len(rows), 1)), (design - mean) / spread])
    beta, shrink = np.zeros(z.shape[1]), np.diag([0.0, *[penalty] * len(names)])
    for _ in range(50):
        p = 1 / (1 + np.exp(-z @ beta))
        gradient = z.T @ (w * (target - p)) - shrink @ beta
        beta += np.linalg.solve((z * (w * p * (1 - p) + 1e-9)[:, None]).T @ z + shrink, gradient)
    raw = beta[1:] / spread
    return float(beta[0] - raw @ mean), dict(zip(names, raw.tolist(), strict=True))


def score(row: FitRow, coefficients: Coefficients) -> float:
    bias, weights = coefficients
    return bias + sum(weight * row.features[name] for name, weight in weights.items())


def judged_unseen(sets: Sets) -> dict[str, np.ndarray]:
    """The probability of every row by a fit on the other folds; what takes no part in the fit by all of them."""
    trained = {name: rows for name, rows in sets.items() if name != HELD_OUT}
    fits = [
        fit({n: [r for r in rows if r.fold != fold] for n, rows in trained.items()}) for fold in range(FOLDS)
    ]
    whole = fit(trained)
    return {
        name: np.array(
            [1 / (1 + np.exp(-score(row, whole if name == HELD_OUT else fits[row.fold]))) for row in rows]
        )
        for name, rows in sets.items()
    }  # fmt: skip


def report(sets: Sets) -> Iterator[tuple[str | float, ...]]:
    """A row for each set, judged by coefficients that have not seen it."""
    for name, p in judged_unseen(sets).items():
        answerable = np.array([row.is_answerable for row in sets[name]])
        found = np.array([row.is_found for row in sets[name]])
        yes, no = p[answerable].tolist(), p[~answerable].tolist()
        shares = (
            f"{np.mean(p[answerable] >= at):.2f}, {np.mean((p >= at)[answerable] & found[answerable]):.2f}, "
            f"{np.mean(p[~answerable] >= at):.2f}"
            for at in THRESHOLDS
        )
        yield name, len(p), auc(yes, no), false_at(yes, no), *shares


def write_coefficients(network: str, coefficients: Coefficients, rows, file: Path = COEFFICIENTS) -> None:
    """In place of the network's earlier ones, or beside those of the others; for no network, of words alone."""
    name, (bias, weights) = network or WORDS_ALONE, coefficients
    comments = "".join(
        f"# {of}: AUC {area:.3f}, false at 90% answered {false:.2f} | "
        + " | ".join(f"at {at}: {shares}" for at, shares in zip(THRESHOLDS, rest, strict=True))
        + "\n"
        for of, _, area, false, *rest in rows
    )
    block = f'{comments}["{name}"]\nbias = {bias:.4f}\n' + "".join(f"{n} = {w}\n" for n, w in weights.items())
    head, *others = file.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    kept = [each.rstrip("\n") + "\n" for each in others if f'["{name}"]\n' not in each]
    file.write_text("\n".join((f"{head}\n", *kept, block)), encoding="utf-8")


def run(say: Say, *, model: str, data: Path = DATA, write: bool = False) -> Section:
    """With ``write`` the coefficients of a fit on all questions go into core/library/coefficients.toml."""
    embedder, measured = open_model(model, say), {side: {} for side in ("vectors", "words")}
    with tempfile.TemporaryDirectory() as scratch:
        for library, asked in questions_of(data, Path(scratch), embedder):
            for side, each in sides(library).items():
                for name, questions in asked.items():
                    measured[side][name] = rows_of(each, questions)
                    say(f"{side}: {name}, {len(measured[side][name])} questions")
            library.close()
    measured["words"] = {
        name: [without_dense(row) for row in rows] for name, rows in measured["words"].items()
    }
    tables, figures = [], {}
    for side, sets in measured.items():
        if not sets:
            continue
        rows = tuple(report(sets))
        figures |= {f"{name}_{side}_auc": area for name, _, area, *_ in rows}
        fitted = bias, weights = fit({name: rows for name, rows in sets.items() if name != HELD_OUT})
        tables += [
            Table(title=f"Unseen, {side}", columns=COLUMNS, rows=rows, note=NOTE),
            Table(
                title=f"Coefficients, {side}",
                columns=("feature", "weight"),
                rows=(("bias", bias), *weights.items()),
            ),
        ]
        if write:
            network = network_name(embedder.name) if embedder else ""
            if side == "vectors" or network in ("", REFERENCE):  # words alone are the same with any network
                write_coefficients(network if side == "vectors" else "", fitted, rows)
    return Section(
        name="fit_confidence",
        title="The fit of the confidence",
        what="Each fold of whole articles is judged by a fit on the others.",
        tables=tuple(tables),
        figures=figures,
    )  # fmt: skip


def without_dense(row: FitRow) -> FitRow:
    kept = {name: value for name, value in row.features.items() if not name.startswith(DENSE)}
    return FitRow(kept, row.is_found, row.is_answerable, row.fold)
