#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""train_by_hand.py FOLDER PROGRAM --mesh=WxH: compiles FOLDER/PROGRAM.mlir, a
program with gradients, makes steps of it by each engine, and compares losses
and parameters with those that numpy computes in float64 by the same rules."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from commands import run  # noqa: E402

STEPS, CALLS, RATE = 4, 3, 0.1


# Each gives the result and what a gradient of it is to the parameters.

def linear(p, x):
    def backward(dy):
        return {"fc.weight": dy.T @ x, "fc.bias": dy.sum(0), "scale": dy.sum(0)}
    return x @ p["fc.weight"].T + p["fc.bias"] + p["scale"], backward


def tied(p, ids):
    rows, table = p["wte"][ids[0]], p["wte"]

    def backward(dy):
        gradient = dy[0].T @ rows
        np.add.at(gradient, ids[0], dy[0] @ table)
        return {"wte": gradient}
    return (rows @ table.T)[None], backward


def slices(p, x):
    q, k = x[0] @ p["qk"][:, :3], x[0] @ p["qk"][:, 3:]

    def backward(dy):
        return {"qk": x[0].T @ np.concatenate([dy[0] * k, dy[0] * q], axis=1)}
    return (q * k)[None], backward


def sgd(value, gradient, step, memory):
    value -= RATE * gradient


def adamw(value, gradient, step, memory):
    """As torch.optim.AdamW by default."""
    first, second = memory.setdefault("m", np.zeros((2, *value.shape)))
    value *= 1 - RATE * 0.01
    first += 0.1 * (gradient - first)
    second += 0.001 * (gradient**2 - second)
    root = np.sqrt(second / (1 - 0.999**step)) + 1e-8
    value -= RATE * first / (1 - 0.9**step) / root


def expected(forward, start, inputs, targets, rule):
    """The last loss of each step, and the parameters after all."""
    parameters = {name: value.astype(np.float64) for name, value in start.items()}
    memories = {name: {} for name in parameters}
    losses = []
    for step in range(STEPS):
        sums = {name: np.zeros_like(value) for name, value in parameters.items()}
        for call in range(CALLS):
            y, backward = forward(parameters, inputs[step, call])
            error = y - targets[step, call]
            loss = np.mean(error**2)
            for name, gradient in backward(2 * error / error.size).items():
                sums[name] += gradient
        losses.append(loss)
        for name, value in parameters.items():
            rule(value, sums[name] / CALLS, step + 1, memories[name])
    return losses, parameters


def programs():
    """The function, where its parameters start, its inputs and targets."""
    random = np.random.default_rng(7)

    def numbers(*shape):
        return random.standard_normal((STEPS, CALLS, *shape)).astype(np.float32)

    ids = random.integers(-7, 7, (STEPS, CALLS, 1, 6))
    ids[..., 1] = ids[..., 0]  # what is named twice adds up
    return {
        "linear": (linear, {"fc.weight": np.full((5, 6), 0.25), "fc.bias": np.zeros(5),
                            "scale": np.zeros(5)}, ("x", numbers(8, 6)), numbers(8, 5)),
        "tied": (tied, {"wte": np.arange(28).reshape(7, 4) / 28}, ("ids", ids), numbers(1, 6, 7)),
        "slices": (slices, {"qk": np.full((4, 6), 0.5)}, ("x", numbers(1, 5, 4)), numbers(1, 5, 3)),
    }


def main():
    folder, name, mesh = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    forward, start, (input_name, inputs), targets = programs()[name]
    program = folder / f"{name}.wafer"
    run(["wsec", folder / f"{name}.mlir", "-o", program, mesh, "--quiet"])
    np.save(folder / "input.npy", inputs)
    np.save(folder / "targets.npy", targets)
    for rule in (sgd, adamw):
        losses, updated = expected(forward, start, inputs, targets, rule)
        results = []
        for engine in ("wavelet", "strips"):
            out = folder / f"{name}.{rule.__name__}.{engine}.npz"
            run(["train-steps", program, out, engine, rule.__name__, str(RATE),
                 f"{input_name}={folder / 'input.npy'}", f"t={folder / 'targets.npy'}"])
            with np.load(out) as file:
                results.append({key: file[key] for key in file if key != "cycles"})
        for other in results[1:]:
            for key, value in results[0].items():
                assert value.tobytes() == other[key].tobytes(), f"{key} differs by engine"
        np.testing.assert_allclose(results[0]["loss"].ravel(), losses, rtol=1e-5)
        for key, value in updated.items():
            np.testing.assert_allclose(results[0]["parameter." + key], value, rtol=2e-5, atol=2e-6,
                                       err_msg=f"{rule.__name__}: {key}")
    print(f"{name}: {STEPS} steps as numpy's, by both engines with the same bits")


if __name__ == "__main__":
    main()
