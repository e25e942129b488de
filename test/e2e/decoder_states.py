# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder whose keys and values stay on the wafer: logits of a prompt and of the
tokens after it, call by call, against onnxruntime, which carries its caches.

usage: decoder_states.py MODEL.onnx PROGRAM.wafer [--engine NAME] [--chunk T] [--prompt N] [--steps N]

The program has the entries prefill, of T tokens a call, and decode; or, with a
chunk of 1, main alone. A prompt that
ends inside of a chunk leaves keys behind its end, which later calls write over.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from references import session_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from wsec import program, tools  # noqa: E402

TOLERANCE = 1e-4


class Reference:
    """onnxruntime, with caches of zeros."""

    def __init__(self, path):
        self.session = session_of(path)
        self.kept = {each.name: np.zeros((1, *each.shape[1:]), "f4") for each in self.session.get_inputs()
                     if each.name.startswith("past")}

    def __call__(self, inputs, position):
        names = [each.name for each in self.session.get_outputs()]
        given = dict(zip(names, self.session.run(names, inputs | self.kept | {"position": np.array([position])})))
        self.kept = {name: given[name.replace("past", "present")] for name in self.kept}
        return given["logits"]


def refused(session, inputs, entry):
    try:
        session.run(inputs, entry=entry, arguments={"position": 1 << 20})
    except tools.Error as error:
        return str(error)
    return "nothing"


def main():
    words = argparse.ArgumentParser()
    words.add_argument("model")
    words.add_argument("program")
    words.add_argument("--engine", default="wavelet")
    words.add_argument("--chunk", type=int, default=4)
    words.add_argument("--prompt", type=int, default=5)
    words.add_argument("--steps", type=int, default=16)
    words = words.parse_args()
    session, reference = program.load(words.program).session(engine=words.engine), Reference(words.model)
    random, position, worst, cycles = np.random.default_rng(0), 0, 0.0, []
    while position < words.prompt + words.steps:
        tokens = words.chunk if position < words.prompt else 1
        real = min(tokens, words.prompt - position) if position < words.prompt else 1
        inputs = {"input_ids": random.integers(0, 97, (1, tokens)), "position_ids": position + np.arange(tokens)[None]}
        entry = "main" if words.chunk == 1 else "prefill" if tokens > 1 else "decode"
        made = session.run(inputs, entry=entry, arguments={"position": position})["logits"]
        worst = max(worst, float(np.abs(made - reference(inputs, position))[:, :real].max()))
        cycles.append(session.counts.cycles)
        position += real
    print(f"largest difference {worst:.2g} in {len(cycles)} calls", "equal" if worst < TOLERANCE else "DIFFERENT")
    print("cycles", *map(int, cycles))
    print("behind the end:", refused(session, inputs, entry))


if __name__ == "__main__":
    main()
