"""A real, small ONNX network with a real tokenizer: every word has one fixed vector."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

WORDS = ("cats", "dogs", "purr", "bark", "at", "night", "the", "moon")
SPECIAL = ("[PAD]", "[UNK]")


def write_tiny_network(
    folder: Path,
    *,
    words: Iterable[str] = WORDS,
    dimension: int = 8,
    pooled: bool = False,
    fixed_length: int | None = None,
) -> Path:
    """Write ``model.onnx`` and ``tokenizer.json``; the same words give the same network.

    ``pooled`` gives one vector for each text instead of one for each token, ``fixed_length``
    a network that fails on texts of another number of tokens.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {word: number for number, word in enumerate((*SPECIAL, *words))}
    table = np.random.default_rng(7).normal(size=(len(vocabulary), dimension)).astype(np.float32)
    table[0] = 100.0  # padding that is not masked away ruins every vector
    onnx.save(_network(table, pooled=pooled, fixed_length=fixed_length), folder / "model.onnx")
    _tokenizer(vocabulary).save(str(folder / "tokenizer.json"))
    return folder


def _network(table: np.ndarray, *, pooled: bool, fixed_length: int | None) -> onnx.ModelProto:
    dimension = table.shape[1]
    constants = {"table": table, "positions": np.zeros((1, fixed_length or 1, dimension), np.float32)}
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["words"]),
        helper.make_node("Add", ["words", "positions"], ["last_hidden_state"]),
    ]
    output, shape = "last_hidden_state", ["texts", "tokens", dimension]
    if pooled:
        nodes.append(helper.make_node("ReduceMax", [output], ["sentence_embedding"], axes=[1], keepdims=0))
        output, shape = "sentence_embedding", ["texts", "dimension"]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _tokenizer(vocabulary: dict[str, int]) -> Tokenizer:
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]", length=64)
    return tokenizer
