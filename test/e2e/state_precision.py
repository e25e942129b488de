# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a decoder with states is as far from f64 in 16 bits as rounding makes it:
the model `concat` of growing_graphs.py, token by token on the wafer, and in numpy
with each result rounded.

usage: state_precision.py MODEL.onnx PROGRAM.wafer f16|bf16
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
KINDS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}


def logits(weights, ids, kind):
    def rounded(x):
        return np.asarray(x).astype(kind).astype("f8")

    def heads(x, count):
        return rounded(x).reshape(len(ids), count, SIZE).transpose(1, 0, 2)

    words, positions, to_q, to_k, to_v, out, head = map(rounded, weights)
    x = rounded(words[ids] + positions[:len(ids)])
    q = heads(x @ to_q, HEADS)
    k, v = (np.repeat(heads(x @ to, SHARED), HEADS // SHARED, 0) for to in (to_k, to_v))
    scores = np.where(np.tri(len(ids)) > 0, q @ k.transpose(0, 2, 1) * SIZE**-0.5, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    y = shares / shares.sum(-1, keepdims=True) @ v
    y = rounded(y.transpose(1, 0, 2).reshape(x.shape))
    return rounded(rounded(x + rounded(y @ out)) @ head)


def main():
    model, path, kind = sys.argv[1:]
    weights = [numpy_helper.to_array(each) for each in onnx.load(model).graph.initializer]
    weights = [each for each in weights if each.ndim == 2]
    ids = np.random.default_rng(0).integers(3, 61, 16)
    session = program.load(path).session(engine="strips")
    made = [session.run({"input_ids": np.array([[word]]), "position_ids": np.array([[position]])}, entry="decode",
                        arguments={"position": position})["logits"][0, 0] for position, word in enumerate(ids)]
    exact = logits(weights, ids, KINDS["f64"])
    off, rounding = (np.sqrt(np.mean((x - exact) ** 2)) for x in
                     (np.array(made, "f8"), logits(weights, ids, KINDS[kind])))
    print(f"off by {off:.2g}, by rounding {rounding:.2g}:", "as rounded" if off < 1.1 * rounding else "MORE")


main()
