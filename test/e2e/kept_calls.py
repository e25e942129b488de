# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of a session at positions that go to and fro, on strips, which replays what earlier calls have in common with them: attention
to states against numpy. Of 7 rows some get no token of a chunk of 6.

usage: kept_calls.py --work FOLDER
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from wsec import program  # noqa: E402

HEADS, SIZE, CAPACITY, CHUNK = 3, 4, 40, 6


def write(path):
    nodes = [helper.make_node("TensorScatter", [f"past.{name}", name, "position"], [f"present.{name}"], name, axis=1)
             for name in "kv"]
    nodes += [helper.make_node("Shape", ["q"], ["tokens"], "tokens", start=1, end=2),
              helper.make_node("Add", ["tokens", "position"], ["length"], "length"),
              helper.make_node("Attention", ["q", "present.k", "present.v", "", "", "", "length"], ["y"], "attention",
                               is_causal=1, q_num_heads=HEADS, kv_num_heads=HEADS)]

    def value(name, tokens, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, [1, tokens, HEADS * SIZE] if tokens else [1])
    graph = helper.make_graph(
        nodes, "kept",
        [*(value(name, "sequence") for name in "qkv"), value("position", None, TensorProto.INT64),
         *(value(f"past.{name}", CAPACITY) for name in "kv")],
        [value("y", "sequence"), *(value(f"present.{name}", CAPACITY) for name in "kv")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11), path)


def attend(query, keys, values, position):
    """float[tokens, features] each, of which the last two are whole states."""
    def by_head(x):
        return x.astype("f8").reshape(len(x), HEADS, SIZE).transpose(1, 0, 2)
    scores = by_head(query) @ by_head(keys).transpose(0, 2, 1) / SIZE ** 0.5
    seen = np.arange(CAPACITY) <= position + np.arange(len(query))[:, None]
    weights = np.exp(np.where(seen, scores - scores.max(), -np.inf))
    mixed = weights / weights.sum(-1, keepdims=True) @ by_head(values)
    return mixed.transpose(1, 0, 2).reshape(query.shape)


def positions(random):
    """Of calls, and how many tokens each takes; no token before them was never written."""
    written = 0
    for _ in range(7):
        tokens = int(random.choice([1, CHUNK]))
        position = int(random.integers(0, min(written, CAPACITY - tokens) + 1))
        written = max(written, position + tokens)
        yield tokens, position


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--work", type=Path, required=True)
    words = words.parse_args()
    words.work.mkdir(parents=True, exist_ok=True)
    model, wafer = words.work / "m.onnx", words.work / "m.wafer"
    write(model)
    subprocess.run(["wsec", model, "-o", wafer, "--mesh=7x7", "--quiet", "--states", "--entry=one:sequence=1",
                    f"--entry=some:sequence={CHUNK}"], check=True)
    random = np.random.default_rng(0)
    sequences = [[(CHUNK, position) for position in (0, 6, 12, 15)]] + [list(positions(random)) for _ in range(12)]
    for calls in sequences:
        session = program.load(wafer).session(engine="strips")
        kept = {name: np.zeros((CAPACITY, HEADS * SIZE), "f4") for name in "kv"}
        for tokens, position in calls:
            given = {name: random.standard_normal((tokens, HEADS * SIZE), "f4") for name in "qkv"}
            for name, state in kept.items():
                state[position:position + tokens] = given[name]
            made = session.run({name: x[None] for name, x in given.items()}, entry="one" if tokens == 1 else "some",
                               arguments={"position": position})["y"][0]
            difference = np.abs(made - attend(given["q"], kept["k"], kept["v"], position)).max()
            assert difference < 1e-5, (calls, position, difference)
    print(f"{len(sequences)} sequences of calls agree")


main()
