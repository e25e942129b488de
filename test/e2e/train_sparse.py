#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training with sparse weights: losses, weights and masks of each rule are those of PyTorch, which makes the others 0 in a dense model
in f64; what is 0 stays exactly 0. A run that goes on has the masks it had, and so have several wafers. Cycles and bytes follow the
weights that are kept. What was learnt sparse is learnt on dense.

Usage: train_sparse.py WORK [RULE | cycles | none]...
"""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.numpy import load_file

import torch_graph

sys.path.insert(0, str(Path(__file__).parent / "models"))
import sparse_masks  # noqa: E402

LAYERS, WIDTH, VOCABULARY, SEQUENCE, BATCH, STEPS, RATE = 2, 32, 97, 16, 4, 50, 3e-2
SPARSITY, EVERY, STOP, DROP = 0.75, 10, 40, 0.3
CONFIG = f"""model: {{preset: tiny, layers: {LAYERS}, width: {WIDTH}, heads: 2, vocabulary: {VOCABULARY}, positions: {SEQUENCE}}}
batch_size: {BATCH}
sequence: {SEQUENCE}
training: {{tokens: tokens.npy, lr: {RATE}, optimizer: sgd, momentum: 0.9, mesh: 5x3, log: log.jsonl, cache: programs, quiet: true}}
"""
SPARSE = f"""sparsity:
  algorithm: RULE
  sparsity: {SPARSITY}
  update: {{freq: {EVERY}, stop: {STOP}}}
  drop_fraction: {{type: cosine, init: {DROP}}}
