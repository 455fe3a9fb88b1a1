"""A real, small ONNX network with a real tokenizer: every word has one fixed vector."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

WORDS = ("cats", "dogs", "purr", "bark", "at", "night", "the", "moon")
SPECIAL = ("[PAD]", "[UNK]")
DIMENSION = 128  # of a network of a repository, whose ONNX file is then one of its large files


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


def sentence_transformer(
    folder: Path,
    *,
    pooling: Mapping[str, Any] | None = None,
    prompts: Mapping[str, str] | None = None,
    words: Iterable[str] = WORDS,
    **files: Any,
) -> dict[str, bytes]:
    """A network as sentence-transformers lays it out, by path; ``folder`` is scratch. ``files`` are put beside it."""
    write_tiny_network(folder, words=words, dimension=DIMENSION)
    modules = ("Transformer", "Pooling", "Normalize")
    described = {
        "config.json": {"architectures": ["BertModel"], "hidden_size": DIMENSION, "pad_token_id": 0},
        "modules.json": [
            {"idx": n, "name": str(n), "path": f"{n}_{kind}" if n else "", "type": f"sentence_transformers.models.{kind}"}
            for n, kind in enumerate(modules)
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": DIMENSION, **(pooling or {"pooling_mode_mean_tokens": True})},
        "sentence_bert_config.json": {"max_seq_length": 300, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": dict(prompts or {}), "default_prompt_name": None},
    }  # fmt: skip
    described |= files
    return {
        "README.md": b"# A tiny network",
        "pytorch_model.bin": b"weights that nobody needs" * 1000,
        "tokenizer.json": (folder / "tokenizer.json").read_bytes(),
        "onnx/model.onnx": (folder / "model.onnx").read_bytes(),
        **{path: json.dumps(content).encode() for path, content in described.items() if content is not None},
    }


def cross_encoder(
    folder: Path, *, words: Iterable[str] = WORDS, labels: int = 1, **files: bytes
) -> dict[str, bytes]:
    """A cross-encoder as its repository lays it out, by path. It counts the words that both texts of a pair hold."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {word: number for number, word in enumerate((*SPECIAL, *words))}
    onnx.save(_ranker(len(vocabulary)), folder / "ranker.onnx")
    tokenizer = _tokenizer(vocabulary)
    tokenizer.post_processor = TemplateProcessing(single="$A", pair="$A:0 $B:1", special_tokens=[])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "architectures": ["BertForSequenceClassification"], "pad_token_id": 0,
        "id2label": {str(n): f"LABEL_{n}" for n in range(labels)},
    }  # fmt: skip
    return {
        "config.json": json.dumps(config).encode(),
        "tokenizer_config.json": json.dumps({"model_max_length": 512}).encode(),
        "tokenizer.json": (folder / "tokenizer.json").read_bytes(),
        "onnx/model.onnx": (folder / "ranker.onnx").read_bytes(),
        **files,
    }


def _ranker(words: int) -> onnx.ModelProto:
    """One logit for each pair: the known words of its first text that its second one has too."""
    one_hot = np.eye(words, dtype=np.float32)
    one_hot[: len(SPECIAL)] = 0.0  # padding and unknown words are no words
    nodes = [
        helper.make_node("Gather", ["one_hot", "input_ids"], ["words"]),
        helper.make_node("Cast", ["token_type_ids"], ["type"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["type", "last"], ["second"]),
        helper.make_node("Sub", ["one", "second"], ["first"]),
        helper.make_node("Mul", ["words", "first"], ["of_first"]),
        helper.make_node("Mul", ["words", "second"], ["of_second"]),
        helper.make_node("ReduceMax", ["of_first"], ["question"], axes=[1], keepdims=0),
        helper.make_node("ReduceMax", ["of_second"], ["passage"], axes=[1], keepdims=0),
        helper.make_node("Mul", ["question", "passage"], ["shared"]),
        helper.make_node("ReduceSum", ["shared", "sum_over"], ["logits"], keepdims=1),
    ]
    constants = {
        "one_hot": one_hot, "one": np.ones(1, np.float32), "last": np.array([2], np.int64),
        "sum_over": np.array([1], np.int64),
    }  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "ranker",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["texts", 1])],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
