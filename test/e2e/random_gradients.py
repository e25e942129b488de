# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of random small models on random meshes, compared with PyTorch's.

  random_gradients.py --count 40 [--first 0] [--seed 0] [--work DIR] [--only FAMILY]

Models are those of random_models.py; the loss is the mean square of their first output of floats. Gradients of all inputs and
constants of floats are wrong if they are off by more than 1e-4 of the largest of theirs, by more than 1e-6 (of the largest of
all, if that is more than 1), and by more than four times what PyTorch in f32 is off by: many are 0 but for rounding, which what
comes behind may magnify. A refusal is counted.
"""

import argparse
import collections
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto

import torch_graph
from gradients import error_of, results_of

sys.path.insert(0, str(Path(__file__).parent / "models"))
from random_graphs import FAMILIES, RandomModel  # noqa: E402
from random_models import REFUSALS, reason  # noqa: E402

TOLERANCE = 1e-4
TORCH = threading.Lock()  # around what PyTorch computes in one type


def run_one(seed, index, only, work):
    """What became of model `index`: a word and an explanation."""
    made = RandomModel([seed, index])
    family = only or FAMILIES[index % len(FAMILIES)]
    mesh = "{}x{}".format(*made.pick((1, 1), *[(w, h) for w in range(1, 10) for h in range(1, 8)]))
    where = f"{index} ({family}, {mesh})"
    work = work / f"{seed}-{index}"
    work.mkdir(exist_ok=True)
    path = work / "m.onnx"
    made.write(path, made.build(family))
    model = onnx.load(path)
    result = next((o.name for o in model.graph.output if o.type.tensor_type.elem_type == TensorProto.FLOAT), None)
    inputs = [name for name, value in made.values.items() if value.dtype == np.float32]
    constants = [i.name for i in model.graph.initializer if i.data_type == TensorProto.FLOAT and len(i.dims)]
    if not result or not inputs + constants:
        return "none", where, "no floats"
    with TORCH:
        shape = torch_graph.evaluate(model.graph, {k: torch_graph.tensor(v) for k, v in made.values.items()})[result].shape
    targets = np.random.default_rng(index).standard_normal(shape).astype("f4")

    def gradients(kind):
        with TORCH:
            torch_graph.FLOAT = kind
            return torch_graph.gradients(
                model, made.values, lambda v: ((v[result] - torch_graph.tensor(targets)) ** 2).mean(), inputs + constants)
    number, expected = gradients(torch.float64)
    command = ["wsec", path, "-o", work / "g.wafer", f"--mesh={mesh}", "--quiet", "--loss=mean-square", f"--loss-of={result}",
               "--train=*", "--gradients-as-results", *(f"--gradient-of={name}" for name in inputs)]
    compiled = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if compiled.returncode == 1 and any(text in compiled.stderr for text in
                                            (*REFUSALS, "nothing trains", "in a way whose gradient is no result")):
        return "refused", where, compiled.stderr
    if compiled.returncode:
        return "crashed", where, compiled.stderr[-2000:]
    actual = results_of(work / "g.wafer", made.values | {"targets": targets}, "strips", work)
    scale = 1e-2 * max(1.0, *(np.abs(g).max(initial=0) for g in expected.values()))
    if not abs(actual["loss"] - number) <= TOLERANCE * max(1, abs(number)):
        return "wrong", where, f"the loss is {actual['loss']}, expected {number}"
    errors = {name: error_of(gradient, actual[name + ".grad"], scale) for name, gradient in expected.items()
              if name + ".grad" in actual}
    if all(error <= TOLERANCE for error in errors.values()):
        return "equal", where, ""
    _, near = gradients(torch.float32)
    for name, error in errors.items():
        if not error <= max(TOLERANCE, 4 * error_of(expected[name], near[name], scale)):
            return "wrong", where, f"{name}{expected[name].shape} by {error:.1e}, PyTorch by " \
                                   f"{error_of(expected[name], near[name], scale):.1e}"
    return "equal", where, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="number of the first model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=FAMILIES)
    parser.add_argument("--work", type=Path, default="work")
    parser.add_argument("--reasons", action="store_true", help="list why models were refused")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    counts, reasons = collections.Counter(), collections.Counter()
    numbers = range(arguments.first, arguments.first + arguments.count)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 2)) as pool:
        for word, where, why in pool.map(lambda i: run_one(arguments.seed, i, arguments.only, arguments.work), numbers):
            counts[word] += 1
            reasons[reason(why)] += word == "refused"
            if word in ("wrong", "crashed"):
                print(f"{word}: {where}: {why}", flush=True)
    if arguments.reasons:
        print("\n".join(f"{count:5} {text}" for text, count in reasons.most_common()))
    print(", ".join(f"{counts[word]} {word}" for word in ("equal", "refused", "none", "wrong", "crashed")))
    return 1 if counts["wrong"] or counts["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