"""


class Work:
    def __init__(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder = folder
        self.tokens = np.random.default_rng(2).integers(0, VOCABULARY, STEPS * BATCH * SEQUENCE + 1)
        np.save(folder / "tokens.npy", self.tokens)
        (folder / "dense.yaml").write_text(CONFIG)
        for rule in ("static", "gmp", "set", "rigl"):
            (folder / f"{rule}.yaml").write_text(CONFIG + SPARSE.replace("RULE", rule))

    def run(self, *command, code=0):
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if result.returncode != code:
            sys.exit(f"$ {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
        return result.stdout + result.stderr

    def train(self, config, *flags, steps=STEPS, code=0):
        return self.run("wsec", "train", config, f"--steps={steps}", *flags, code=code)

    def log(self):
        return [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]

    def losses(self):
        return [line["loss"] for line in self.log()]

    def saved(self, folder, file="model"):
        return load_file(max((self.folder / folder).glob("step-*")) / f"{file}.safetensors")

    def graph(self):
        return onnx.load(next((self.folder / "programs").glob("*.onnx"))).graph


def is_sparse(name):
    return name.endswith(".weight") and (".attention." in name or ".feed_forward." in name)


def count(sparsity, size):
    return math.floor((1 - sparsity) * size + 0.5)


def groups(array):
    """Of each row, 64 columns at a time."""
    return [(row, slice(first, first + 64)) for row in range(len(array)) for first in range(0, array.shape[1], 64)]


def largest(score, among, number):
    """Of the places `among`, of equal scores the first."""
    order = sorted(np.flatnonzero(among), key=lambda i: (-score[i], i))
    chosen = np.zeros(len(score), bool)
    chosen[order[:number]] = True
    return chosen


def first_mask(rule, name, weight):
    """By random scores; all of what is pruned later."""
    if rule == "gmp":
        return np.ones(weight.shape, bool)
    return sparse_masks.kept(name, weight, 1, SPARSITY)


def next_mask(rule, name, mask, weight, gradient, step):
    mask = mask.copy()
    share = DROP / 2 * (1 + math.cos(math.pi * step / STOP))
    score = np.abs(gradient)
    if rule == "set":
        score = sparse_masks.scores(name, weight, "random", 0, first=step << 32)
    for at in groups(mask):
        kept, size = mask[at], mask[at].size
        if rule == "gmp":
            left = max(0, 1 - step / STOP)
            mask[at] = largest(np.abs(weight[at]), kept, count(SPARSITY * (1 - left**3), size))
            continue
        moved = min(math.floor(share * kept.sum() + 0.5), size - kept.sum())
        stay = largest(np.abs(weight[at]), kept, kept.sum() - moved)
        mask[at] = stay | largest(score[at].astype(np.longdouble), ~kept, moved)
    return mask


def expected(rule, graph, tokens, names):
    """Losses, weights and masks behind them."""
    values = {i.name: torch_graph.tensor(numpy_helper.to_array(i)) for i in graph.initializer}
    weights = {name: values[name].clone().requires_grad_() for name in names}
    masks = {name: first_mask(rule, name, weights[name].detach().numpy()) for name in names if is_sparse(name)}
    momentum = {name: torch.zeros_like(weight) for name, weight in weights.items()}

    def apply():
        for name, mask in masks.items():
            for tensor in (weights[name].data, momentum[name]):
                tensor[torch.tensor(~mask)] = 0
    apply()
    losses = []
    for step in range(STEPS):
        starts = [(step * BATCH + j) * SEQUENCE for j in range(BATCH)]
        ids = torch.tensor(np.array([tokens[s:s + SEQUENCE + 1] for s in starts]))
        results = torch_graph.evaluate(graph, {graph.input[0].name: ids[:, :-1], **weights})
        loss = torch.nn.functional.cross_entropy(results[graph.output[0].name].flatten(0, 1), ids[:, 1:].flatten())
        losses.append(loss.item())
        gradients = dict(zip(weights, torch.autograd.grad(loss, weights.values())))
        if rule != "static" and step and step % EVERY == 0 and step < STOP + EVERY * (rule == "gmp"):
            for name, mask in masks.items():
                masks[name] = next_mask(rule, name, mask, weights[name].detach().numpy(), gradients[name].numpy(), step)
            apply()
        for name, weight in weights.items():
            gradient = gradients[name]
            if name in masks:
                gradient = gradient * torch.tensor(masks[name])
            momentum[name] = 0.9 * momentum[name] + gradient if step else gradient
            weight.data -= RATE * momentum[name]
    return losses, {name: weight.detach().numpy() for name, weight in weights.items()}, masks


def learns(work, rule):
    work.train(f"{rule}.yaml", f"--checkpoint-dir={rule}")
    losses, weights = work.losses(), work.saved(rule)
    density = [line["density"] for line in work.log()]
    wanted, end, masks = expected(rule, work.graph(), work.tokens, weights)
    worst = max(abs(a - b) / b for a, b in zip(losses, wanted))
    assert len(losses) == STEPS and worst <= 1e-6, (rule, worst, losses, wanted)
    state = work.saved(rule, "optimizer")
    zeros = moved = 0
    for name, weight in weights.items():
        assert np.abs(weight - end[name]).max() <= 2e-6, (rule, name, np.abs(weight - end[name]).max())
        key = f"optimizer.state.{name}.mask"
        assert (key in state) == (name in masks), (rule, name)
        if name not in masks:
            continue
        mask = state[key]
        assert (mask == masks[name]).all(), (rule, name, (mask != masks[name]).sum())
        assert not weight[~mask].any() and not state[f"optimizer.state.{name}.momentum_buffer"][~mask].any(), (rule, name)
        zeros += (~mask).sum()
        moved += (mask & ~first_mask(rule, name, weight)).sum()
    assert abs(density[-1] - (1 - SPARSITY)) < 1e-9 or rule == "gmp" and density[0] == 1 and density[-1] <= 0.25, density
    assert bool(moved) == (rule in ("set", "rigl")), moved
    print(f"{rule}: {STEPS} steps, loss {losses[0]:.4f} to {losses[-1]:.4f}, off by at most {worst:.1e}; "
          f"{zeros} weights are 0, {moved} have grown")
    # A run that is resumed, and several wafers, give the same bits.
    if rule in ("static", "set"):  # as the others
        return
    work.train(f"{rule}.yaml", f"--checkpoint-dir={rule}-again", steps=25)
    work.train(f"{rule}.yaml", f"--checkpoint-dir={rule}-again", "--resume", "--num-systems=2")
    assert work.losses() == losses
    for file in ("model", "optimizer"):
        again, first = work.saved(f"{rule}-again", file), work.saved(rule, file)
        assert again.keys() == first.keys() and all((again[name] == first[name]).all() for name in first)
    text = work.train(f"{rule}.yaml", f"--checkpoint-dir={rule}-again", "--resume", "--sparsity=0.5", code=1)
    assert "of another model" in text, text


def fine_tuned(work):
    """From the weights of a sparse run, with all of them."""
    model = next((work.folder / "programs").glob("*.onnx"))
    run = max((work.folder / "static").glob("step-*"))
    work.run(sys.executable, "-m", "wsec.weights", model, run, "-o", run / "m.onnx")
    flags = [f"--tokens={work.folder / 'tokens.npy'}", f"--sequence={SEQUENCE}", f"--batch={BATCH}", "--optimizer=sgd", f"--lr={RATE}",
             "--mesh=5x3", "--quiet", "--cache=programs", "--log=log.jsonl", "--checkpoint-dir=tuned"]
    before = work.saved("static")
    work.train(run / "m.onnx", *flags, steps=5)
    losses, after = work.losses(), work.saved("tuned")
    name = next(filter(is_sparse, after))
    assert (after[name][before[name] == 0] != 0).mean() > 0.9
    print(f"then dense: loss {losses[0]:.4f} to {losses[-1]:.4f}")


def follows(work):
    """Cycles and bytes of a step by how many of 64 weights are kept: Amdahl's line, from all and one of them."""
    (work.folder / "wide.yaml").write_text(
        "model: {preset: tiny, layers: 2, width: 128, heads: 4, vocabulary: 97, positions: 32}\nbatch_size: 1\nsequence: 32\n"
        "training: {tokens: tokens.npy, mesh: 16x8, log: log.jsonl, cache: wide, quiet: true, report: report.json}\n")

    def step(kept):
        work.train("wide.yaml", f"--sparsity={max(1 - kept / 64, 1e-3)}", steps=1)
        report = json.loads((work.folder / "report.json").read_text())
        parts = {part["name"]: part["cycles"] for part in report["training"]["step"]["parts"]}
        return report["training"]["step"]["cycles"], report["training"]["step"]["weight_bytes_down"], parts
    (all_kept, most_bytes, most), (one_kept, least_bytes, _) = step(64), step(1)
    share = (one_kept / all_kept - 1 / 64) / (1 - 1 / 64)
    print(f"all kept: {all_kept:.0f} cycles, {most_bytes} bytes; a = {share:.3f}: " + ", ".join(f"{n} {c:.0f}" for n, c in most.items()))
    kernels = [kernel for kernel in json.loads((work.folder / "report.json").read_text())["compilation"]["kernels"] if "sparse" in kernel]
    seen = {end: sum(kernel["sparse"]["weights"] for kernel in kernels if kernel["onnx_nodes"][0].endswith(end))
            for end in ("", "/recompute", "/backward")}
    # Both layers, of 12 width^2 weights: forward, and for the gradients of what they are multiplied by.
    once = 2 * 12 * 128 * 128
    assert seen["/backward"] == once and seen[""] == 2 * once + seen["/recompute"], seen
    for kept in (32, 16, 6):
        cycles, down, parts = step(kept)
        line = share + (1 - share) * kept / 64
        off = cycles / all_kept / line - 1
        assert most_bytes - down == 6 * seen[""] * (64 - kept) // 64, (kept, most_bytes - down, seen)
        print(f"{kept} of 64: {cycles:.0f} cycles, {all_kept / cycles:.2f} times as fast, Amdahl {1 / line:.2f}, {100 * off:+.1f} %; {down} bytes; "
              + ", ".join(f"{n} {c:.0f}" for n, c in parts.items()))
        assert abs(off) <= 0.05, off


