# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step of a GPT-NeoX whose weights are computed as they stream and whose gradients are let go as they arrive: held
against PyTorch, which has one layer at a time.

Usage: deep_gradients.py [--fresh] FOLDER MODEL MESH TOKENS LAYERS [GB [GB]]: MODEL as a configuration has it, {preset: neox-20b}. Values
behind every layer, of up to 8 (a run that is looked at replays no layers), the loss, the norm of every gradient, and every element of the gradients of LAYERS, as 0,43, may differ by 1e-4
of the largest; the compiler and the emulator may take GB of memory (the second: what the emulator may). What FOLDER has of an
earlier run is compared again, if there is no --fresh.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from replay import Weights

F = torch.nn.functional


class Model:
    def __init__(self, path):
        graph = onnx.load(path, load_external_data=False).graph
        self.weights = Weights(graph)
        rotary = next(n for n in graph.node if n.op_type == "RotaryEmbedding")
        numbers = {a.name: a.i for a in rotary.attribute}
        self.heads, self.turned = numbers["num_heads"], numbers["rotary_embedding_dim"]
        self.layers = sum(n.op_type == "Attention" for n in graph.node)

    def parameters(self, prefix):
        """Of a layer, or of what is before or behind all."""
        return {name: torch.from_numpy(self.weights.whole(name)).requires_grad_() for name in self.weights.tensors
                if name.startswith(prefix)}

    def rotary(self, x):
        tokens, half = x.shape[0], self.turned // 2
        x = x.view(tokens, self.heads, -1).transpose(0, 1)
        angles = torch.outer(torch.arange(tokens, dtype=torch.float64),
                             10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)).float()
        a, b, rest = x[..., :half], x[..., half:2 * half], x[..., 2 * half:]
        cos, sin = angles.cos(), angles.sin()
        return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), -1)

    def layer(self, x, number, its):
        def get(name):
            return its[f"layers.{number}.{name}"]

        def linear(y, name):
            return y @ get(name + ".weight") + get(name + ".bias")

        def norm(name):
            return F.layer_norm(x, x.shape[-1:], get(name + ".weight"), get(name + ".bias"), 1e-5)

        y = norm("attention_norm")
        q, k = (self.rotary(linear(y, f"attention.{p}")) for p in "qk")
        v = linear(y, "attention.v").view(len(x), self.heads, -1).transpose(0, 1)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(0, 1).reshape(x.shape)
        fed = F.gelu(linear(norm("feed_forward_norm"), "feed_forward.up"), approximate="tanh")
        return x + linear(attended, "attention.out") + linear(fed, "feed_forward.down")

    def loss(self, x, targets, its):
        y = F.layer_norm(x, x.shape[-1:], its["final_norm.weight"], its["final_norm.bias"], 1e-5)
        return F.cross_entropy(y @ its["head.weight"], targets)


class Check:
    """Differences, over the largest that is expected."""

    def __init__(self, folder):
        self.folder = folder
        self.sums = {line["parameter"]: line for line in map(json.loads, (folder / "gradients.jsonl").read_text().splitlines())}
        self.worst = {}

    def add(self, kind, name, difference):
        if difference >= self.worst.get(kind, (0, ""))[0] or np.isnan(difference):
            self.worst[kind] = float(difference), name

    def value(self, kind, name, expected):
        found = np.load(self.folder / f"{name.replace('/', '%2F')}.npy").reshape(expected.shape)
        expected = expected.detach().numpy()
        self.add(kind, name, np.abs(found - expected).max() / np.abs(expected).max())

    def gradients(self, parameters, isWhole):
        for name, parameter in parameters.items():
            expected, found = parameter.grad.double().norm().item(), self.sums.pop(name)
            assert found["elements"] == parameter.numel()
            self.add("norm of a gradient", name, abs(found["norm"] - expected) / expected)
            if isWhole:
                self.value("gradient", name, parameter.grad)

    def passes(self):
        assert not self.sums, f"gradients of {list(self.sums)}"
        for kind, (difference, name) in self.worst.items():
            print(f"{kind}: {difference:.2e} at most, {name}")
        return all(difference <= 1e-4 for difference, name in self.worst.values())


