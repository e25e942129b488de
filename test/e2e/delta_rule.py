#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A gated delta rule of which one token is NaN is NaN where onnxruntime's is: delta_rule.py --work DIR --mesh WxH

All of a chunk: its products take tokens that follow times 0, and in PyTorch, too, that is NaN.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from commands import run
from transformers.models.qwen3_next.modeling_qwen3_next import torch_chunk_gated_delta_rule

TOKENS, CHUNK, HEADS, SIZE = 12, 8, 2, 4
NAMES = ["q", "k", "v", "decay", "beta"]


class DeltaRule(torch.nn.Module):
    def forward(self, q, k, v, decay, beta):
        return torch_chunk_gated_delta_rule(q, k, v, decay, beta, chunk_size=CHUNK)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--mesh", required=True)
    options = parser.parse_args()
    work, random = options.work, np.random.default_rng(0)
    work.mkdir(parents=True, exist_ok=True)
    given = {name: random.uniform(0, 1, (1, TOKENS, HEADS) + (SIZE,) * (name in "qkv")).astype("f4") for name in NAMES}
    given["decay"] *= -1
    torch.onnx.export(DeltaRule(), tuple(map(torch.from_numpy, given.values())), work / "m.onnx", dynamo=True,
                      input_names=NAMES, output_names=["y"], verbose=False)
    run(["wsec", work / "m.onnx", "-o", work / "m.wafer", f"--mesh={options.mesh}", "--quiet"])
    session, is_good = onnxruntime.InferenceSession(work / "m.onnx"), True
    for broken in ["", *NAMES]:
        fed = {name: array.copy() for name, array in given.items()}
        if broken:
            fed[broken][:, CHUNK + 2] = np.nan
        np.savez(work / "in.npz", **fed)
        run(["wse-run", work / "m.wafer", f"--weights={work}", "--inputs", work / "in.npz", "--outputs", work / "y.npz",
             "--quiet"])
        [expected], found = session.run(None, fed), np.load(work / "y.npz")["y"]
        is_right = np.allclose(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
        print(f"{broken or 'none'}: {np.isnan(found).any(axis=(0, 2, 3)).sum()} tokens are NaN, {'right' if is_right else 'wrong'}")
        is_good &= is_right
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
