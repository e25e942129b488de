# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversations of different lengths in one call: logits of each against onnxruntime,
which has it alone.

usage: batch_states.py ALONE.onnx PROGRAM.wafer [--growing] [--engine NAME] [--chunk T] [--steps N]

ALONE has a batch of 1, or, with --growing, takes one, and pasts of any length; the program one of as many as there are prompts, each of
which ends at a place of its own inside of a chunk.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import growing_states
from decoder_states import TOLERANCE, Reference

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from wsec import program  # noqa: E402

PROMPTS = [2, 9, 5, 1]


def main():
    words = argparse.ArgumentParser()
    words.add_argument("model")
    words.add_argument("program")
    words.add_argument("--growing", action="store_true")
    words.add_argument("--engine", default="wavelet")
    words.add_argument("--chunk", type=int, default=4)
    words.add_argument("--steps", type=int, default=8)
    words = words.parse_args()
    session = program.load(words.program).session(engine=words.engine)
    reference = growing_states.Reference if words.growing else Reference
    alone, random = [reference(words.model) for _ in PROMPTS], np.random.default_rng(0)
    position, worst, calls = np.zeros(len(PROMPTS), int), 0.0, 0
    while (left := np.array(PROMPTS) - position).max() > -words.steps:
        tokens = words.chunk if left.max() > 0 else 1
        # Who has no token left of its prompt writes what its next call writes over.
        real = np.clip(left, 0, tokens) if tokens > 1 else np.ones_like(left)
        ids = random.integers(3, 61, (len(PROMPTS), tokens))
        places = position[:, None] + np.arange(tokens)
        made = session.run({"input_ids": ids, "position_ids": places}, entry="prefill" if tokens > 1 else "decode",
                           arguments={"position": position})
        made = made["logits" if "logits" in made else "logits_out"]
        for each, count in enumerate(real):
            if count:
                its = {"input_ids": ids[each:each + 1, :count], "position_ids": places[each:each + 1, :count]}
                expected = alone[each](its["input_ids"] if words.growing else its, position[each])
                worst = max(worst, float(np.abs(made[each, :count] - expected[0]).max()))
        position, calls = position + real, calls + 1
    print(f"largest difference {worst:.2g} in {calls} calls at {', '.join(map(str, position))}",
          "equal" if worst < TOLERANCE else "DIFFERENT")


main()
