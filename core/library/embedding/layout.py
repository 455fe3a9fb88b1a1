"""The layout of a network in a folder, read from its own configuration.

The files are those of a repository of sentence-transformers: ``modules.json`` names what comes after
the transformer, ``1_Pooling/config.json`` how tokens become one vector, ``config_sentence_transformers.json``
what is put before a question and before a passage, ``sentence_bert_config.json`` how much is read.
A folder of a network and a tokenizer alone averages its tokens.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOKEN_LIMIT = 256  # tokens of one text, as all-MiniLM-L6-v2 reads according to its model card
#: Tokens of one text at most, if a network says that it reads more: attention costs their square.
LONGEST = 512

TOKENIZER = "tokenizer.json"
#: Where an ONNX file is looked for.
MODELS = ("model.onnx", "onnx/model.onnx")

#: The keys of a pooling's configuration before ``pooling_mode``, in the order in which vectors are joined.
_MODES = {
    "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max", "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean", "pooling_mode_lasttoken": "lasttoken",
}  # fmt: skip
POOLINGS = frozenset(_MODES.values())
_MODULES = frozenset({"Transformer", "Pooling", "Normalize"})
_FOLDER = re.compile(r"\w[\w.-]*|")
_OWNER = "sentence_transformers."  # modules of any other package are code of the repository
#: Names of the prompts for a passage; the first one found counts: sentence-transformers, "encode_document".
_PASSAGE_PROMPTS = ("document", "passage", "corpus")


class Unusable(Exception):
    """The text is a predicate of the folder or repository: "has no tokenizer.json"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkLayout:
    """The files of a network, and how texts are put through it."""

    model: Path  #: the ONNX file
    tokenizer: Path
    pooling: tuple[str, ...] = ("mean",)  #: how token vectors become one; several are joined
    states_pooling: bool = False  #: False: the mean is taken because nothing is said
    query_prefix: str = ""
    passage_prefix: str = ""
    token_limit: int = TOKEN_LIMIT
    pad_id: int | None = None  #: None: the tokenizer's
    is_lowercase: bool = False  #: texts are put in lower case first

    @property
    def settings(self) -> str:
        """The settings that change the vectors of a file, as a text; empty for the usual ones."""
        stated = (self.pooling, self.query_prefix, self.passage_prefix, self.is_lowercase)
        return "" if stated == (("mean",), "", "", False) else repr(stated)


def read_layout(
    folder: Path, *, model: str = "", is_ranking: bool = False, needs_model: bool = True
) -> NetworkLayout:
    """The layout of a network for vectors or, ``is_ranking``, of a cross-encoder. Raises Unusable.

    ``model``: the ONNX file, where it is not one of the usual. Without ``needs_model`` it may be missing still.
    """
    file = _first(*(folder / name for name in ((model,) if model else MODELS)))
    tokenizer = _first(folder / TOKENIZER, file.parent / TOKENIZER)
    for needed in (file, tokenizer) if needs_model else (tokenizer,):
        if not needed.is_file():
            raise Unusable(f"has no {needed.name}")
    modules = dict(_modules(folder / "modules.json"))
    pooling, states_pooling, has_prompt = _pooling(folder, modules)
    prompts = _prompts(_object(folder / "config_sentence_transformers.json"))
    if any(prompts) and not has_prompt:
        raise Unusable("leaves prefixes out of its pooling, which is not done here")
    home = folder / modules.get("Transformer", "")
    config, transformer = (_object(home / name) for name in ("config.json", "sentence_bert_config.json"))
    labels, pad = _labels(config), config.get("pad_token_id")
    if labels is not None and not is_ranking:
        raise Unusable("judges texts and makes no vectors")
    if is_ranking and labels != 1:
        raise Unusable("is no cross-encoder that gives one score for a question and a passage")
    return NetworkLayout(
        model=file, tokenizer=tokenizer, pooling=pooling, states_pooling=states_pooling, query_prefix=prompts[0],
        passage_prefix=prompts[1], token_limit=_token_limit(home, transformer),
        pad_id=pad if isinstance(pad, int) else None, is_lowercase=transformer.get("do_lower_case") is True,
    )  # fmt: skip


