# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of all parameters of a model, as the wafer computes them, held against PyTorch's autograd in f64.

Usage: model_gradients.py WORK MODEL.onnx LOSS --mesh WxH, LOSS cross-entropy, mean-square, or result, the model's own; beside the model lies
MODEL.npz with its inputs. Targets are random. Other flags go to wsec. Each gradient, relative to its largest element, is off
by at most --tolerance; to a thousandth of the largest of all where its own are less, as those of the biases of keys, which are 0
but for rounding. A line an engine, and of each parameter that does not train. With several --plan, gradients by any two plans
are apart by 1e-6 of its largest element at most, or of a hundredth of the largest of all; no two programs are the same. PEs are
written to within 5 % of the SRAM that each plan has.
"""

import argparse
import json
import pathlib

import numpy as np
import onnx
import torch
from onnx import numpy_helper

import torch_graph
from gradients import ENGINES, compile_gradients, error_of, results_of


def largest_of(gradient):
    return np.abs(gradient).max()


def compare_plans(gradients, programs, expected, mesh):
    """Gradients of each plan, by name: what any two are apart by, relative to the largest element."""
    least = 1e-2 * max(map(largest_of, expected.values()))
    apart = 0
    for name in gradients[0]:
        values = np.stack([its[name].astype("f8") for its in gradients])
        difference = np.ptp(values, axis=0).max() / max(largest_of(expected[name]), least)
        apart = max(apart, difference)
        if not difference <= 1e-6:
            print(f"wrong: plans differ in {name} by {difference:.1e}")
    if len(set(programs)) < len(programs):
        print("wrong: two plans have the same program")
    ways = {b"".join(its[name].tobytes() for name in its) for its in gradients}
    print(f"{len(programs)} plans {mesh}: {len(ways)} with bits of their own, apart by {apart:.1e} at most")


def written_of_planned(work):
    """Of the SRAM that the plan has for the fullest PE, what part the run on wavelet has written up to."""
    plan, run = (json.loads((work / name).read_text()) for name in ("plan.json", "run.json"))
    return run["sram"]["written_bytes"] / plan["training"]["considered"][0]["sram_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("loss", choices=["cross-entropy", "mean-square", "result"])
    parser.add_argument("--mesh", action="append", required=True)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--engine", action="append")
    parser.add_argument("--plan", action="append")
    arguments, flags = parser.parse_known_args()
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    model = onnx.load(arguments.model)
    with np.load(arguments.model.with_suffix(".npz")) as file:
        inputs = {name: file[name] for name in file}
    result = model.graph.output[0].name
    shape = torch_graph.evaluate(model.graph, {k: torch_graph.tensor(v) for k, v in inputs.items()})[result].shape
    random = np.random.default_rng(1)
    if arguments.loss != "cross-entropy":
        targets = random.standard_normal(shape).astype("f4")
    else:
        targets = random.integers(0, shape[-1], shape[:-1])
        targets.flat[::7] = -100

    def loss(values):
        y, t = values[result], torch_graph.tensor(targets)
        if arguments.loss == "result":
            return y
        if arguments.loss == "mean-square":
            return ((y - t) ** 2).mean()
        return torch.nn.functional.cross_entropy(y.flatten(0, -2), t.flatten())

    floats = [i.name for i in model.graph.initializer
              if numpy_helper.to_array(i).dtype.kind == "f" and len(i.dims) and np.prod(i.dims)]
    number, expected = torch_graph.gradients(model, inputs, loss, floats)
    scale = 1e-3 * max(map(largest_of, expected.values()))
    for mesh in arguments.mesh:
        gradients, programs, written = [], [], []
        for plan in arguments.plan or [""]:
            program = compile_gradients(arguments.model, mesh, work, f"--loss={arguments.loss}", "--train=*", *flags,
                                        *([f"--training-plan={plan}"] if plan else []))
            programs.append(program.read_bytes())
            first = None
            for engine in arguments.engine or ENGINES:
                actual = results_of(program, inputs | ({} if arguments.loss == "result" else {"targets": targets}), engine, work)
                first = first or actual
                names = [name for name in floats if name + ".grad" in actual]
                errors = {name: error_of(expected[name], actual[name + ".grad"], scale) for name in names}
                for name, error in errors.items():
                    if not error <= arguments.tolerance:
                        print(f"wrong: {name} by {error:.1e}")
                good = sum(error <= arguments.tolerance for error in errors.values())
                if not abs(float(actual["loss"]) - number) <= 1e-5 * max(1, abs(number)):
                    print(f"wrong: the loss is {float(actual['loss'])}, expected {number}")
                if any(first[name].tobytes() != actual[name].tobytes() for name in first):
                    print(f"wrong: {engine} and another engine differ")
                print(f"{engine} {mesh} {good} of {len(errors)}, largest error {max(errors.values()):.1e}")
            if arguments.plan:
                written.append(written_of_planned(work))
            gradients.append({name: first[name + ".grad"] for name in names})
        if arguments.plan:
            compare_plans(gradients, programs, expected, mesh)
            good = 0.95 <= min(written) and max(written) <= 1
            print(f"{'' if good else 'wrong: '}written {100 * min(written):.1f} to {100 * max(written):.1f} % of the SRAM planned")
    for name in floats:
        if name not in names:
            print(f"does not train: {name} {expected[name].shape}, gradient up to {np.abs(expected[name]).max():.1e}")


if __name__ == "__main__":
    main()
