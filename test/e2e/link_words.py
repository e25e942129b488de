#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the words that a placement says of links against those that a run counts.

  link_words.py MODEL --mesh 16x8 [--engine wavelet] [--work DIR] [FLAG ...]

MODEL is an .onnx file or a name of models/small_models.py; other flags are of wsec. Of each link, (PE, port), words of
each entry must be those counted; the fullest links must be those that the placement lists, with the words of each
stream. One line; exit code 0 or 1.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import small_models  # noqa: E402
from check_placement import PORTS, words_of_links, wrong_links  # noqa: E402
from commands import run  # noqa: E402


def counted(counters):
    """The same of a run."""
    return {port: np.concatenate(
        [np.tile(np.concatenate([np.full(count, int(words)) for words, count in rows["runs"]]),
                 (rows["y"][1] - rows["y"][0], 1))
         for rows in counters["maps"]["link_words_" + port]["rows"]]) for port in PORTS}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--mesh", required=True)
    parser.add_argument("--engine", default="wavelet")
    parser.add_argument("--work", type=Path, required=True)
    arguments, flags = parser.parse_known_args()

    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    model, inputs = small_models.obtain(arguments.model, work, 0)
    np.savez(work / "inputs.npz", **inputs)
    shapes = [f"--shape={name}={'x'.join(map(str, value.shape))}" for name, value in inputs.items()]
    program = work / "model.wafer"
    run(["wsec", model, "-o", program, f"--mesh={arguments.mesh}", "--quiet", *shapes,
         f"--dump-placement={work / 'placement.json'}", *flags])
    placement = json.loads((work / "placement.json").read_text())
    wrong = wrong_links(placement)
    wrong += [f"kernel '{kernel['name']}': {kernel['passed_unknown']}"
              for kernel in placement["kernels"] if "passed_unknown" in kernel]
    entries = [load["entry"] for load in placement["link_load"]]
    state = []
    for entry in sorted(entries, key=["load", "main"].index):
        common = ["wse-run", program, f"--weights={Path(model).parent}", "--quiet",
                  f"--engine={arguments.engine}", f"--entry={entry}",
                  f"--counters={work / 'counters.json'}"]
        if entry == "load":
            run([*common, f"--save-state={work / 'state'}"])
            state = [f"--load-state={work / 'state'}"]
        else:
            run([*common, "--inputs", work / "inputs.npz", *state])
        foretold = words_of_links(placement, entry)
        found = counted(json.loads((work / "counters.json").read_text()))
        for port in PORTS:
            for y, x in np.argwhere(foretold[port] != found[port])[:3]:
                wrong.append(f"{entry}: {foretold[port][y, x]} words out of ({x},{y}) to the "
                             f"{port}, a run counts {found[port][y, x]}")
    links = {entry: sum(int((words_of_links(placement, entry)[port] > 0).sum())
                        for port in PORTS[:4]) for entry in entries}
    print(f"{arguments.model} {arguments.mesh} {' '.join(flags)}: "
          f"{'; '.join(wrong) or 'ok'} (links with words: {links})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