def _first(*files: Path) -> Path:
    """The first that is there, else the first."""
    return next(filter(Path.is_file, files), files[0])


def _pooling(folder: Path, modules: Mapping[str, str]) -> tuple[tuple[str, ...], bool, bool]:
    """The modes, whether they are stated, and whether prefixes take part."""
    subfolder = modules.get("Pooling")
    if subfolder is None:
        return ("mean",), False, True
    file = folder / subfolder / "config.json"
    if not file.is_file():
        raise Unusable(f"has no {subfolder}/config.json, which says how its tokens are pooled")
    config = _object(file)
    stated = config.get("pooling_mode")
    if stated is None:
        stated = [mode for key, mode in _MODES.items() if config.get(key) is True] or ["mean"]
    modes = (stated,) if isinstance(stated, str) else tuple(stated if isinstance(stated, list) else ())
    if not modes or any(mode not in POOLINGS for mode in modes):
        raise Unusable(f"pools its tokens in a way that is not known here ({subfolder}/config.json)")
    return modes, True, config.get("include_prompt") is not False


def _modules(file: Path) -> Iterator[tuple[str, str]]:
    """Class and folder of each module; Unusable for those that would be code of the repository's."""
    listed = _json(file)
    for each in listed if isinstance(listed, list) else ():
        given = each if isinstance(each, dict) else {}
        kind, path = (str(given.get(key) or "") for key in ("type", "path"))
        name = kind.rpartition(".")[2]
        if not kind.startswith(_OWNER):
            what = kind or "a module without a type"
            raise Unusable(f"runs code of its own ({what}), which Footnote does not")
        if not _FOLDER.fullmatch(path):
            raise Unusable("has a damaged modules.json")
        if name not in _MODULES:
            raise Unusable(f"has a module {name} behind its network, which is not run here")
        yield name, path


def _prompts(config: Mapping[str, Any]) -> tuple[str, str]:
    """The prefixes of a question and of a passage."""
    stated = config.get("prompts")
    prompts = {k: v for k, v in stated.items() if isinstance(v, str)} if isinstance(stated, dict) else {}
    default = prompts.get(str(config.get("default_prompt_name")), "")
    passage = next((prompts[name] for name in _PASSAGE_PROMPTS if prompts.get(name)), default)
    return prompts.get("query") or default, passage


def _token_limit(folder: Path, transformer: Mapping[str, Any]) -> int:
    """The least of what the files say, except for tokenizer.json: MiniLM's 128 costs .026 of recall at 5."""
    stated = transformer.get("max_seq_length")
    limits = [stated, _object(folder / "tokenizer_config.json").get("model_max_length")]
    known = [limit for limit in limits if isinstance(limit, int) and limit > 0]
    return min([*known, LONGEST if isinstance(stated, int) else TOKEN_LIMIT])


def _labels(config: Mapping[str, Any]) -> int | None:
    """The number of outputs of a classifier, such as a cross-encoder; None if it is none. In transformers
    ``num_labels`` is kept only as the length of ``id2label``, and is 2 by default."""
    architectures = config.get("architectures")
    names: Sequence[Any] = architectures if isinstance(architectures, list) else ()
    if not any(str(name).endswith("ForSequenceClassification") for name in names):
        return None
    labels, count = config.get("id2label"), config.get("num_labels")
    return len(labels) if isinstance(labels, dict) else count if isinstance(count, int) else 2


def _object(file: Path) -> Mapping[str, Any]:
    found = _json(file)
    return found if isinstance(found, dict) else {}


def _json(file: Path) -> object:
    """The content of a file; None where it is missing. Unusable if it is damaged."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as trouble:
        raise Unusable(f"has a damaged {file.name}") from trouble
