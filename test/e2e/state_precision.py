# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a decoder with states is as far from f64 in 16 bits as rounding makes it:
the model `concat` of growing_graphs.py, token by token on the wafer, and in numpy
with each result rounded, or, of kv-.., keys and values alone. Both engines have equal bits.

usage: state_precision.py MODEL.onnx PROGRAM.wafer f16|bf16|kv-f16|kv-bf16|kv-int8 [COLUMNS]

COLUMNS: that a head has on the wafer (default: 4).
"""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from wsec import program  # noqa: E402

SIZE, HEADS, SHARED = 8, 4, 2
KINDS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


def in_bytes(x, columns):
    """Multiples of the 127th part of what is largest of a token and head in a column."""
    parts = x.reshape(*x.shape[:2], columns, -1)
    scale = np.maximum(np.abs(parts).max(-1, keepdims=True), 2.0**-14).astype("f2").astype("f8")
    return (np.rint(parts * (127 / scale)) * scale / 127).reshape(x.shape)


def logits(weights, ids, kind, columns=4):
    """In f64, where `kind` is no precision."""
    def to(kind):
        return lambda x: np.asarray(x).astype(KINDS.get(kind, np.float64)).astype("f8")

    rounded, kept = to(kind), to(kind.removeprefix("kv-"))
    if kind == "kv-int8":
        def kept(x):
            return in_bytes(x, columns)

    def heads(x, count):
        return rounded(x).reshape(len(ids), count, SIZE).transpose(1, 0, 2)

    words, positions, to_q, to_k, to_v, out, head = map(rounded, weights)
    x = rounded(words[ids] + positions[:len(ids)])
    q = heads(x @ to_q, HEADS)
    k, v = (np.repeat(kept(heads(x @ each, SHARED)), HEADS // SHARED, 0) for each in (to_k, to_v))
    scores = np.where(np.tri(len(ids)) > 0, q @ k.transpose(0, 2, 1) * SIZE**-0.5, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    y = shares / shares.sum(-1, keepdims=True) @ v
    y = rounded(y.transpose(1, 0, 2).reshape(x.shape))
    return rounded(rounded(x + rounded(y @ out)) @ head)


def main():
    model, path, kind, *columns = sys.argv[1:]
    weights = [numpy_helper.to_array(each) for each in onnx.load(model).graph.initializer]
    weights = [each for each in weights if each.ndim == 2]
    ids = np.random.default_rng(0).integers(3, 61, 16)
    sessions = [program.load(path).session(engine=engine) for engine in ("strips", "wavelet")]
    made, other = (np.array([session.run({"input_ids": np.array([[word]]), "position_ids": np.array([[position]])}, entry="decode",
                                         arguments={"position": position})["logits"][0, 0] for position, word in enumerate(ids)])
                   for session in sessions)
    exact, expected = (logits(weights, ids, each, *map(int, columns)) for each in ("f64", kind))
    off, rounding, beside = (np.sqrt(np.mean((np.array(x, "f8") - y) ** 2)) for x, y in
                             ((made, exact), (expected, exact), (made, expected)))
    print(f"off by {off:.2g}, by rounding {rounding:.2g}, beside it {beside:.2g}:", "as rounded" if off < 1.1 * rounding else "MORE",
          "in both engines" if made.tobytes() == other.tobytes() else "in ONE")


main()