def behind(layer):
    return f"layers.{layer}.feed_forward/residual"


def looked_at(model):
    return range(model.layers if model.layers <= 8 else 0)


def tool(*words):
    """What it takes of memory, in GB. A process begins with the memory of the one that starts it: one without torch does."""
    starts = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    return int(subprocess.run([sys.executable, "-c", starts, *map(str, words)], check=True, stdout=subprocess.PIPE).stdout) * 1024 / 1e9


def make(folder, text, mesh, tokens, whole):
    """Compiles and runs; the memory of the compiler and of the emulator."""
    (folder / "m.yaml").write_text(f"model: {text}\n", encoding="utf-8")
    model, program = folder / "m.onnx", folder / "m.wafer"
    tool("wsec", "model", f"--config={folder / 'm.yaml'}", "-o", model, "--weights=procedural", "--batch=1", f"--sequence={tokens}")
    compiler = tool("wsec", model, "-o", program, f"--mesh={mesh}", "--loss=cross-entropy", "--loss-of=logits", "--train=*", "--quiet")
    its = Model(model)
    words = its.weights.tensors["embedding.weight"][0][0]
    ids = np.random.default_rng(1).integers(0, words, (2, 1, tokens))
    np.save(folder / "ids.npy", ids[0])
    np.save(folder / "targets.npy", ids[1])
    values = [f"--output={behind(layer)}={folder / behind(layer).replace('/', '%2F')}.npy" for layer in looked_at(its)]
    emulator = tool("wse-run", program, "--input", f"input_ids={folder / 'ids.npy'}", "--input", f"targets={folder / 'targets.npy'}",
                    f"--output=loss={folder / 'loss.npy'}", *values, f"--gradients={folder}",
                    *(f"--gradient=layers.{layer}.*" for layer in whole), "--quiet")
    return compiler, emulator


def replay(folder, whole):
    model, check = Model(folder / "m.onnx"), Check(folder)
    ids, targets = (torch.from_numpy(np.load(folder / f"{name}.npy")[0]) for name in ("ids", "targets"))
    inputs = [torch.from_numpy(model.weights.rows("embedding.weight", ids))]
    with torch.no_grad():
        for layer in range(model.layers):
            inputs.append(model.layer(inputs[-1], layer, model.parameters(f"layers.{layer}.")))
            if layer in looked_at(model):
                check.value("value behind a layer", behind(layer), inputs[-1])
    x, its = inputs.pop().requires_grad_(), model.parameters("final_norm") | model.parameters("head")
    loss = model.loss(x, targets, its)
    loss.backward()
    check.value("loss", "loss", loss)
    check.gradients(its, False)
    for layer in reversed(range(model.layers)):
        dy, x, its = x.grad, inputs.pop().requires_grad_(), model.parameters(f"layers.{layer}.")
        model.layer(x, layer, its).backward(dy)
        check.gradients(its, layer in whole)
    rows = torch.zeros(model.weights.tensors["embedding.weight"][0])
    rows.index_add_(0, ids, x.grad)
    rows.grad = rows.clone()
    check.gradients({"embedding.weight": rows}, False)
    return check.passes()


def main():
    words = [word for word in sys.argv[1:] if word != "--fresh"]
    folder, text, mesh, tokens, layers = Path(words[0]), *words[1:3], int(words[3]), words[4]
    if "--fresh" in sys.argv:
        shutil.rmtree(folder, ignore_errors=True)
    whole = [int(layer) for layer in layers.split(",")]
    rooms = ([float(room) for room in words[5:]] or [np.inf]) * 2  # of the compiler, and the emulator
    folder.mkdir(parents=True, exist_ok=True)
    good = True
    if not (folder / "gradients.jsonl").exists():
        compiler, emulator = make(folder, text, mesh, tokens, whole)
        good = compiler <= rooms[0] and emulator <= rooms[1]
        print(f"memory: compiler {compiler:.3f} GB, emulator {emulator:.3f} GB")
    good &= replay(folder, whole)
    print("ok" if good else "FAILED")
    return not good


if __name__ == "__main__":
    sys.exit(main())
