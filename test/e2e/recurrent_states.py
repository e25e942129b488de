# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A recurrence with its states on the wafer (--states): logits of sequences that
begin at different calls of a batch, and begin anew, against onnxruntime, which
carries the states and begins with zeros.

usage: recurrent_states.py MODEL.onnx PROGRAM.wafer [--engine NAME] [--steps N] [--tolerance X] [--initial]

Sequence i begins at call i, and anew at call 9 + i: only its position says so. --initial: all
go on from states that the entry `begin` is given, and begin anew with zeros.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from references import session_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from wsec import program  # noqa: E402


def main():
    words = argparse.ArgumentParser()
    words.add_argument("model")
    words.add_argument("program")
    words.add_argument("--engine", default="wavelet")
    words.add_argument("--steps", type=int, default=16)
    words.add_argument("--batch", type=int, default=1)
    words.add_argument("--tolerance", type=float, default=1e-4)
    words.add_argument("--initial", action="store_true")
    words = words.parse_args()
    reference = session_of(words.model)
    kept = {each.name: np.zeros((words.batch, *each.shape[1:]), "f4") for each in reference.get_inputs()
            if each.name.startswith("past")}
    session = program.load(words.program).session(engine=words.engine)
    random, worst, most = np.random.default_rng(0), 0.0, 0.0
    positions = np.full(words.batch, int(words.initial))
    if words.initial:
        kept = {name: random.standard_normal(x.shape).astype("f4") for name, x in kept.items()}
        session.run(kept, entry="begin")
    for step in range(words.steps):
        ids = random.integers(3, 61, (words.batch, 1))
        for i in range(words.batch):
            if step in (-1 if words.initial else i, 9 + i):
                positions[i] = 0
                for x in kept.values():
                    x[i] = 0
        # Windows of keys that shift are such states, too, and their models have positions.
        given = {"input_ids": ids, "position_ids": positions[:, None], "cache_position": positions[:1]}
        given = {name: x for name, x in given.items() if name in [each.name for each in reference.get_inputs()]}
        results = session.run({name: x for name, x in given.items() if "decode." + name in session.program.inputs or name == "input_ids"}, entry="decode",
                              arguments={"position": positions if words.batch > 1 else positions[0]})
        made = dict(zip([each.name for each in reference.get_outputs()],
                        reference.run(None, kept | given)))
        kept = {name: made[name.replace("past_key_values", "present")] for name in kept}
        begun = [i for i in range(words.batch) if words.initial or step >= i]
        worst = max(worst, float(np.abs(results["logits"] - made["logits"])[begun].max()))
        most = max(most, float(np.abs(made["logits"]).max()))
        positions += 1
    assert most > 0.1, most
    print(f"largest difference {worst:.2g} in {words.steps} calls", "equal" if worst < words.tolerance * most else "DIFFERENT")


if __name__ == "__main__":
    main()
