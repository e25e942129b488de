# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes on with keys and values of few bits: sequences of a batch of two that go on from one another, in both engines.

usage: kv_states.py PROGRAM.wafer
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from wsec import program  # noqa: E402


def logits(engine):
    """After the same token in both sequences: before these go on from the second, and then."""
    session = program.load(sys.argv[1]).session(engine=engine)

    def step(first, second, position):
        inputs = {"input_ids": np.array([[first], [second]]), "position_ids": np.full((2, 1), position)}
        return session.run(inputs, entry="decode", arguments={"position": [position, position]})["logits"]

    for position, tokens in enumerate([(3, 5), (7, 2), (9, 9), (4, 8)]):
        step(*tokens, position)
    before = step(6, 6, 4)
    session.run(entry="reorder", arguments={"source": [1, 1], "position": [4, 4]})
    return before, step(6, 6, 4)


both = [logits(engine) for engine in ("strips", "wavelet")]
before, after = both[0]
print("second goes on:", (after[1] == before[1]).all(), "first goes on from it:", (after[0] == before[1]).all(),
      "and was another:", (before[0] != before[1]).any(), "engines equal:", all((x == y).all() for x, y in zip(*both)))