def transposed(work):
    """Of weights that are stored [out, in] groups are of the first dimension; the last is shorter."""
    random, helper = np.random.default_rng(1), onnx.helper
    shapes = {"fc1.weight": (150, 20), "fc2.weight": (90, 150), "out": (90, 5)}
    start = {name: (random.standard_normal(shape) / 5).astype("f4") for name, shape in shapes.items()}
    nodes = [helper.make_node(op, inputs, [output], name=output, **more) for op, inputs, output, more in (
        ("Gemm", ["x", "fc1.weight"], "h", {"transB": 1}), ("Tanh", ["h"], "a", {}),
        ("Gemm", ["a", "fc2.weight"], "b", {"transB": 1}), ("Tanh", ["b"], "c", {}), ("MatMul", ["c", "out"], "y", {}))]
    graph = helper.make_graph(
        nodes, "m", [helper.make_tensor_value_info("x", 1, ["n", 20])], [helper.make_tensor_value_info("y", 1, ["n", 5])],
        [numpy_helper.from_array(value, name) for name, value in start.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), work.folder / "m.onnx")
    data = {name: random.standard_normal((40, width)).astype("f4") for name, width in (("x", 20), ("targets", 5))}
    np.savez(work.folder / "data.npz", **data)
    work.train("m.onnx", "--data=data.npz", "--loss=mean-square", "--optimizer=sgd", "--lr=0.1", "--batch=4", "--mesh=5x3", "--quiet",
               "--cache=other", "--log=log.jsonl", "--sparsity=0.6", "--sparsity-filter=fc*", "--seed=3", steps=10)
    weights = {name: torch_graph.tensor(array) for name, array in start.items()}
    masks = {name: torch.tensor(sparse_masks.kept(name, start[name], 0, 0.6, seed=3)) if name != "out" else True for name in start}
    weights = {name: (weight * masks[name]).requires_grad_() for name, weight in weights.items()}
    for step, found in enumerate(work.losses()):
        x, targets = (torch_graph.tensor(array[4 * step:4 * step + 4].astype("f8")) for array in data.values())
        loss = (torch_graph.evaluate(graph, {"x": x, **weights})["y"] - targets).square().mean()
        assert abs(found / loss.item() - 1) <= 1e-6, (step, found, loss)
        for (name, weight), gradient in zip(weights.items(), torch.autograd.grad(loss, weights.values())):
            weight.data -= 0.1 * gradient * masks[name]
    print("stored transposed: as PyTorch")


