# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder as exporters write it, whose past grows from call to call, with its
keys and values on the wafer (--kv-capacity): logits of a prompt and of the tokens
after it against onnxruntime, which carries pasts as long as they are.

usage: growing_states.py MODEL.onnx PROGRAM.wafer [--engine NAME] [--chunk T] [--prompt N] [--steps N] [--texts N]

A prompt that ends inside of a chunk leaves keys behind its end, which later calls
write over. Several texts, of prompts of other lengths, take turns on one wafer.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from references import session_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from wsec import program  # noqa: E402


class Reference:
    """onnxruntime, with pasts of the tokens so far, or, where the model fixes it, of the capacity."""

    def __init__(self, path):
        self.session = session_of(path)
        self.inputs = {each.name: each.shape for each in self.session.get_inputs()}
        self.outputs = [each.name for each in self.session.get_outputs()]
        self.kept = {each.name: np.zeros((1, *map(self.room, each.shape[1:])),
                                         "f2" if each.type == "tensor(float16)" else "f4")
                     for each in self.session.get_inputs() if each.name.startswith("past")}

        # What the host gives of them; a model without either looks its own up.
        is_placed = "cache_position" in self.inputs and "position_ids" not in self.inputs
        self.positions = "cache_position" if is_placed else "position_ids"

    @staticmethod
    def room(extent):
        return extent if isinstance(extent, int) else 0

    def positions_of(self, position, tokens):
        places = position + np.arange(tokens)
        return {"position_ids": places[None], "cache_position": places}

    def __call__(self, ids, position):
        tokens = ids.shape[1]
        given = {"input_ids": ids, "attention_mask": np.ones((1, position + tokens), "i8"),
                 **self.positions_of(position, tokens)}
        feeds = self.kept | {name: x for name, x in given.items() if name in self.inputs}
        made = dict(zip(self.outputs, self.session.run(None, feeds)))
        self.kept = {name: made[name.replace("past_key_values", "present")] for name in self.kept}
        return made[self.outputs[0]]


class Text:
    """Tokens by chance, how many the wafer has seen, how far logits were off, and how large they are."""

    def __init__(self, model, seed, prompt):
        self.reference, self.random, self.prompt = Reference(model), np.random.default_rng(seed), prompt
        self.position, self.worst, self.largest, self.state = 0, 0.0, 0.0, None

    def call(self, session, chunk):
        entry, tokens = ("prefill", chunk) if self.position < self.prompt else ("decode", 1)
        real = min(tokens, self.prompt - self.position) if entry == "prefill" else 1
        ids = self.random.integers(3, 61, (1, tokens))
        positions = self.reference.positions_of(self.position, tokens)
        inputs = {"input_ids": ids}
        if any(name.endswith(self.reference.positions) for name in session.program.inputs):
            inputs[self.reference.positions] = positions[self.reference.positions]
        results = session.run(inputs, entry=entry, arguments={"position": self.position})
        made = results[self.reference.outputs[0]]
        expected = self.reference(ids[:, :real], self.position)
        self.worst = max(self.worst, float(np.abs(made[:, :real] - expected).max()))
        self.largest, self.position = max(self.largest, float(np.abs(expected).max())), self.position + real


def main():
    words = argparse.ArgumentParser()
    words.add_argument("model")
    words.add_argument("program")
    words.add_argument("--engine", default="wavelet")
    words.add_argument("--chunk", type=int, default=4)
    words.add_argument("--prompt", type=int, default=6)
    words.add_argument("--steps", type=int, default=16)
    words.add_argument("--texts", type=int, default=1)
    words.add_argument("--tolerance", type=float, default=1e-4)
    words = words.parse_args()
    session, calls = program.load(words.program).session(engine=words.engine), 0
    texts = [Text(words.model, seed, words.prompt + 3 * seed) for seed in range(words.texts)]
    while open_texts := [text for text in texts if text.position < text.prompt + words.steps]:
        for text in open_texts:
            if words.texts > 1:
                session.clear_state() if text.state is None else setattr(session, "state", text.state)
            text.call(session, words.chunk)
            text.state = session.state if words.texts > 1 else None
            calls += 1
    worst = max(text.worst for text in texts)
    print(f"largest difference {worst:.2g} in {calls} calls", "equal" if worst < words.tolerance else "DIFFERENT")


if __name__ == "__main__":
    main()
