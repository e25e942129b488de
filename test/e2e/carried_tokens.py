# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The likeliest tokens behind a prompt, by onnxruntime, which carries all that a
call leaves, token by token, against those of `wse-run --generate`.

usage: carried_tokens.py MODEL.onnx IDS.npy TOKENS.npy
"""

import sys

import numpy as np
import onnxruntime


def main():
    model, prompt, tokens = sys.argv[1], np.load(sys.argv[2]).ravel(), np.load(sys.argv[3]).ravel()
    session = onnxruntime.InferenceSession(model)
    inputs = {each.name for each in session.get_inputs()}
    kept = {each.name: np.zeros([extent if isinstance(extent, int) else 0 for extent in each.shape], "f4")
            for each in session.get_inputs() if each.name.startswith("past")}
    expected, waiting, position = [], list(prompt), 0
    while len(expected) < len(tokens):
        given = {"input_ids": np.array([[waiting.pop(0)]], "i8"), "position_ids": np.array([[position]], "i8")}
        made = dict(zip([each.name for each in session.get_outputs()],
                        session.run(None, kept | {name: x for name, x in given.items() if name in inputs})))
        kept = {name: made[name.replace("past_key_values", "present")] for name in kept}
        position += 1
        if not waiting:
            expected.append(int(made["logits"][0, -1].argmax()))
            waiting = expected[-1:]
    assert len(set(expected)) > 1, expected
    assert list(tokens) == expected, (list(tokens), expected)
    print(f"{len(tokens)} tokens equal")


if __name__ == "__main__":
    main()