def refusals(work):
    bad = work.folder / "bad.yaml"
    bad.write_text(CONFIG + "sparsity: {algorithm: static, sparsity: 0.5, drop_fraction: {type: linear}}\n")
    for message, config, flags, code in (
            ("--sparsity wants a share from 0 to below 1, found 1", "dense.yaml", ["--sparsity=1"], 2),
            ("--sparsity-algorithm wants static, gmp, set or rigl, found 'snip'", "dense.yaml", ["--sparsity-algorithm=snip"], 2),
            ("--sparsity-method wants random or topk, found 'best'", "dense.yaml", ["--sparsity-method=best"], 2),
            ("--sparsity-initial goes with --sparsity-algorithm=gmp, and is at most --sparsity", "set.yaml", ["--sparsity-initial=0.5"], 2),
            ("records of weights hold f32; leave out --precision=f16", "set.yaml", ["--precision=f16"], 2),
            ("--sparsity is of weights that train; leave out --lora", "set.yaml", ["--lora=rank=2,alpha=4,targets=*.q.weight"], 2),
            ("sparsity filter '*typo*' names no weight of a product", "set.yaml", ["--sparsity-filter=*typo*"], 1),
            ("bad.yaml:5:68: expected cosine", "bad.yaml", [], 1)):
        text = work.train(config, *flags, steps=1, code=code)
        assert message in text, text
    print("refused by name")


def main():
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2] / "python")
    work = Work(Path(sys.argv[1]).absolute())
    refusals(work)
    transposed(work)
    for rule in sys.argv[2:] or ("static", "gmp", "set", "rigl", "cycles"):
        if rule == "cycles":
            follows(work)
        elif rule != "none":
            learns(work, rule)
    if (work.folder / "static").exists():
        fine_tuned(work)


if __name__ == "__main__":
    main()
