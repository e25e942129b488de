#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small language model that `wsec train` trains, held against PyTorch, which evaluates the same ONNX graph in f64 with its
own optimizers.

Usage: train_model.py WORK PART...: each PART is a function below. The program of all is compiled once.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from wsec.report import findings  # noqa: E402

VOCABULARY, WIDTH, SEQUENCE, BATCH, STEPS = 29, 12, 6, 4, 8
TOLERANCE = 1e-4


def model(path):
    """Rows of a table, a feed-forward part behind a norm, and the table again as the head."""
    random = np.random.default_rng(3)

    def numbers(*shape):
        return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype("f4")
    weights = {"wte": numbers(VOCABULARY, WIDTH), "ln.weight": 1 + 0.1 * numbers(WIDTH), "ln.bias": 0.1 * numbers(WIDTH),
               "fc1.weight": numbers(WIDTH, 20), "fc1.bias": 0.1 * numbers(20), "fc2.weight": numbers(20, WIDTH)}
    nodes = [helper.make_node(*words, **more) for *words, more in [
        ("Gather", ["wte", "input_ids"], ["x"], {"name": "embed"}),
        ("LayerNormalization", ["x", "ln.weight", "ln.bias"], ["n"], {"name": "ln", "axis": -1}),
        ("MatMul", ["n", "fc1.weight"], ["m1"], {"name": "fc1"}),
        ("Add", ["m1", "fc1.bias"], ["h"], {"name": "fc1_bias"}),
        ("Relu", ["h"], ["a"], {"name": "relu"}),
        ("MatMul", ["a", "fc2.weight"], ["m2"], {"name": "fc2"}),
        ("Add", ["x", "m2"], ["y"], {"name": "residual"}),
        ("Transpose", ["wte"], ["head"], {"name": "head_weight", "perm": [1, 0]}),
        ("MatMul", ["y", "head"], ["logits"], {"name": "head"})]]
    shape = ["batch", "sequence"]
    graph = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, shape)],
        [helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, [*shape, VOCABULARY])],
        [numpy_helper.from_array(np.asarray(value, "f4"), name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def expected(path, tokens, optimizer, steps=STEPS, clip=0, rates=None):
    """Losses of each step by PyTorch, and its parameters after all."""
    import torch
    import torch_graph
    graph = onnx.load(path).graph
    parameters = {i.name: torch_graph.tensor(numpy_helper.to_array(i)).requires_grad_() for i in graph.initializer}
    rule = optimizer(torch, parameters)
    losses = []
    for step in range(steps):
        starts = [(step * BATCH + j) * SEQUENCE for j in range(BATCH)]
        ids = torch.tensor(np.array([tokens[s:s + SEQUENCE + 1] for s in starts]).astype("i8"))
        logits = torch_graph.evaluate(graph, {"input_ids": ids[:, :-1], **parameters})["logits"]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters.values(), clip)
        if rates:
            for group in rule.param_groups:
                group["lr"] = rates[step]
        rule.step()
    return losses, {name: value.detach().numpy() for name, value in parameters.items()}


class Work:
    """A folder with the model, its tokens and a cache of programs."""

    def __init__(self, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.model = folder / "small.onnx"
        model(self.model)
        self.tokens = np.random.default_rng(5).integers(0, VOCABULARY, 1000).astype("u2")
        np.save(folder / "tokens.npy", self.tokens)
        self.runs = 0

    def command(self, *flags, steps=STEPS, log="log.jsonl", launcher=()):
        tokens = [] if any(str(flag).startswith("--tokens=") for flag in flags) else [f"--tokens={self.folder / 'tokens.npy'}"]
        return [*launcher, "wsec", "train", str(self.model), *tokens,
                f"--sequence={SEQUENCE}", f"--batch={BATCH}", f"--steps={steps}", "--mesh=6x5", "--quiet",
                f"--cache={self.folder / 'programs'}", f"--log={self.folder / log}", *map(str, flags)]

    def lines(self, log="log.jsonl"):
        return [json.loads(line) for line in (self.folder / log).read_text().splitlines()]

    def losses(self, log="log.jsonl"):
        return [line["loss"] for line in self.lines(log) if "loss" in line]

    def train(self, *flags, **more):
        """The losses; the run must succeed."""
        self.runs += 1
        log = f"log{self.runs}.jsonl"
        command = self.command(*flags, log=log, **more)
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"$ {' '.join(command)}\n{result.stdout}{result.stderr}"
        return self.losses(log)

    def refused(self, message, *flags, code=1, without=None, **more):
        result = subprocess.run(self.command(*flags, log="refused.jsonl", **more), capture_output=True, text=True,
                                check=False)
        assert result.returncode == code, f"{flags}: exit code {result.returncode}\n{result.stderr}"
        assert message in result.stderr, f"{flags}: expected '{message}', found\n{result.stderr}"
        assert without is None or without not in result.stderr, f"{flags}: '{without}' in\n{result.stderr}"
        assert "loss" not in ((self.folder / "refused.jsonl").read_text()
                              if (self.folder / "refused.jsonl").exists() else "")


def close(actual, wanted, what):
    assert len(actual) == len(wanted), f"{what}: {len(actual)} losses, expected {len(wanted)}"
    worst = max(abs(a - b) for a, b in zip(actual, wanted))
    assert worst <= TOLERANCE, f"{what}: off by {worst:.2e}\n{actual}\n{wanted}"
    print(f"{what}: {wanted[0]:.4f} to {wanted[-1]:.4f}, off by at most {worst:.1e}")


def optimizers(work):
    """Losses of 8 steps follow PyTorch's, with each rule."""
    cases = {
        "adamw": ((), lambda t, p: t.optim.AdamW(p.values(), lr=1e-2), {}),
        "adamw-clip-no-decay": (
            ("--betas=0.8,0.95", "--eps=1e-6", "--weight-decay=0.1", "--no-decay=*.bias", "--no-decay=ln.*",
             "--clip-norm=0.5"),
            lambda t, p: t.optim.AdamW(
                [{"params": [v for n, v in p.items() if n.startswith("ln.") or n.endswith(".bias")], "weight_decay": 0},
                 {"params": [v for n, v in p.items() if not (n.startswith("ln.") or n.endswith(".bias"))]}],
                lr=1e-2, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1), {"clip": 0.5}),
        "sgd": (("--optimizer=sgd", "--momentum=0.9", "--nesterov", "--weight-decay=0.01"),
                lambda t, p: t.optim.SGD(p.values(), lr=1e-2, momentum=0.9, nesterov=True, weight_decay=0.01), {}),
        "adafactor": (("--optimizer=adafactor",), lambda t, p: t.optim.Adafactor(p.values(), lr=1e-2), {}),
        "adafactor-decay": (("--optimizer=adafactor", "--weight-decay=0.3"),
                            lambda t, p: t.optim.Adafactor(p.values(), lr=1e-2, weight_decay=0.3), {}),
        "cosine": (("--schedule=cosine", "--warmup-steps=3", "--end-lr=1e-3"),
                   lambda t, p: t.optim.AdamW(p.values(), lr=1e-2),
                   {"rates": [1e-2 * i / 3 if i < 3 else 1e-3 + 9e-3 * (1 + np.cos(np.pi * (i - 3) / 5)) / 2
                              for i in range(STEPS)]})}
    for name, (flags, rule, more) in cases.items():
        losses, _ = expected(work.model, work.tokens, rule, **more)
        close(work.train("--lr=1e-2", *flags), losses, name)


def micro(work):
    """A micro-batch of two gives the same losses but for rounding; systems and engines do not show in a bit."""
    one = work.train("--lr=1e-2", f"--report={work.folder / 'report.json'}")
    close(work.train("--lr=1e-2", "--micro-batch=2"), one, "micro-batch of 2")
    for flags in (["--num-systems=2"], ["--num-systems=3"], ["--num-systems=4"], ["--engine=strips"],
                  ["--engine=wavelet"], ["--threads=1"]):
        assert work.train("--lr=1e-2", *flags) == one, flags
    print("systems, engines and threads: the same bits")
    cycles = {line["cycles"] for line in work.lines("log1.jsonl")}
    assert len(cycles) == 1 and 1000 < cycles.pop() < 1e6, cycles
    report = json.loads((work.folder / "report.json").read_text())
    assert report["training"]["steps"] == STEPS and "kernels" in report["compilation"]
    assert report["step"]["systems"]["calls"] == BATCH
    schema = json.loads((ROOT / "runtime" / "train" / "report.schema.json").read_text())
    assert not findings(report["training"], schema), findings(report["training"], schema)
    step = report["training"]["step"]
    assert abs(sum(part["cycles"] for part in step["parts"]) * BATCH / step["cycles"] - 1) < 1e-3, step
    # Two gradients of the table: that of the head, 29 x 12, and 6 rows; 20 x 12 twice, 12, 12 and 20.
    assert step["gradient_bytes_up"] == 4 * BATCH * (29 * 12 + 6 * 12 + 2 * 240 + 44), step
    assert step["gradient_bytes_at_root"] == 4 * (29 * 12 + 2 * 240 + 44), step


def mpi(work):
    one = work.train("--lr=1e-2")
    for processes in (2, 3):
        assert work.train("--lr=1e-2", launcher=["mpirun", "-np", str(processes)]) == one
    assert work.train("--lr=1e-2", "--num-systems=4", launcher=["mpirun", "-np", "2"]) == one
    print("2 and 3 processes: the same bits")


def checkpoints(work):
    """Killed at any moment and resumed, also on other systems: the same losses, the same weights."""
    whole = work.folder / "whole"
    losses = work.train("--lr=1e-2", f"--checkpoint-dir={whole}", steps=STEPS)
    last = f"step-{STEPS:012d}"
    weights = (whole / last / "model.safetensors").read_bytes()
    for attempt, flags in enumerate(([], ["--num-systems=3"])):
        folder = work.folder / f"killed{attempt}"
        kills = 0
        for wait in (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 20):
            command = work.command("--lr=1e-2", f"--checkpoint-dir={folder}", "--checkpoint-every=1", "--resume", *flags,
                                   log=f"killed{attempt}.jsonl")
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
                try:
                    _, said = process.communicate(timeout=wait)
                    assert process.returncode == 0, said
                    break
                except subprocess.TimeoutExpired:
                    process.kill()
                    kills += 1
        assert work.losses(f"killed{attempt}.jsonl") == losses, flags
        assert (folder / last / "model.safetensors").read_bytes() == weights, flags
        print(f"killed {kills} times: the same losses and weights")
    work.refused("there is a checkpoint already", f"--checkpoint-dir={whole}")
    np.save(work.folder / "others.npy", work.tokens[::-1])
    work.refused("of a run with other tokens", f"--checkpoint-dir={whole}", "--resume",
                 f"--tokens={work.folder / 'others.npy'}", steps=9)
    work.refused("does not train in the program", f"--checkpoint-dir={whole}", "--resume", "--freeze=fc1.*", steps=9)
    work.refused("of a run of another model", f"--checkpoint-dir={whole}", "--resume", "--label-smoothing=0.1", steps=9)
    work.refused("update rule", f"--checkpoint-dir={whole}", "--resume", "--optimizer=sgd", steps=9)
    torn = whole / last / "model.safetensors"
    torn.write_bytes(torn.read_bytes()[:-5])
    work.refused("bytes, the checkpoint was saved with", f"--checkpoint-dir={whole}", "--resume", steps=9)


def disk(work):
    """A full disk ends a run with what could not be written; what was whole stays, and the run goes on from there."""
    losses = work.train("--lr=1e-2")
    folder = work.folder / "full"
    flags = ["--lr=1e-2", f"--checkpoint-dir={folder}", "--checkpoint-every=1", "--resume"]
    work.train(*flags, steps=3)
    there = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def limited(most, *more):
        """A run whose files have at most so many bytes; what it says."""
        result = subprocess.run(work.command(*flags, *more, log="full.jsonl"), capture_output=True, text=True, check=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        assert result.returncode == 1, f"{most} bytes: exit code {result.returncode}\n{result.stderr}"
        return result.stderr
    weights, moments = (max(len(data) for path, data in there.items() if path.name.startswith(name))
                        for name in ("model", "optimizer"))
    for most in (weights - 1, moments - 1):
        said = limited(most)
        assert re.search(r"IoError: cannot write '.*/full/step-0+4\.part/.*safetensors': File too large", said), said
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == there, most
    said = limited(100)
    assert re.search("IoError: cannot write the log '.*full.jsonl': File too large", said), said
    assert work.train(*flags)[-5:] == losses[3:]
    shutil.rmtree(folder)
    said = limited(10000, f"--cache={work.folder / 'none'}")
    assert re.search(r"cannot write '.*/none/\w+\.(wafer|json)': File too large", said), said
    assert not list((work.folder / "none").iterdir())
    work.refused("cannot write the log '/dev/full': No space left on device", "--log=/dev/full")
    result = subprocess.run(work.command("--report=/dev/full"), capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "cannot write '/dev/full': No space left on device" in result.stderr, result.stderr
    print("a full disk: named, and what was whole stays")


def interrupt(work):
    """Ctrl-C ends a run behind a step, with a checkpoint; it goes on from there."""
    folder = work.folder / "interrupted"
    losses = work.train("--lr=1e-2", steps=40)
    command = work.command("--lr=1e-2", f"--checkpoint-dir={folder}", steps=40, log="interrupted.jsonl")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while not (work.folder / "interrupted.jsonl").exists() or not work.losses("interrupted.jsonl"):
            time.sleep(0.02)
            assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and b"stopped" in said, (process.returncode, said)
    made = len(work.losses("interrupted.jsonl"))
    assert 0 < made < 40 and sorted(os.listdir(folder)) == [f"step-{made:012d}"], (made, os.listdir(folder))
    result = subprocess.run(work.command("--lr=1e-2", f"--checkpoint-dir={folder}", "--resume", steps=40,
                                         log="interrupted.jsonl"), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert work.losses("interrupted.jsonl") == losses
    work.train("--lr=1e-2", f"--checkpoint-dir={folder}", "--resume", "--batch=5", steps=41)
    rates = work.lines(f"log{work.runs}.jsonl")[-1]
    assert abs(rates["tokens_per_second"] / rates["samples_per_second"] / SEQUENCE - 1) < 1e-9, rates
    print("interrupted and resumed: the same losses")


def evaluation(work):
    """Evaluations change no bit of training; at step 0 their loss is that of the first tokens."""
    np.save(work.folder / "eval.npy", work.tokens[:BATCH * SEQUENCE * 2 + SEQUENCE + 3])
    losses = work.train("--lr=1e-2")
    assert work.train("--lr=1e-2", f"--eval-tokens={work.folder / 'eval.npy'}", "--eval-every=3") == losses
    found = [(line["step"], line["eval_loss"], line["eval_tokens"]) for line in work.lines(f"log{work.runs}.jsonl")
             if "eval_loss" in line]
    assert [step for step, *_ in found] == [0, 3, 6, 8], found
    assert all(tokens == 9 * SEQUENCE for *_, tokens in found), found
    np.save(work.folder / "eval.npy", work.tokens[:BATCH * SEQUENCE + 1])
    work.train("--lr=1e-2", f"--eval-tokens={work.folder / 'eval.npy'}", "--eval-every=100", "--num-systems=3", steps=1)
    measured = work.runs
    first = [line["eval_loss"] for line in work.lines(f"log{work.runs}.jsonl") if line.get("eval_loss")][0]
    assert first == losses[0], (first, losses[0])
    # What is learned does not help with other tokens: the run ends, and stays ended; killed in between it ends there, too.
    np.save(work.folder / "eval.npy", np.random.default_rng(8).integers(0, VOCABULARY, BATCH * SEQUENCE + 1))
    flags = ["--lr=0.3", f"--eval-tokens={work.folder / 'eval.npy'}", "--eval-every=1", "--early-stop=3",
             f"--report={work.folder / 'early.json'}"]
    made = work.train(*flags, f"--checkpoint-dir={work.folder / 'early'}", steps=30)
    found = [line["eval_loss"] for line in work.lines(f"log{work.runs}.jsonl") if "eval_loss" in line]
    best = found.index(min(found))
    assert len(found) == best + 4 == len(made) + 1 < 31, found
    facts = json.loads((work.folder / "early.json").read_text())["training"]
    assert facts["best_evaluation"] == {"step": best, "loss": found[best]} and facts["steps"] == len(made), facts
    assert not findings(facts, json.loads((ROOT / "runtime" / "train" / "report.schema.json").read_text()))
    assert not work.train(*flags, f"--checkpoint-dir={work.folder / 'early'}", "--resume", steps=30)
    shutil.rmtree(work.folder / "early")
    first = work.train(*flags, f"--checkpoint-dir={work.folder / 'early'}", steps=len(made) - 1)
    assert first + work.train(*flags, f"--checkpoint-dir={work.folder / 'early'}", "--resume", steps=30) == made
    work.refused("--early-stop goes with --eval-every", "--early-stop=3", code=2)
    # Forward passes only: a fifth of the cycles of a call that makes gradients.
    lines = work.lines(f"log{measured}.jsonl")
    calls = [next(line["eval_cycles"] for line in lines if "eval_loss" in line) / 2,
             next(line["cycles"] for line in lines if "loss" in line) / 2]
    assert 0 < calls[0] < 0.6 * calls[1], calls
    print("evaluations: nothing else changes")


def text(work):
    """Texts are bytes or characters; a configuration says the same as flags."""
    path = work.folder / "text.txt"
    path.write_text("the cat sat on the mat; a hat. " * 20)
    characters = sorted(set(path.read_text()))
    ids = np.array([characters.index(c) for c in path.read_text()])
    losses, _ = expected(work.model, ids, lambda t, p: t.optim.AdamW(p.values(), lr=1e-2))
    close(work.train("--lr=1e-2", f"--tokens={path}", "--text=characters"), losses, "characters")
    work.refused("token 0 is 116, and the vocabulary of the model has 29", f"--tokens={path}")
    halves = [work.folder / "first.txt", work.folder / "second.txt"]
    for half, its in zip(halves, (path.read_text()[:101], path.read_text()[101:])):
        half.write_text(its)
    close(work.train("--lr=1e-2", *(f"--tokens={half}" for half in halves), "--text=characters"), losses, "two files")
    config = work.folder / "run.yaml"
    config.write_text(f"model: {work.model}\nbatch_size: {BATCH}\nsequence: {SEQUENCE}\ncluster: {{num_systems: 2}}\n"
                      f"training:\n  tokens: [{halves[0]}, {halves[1]}]\n  text: characters\n  steps: {STEPS}\n  lr: 1e-2\n"
                      f"  betas: [0.9, 0.999]\n  mesh: 6x5\n  cache: {work.folder / 'programs'}\n"
                      f"  log: {work.folder / 'config.jsonl'}\n  quiet: true\n")
    result = subprocess.run(["wsec", "train", config], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert work.losses("config.jsonl") == work.losses(f"log{work.runs}.jsonl")
    command = ["wsec", "train", config, f"--tokens={path}", "--log=" + str(work.folder / "other.jsonl")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0 and work.losses("other.jsonl") == work.losses("config.jsonl"), result.stderr
    config.write_text(config.read_text().replace("  lr:", "  learning: 1\n  lr:"))
    result = subprocess.run(["wsec", "train", config], capture_output=True, text=True, check=False)
    assert result.returncode == 2 and "there is no flag --learning" in result.stderr, result.stderr
    print("a configuration: the same losses")


def tokenizer(work):
    """A text is read by a tokenizer.json, once; who cannot read it is told how."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    words = [f"w{i}" for i in range(VOCABULARY)]
    reader = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="w0"))
    reader.pre_tokenizer = pre_tokenizers.Whitespace()
    path, text = work.folder / "tokenizer.json", work.folder / "words.txt"
    reader.save(str(path))
    text.write_text(" ".join(words[i] for i in work.tokens))
    flags = ["--lr=1e-2", f"--tokens={text}", f"--tokenizer={path}", f"--eval-tokens={text}"]
    os.environ["WSEC_PYTHON"] = "no-python"
    work.refused(f"this has failed:\n  no-python -m wsec.tokens {text} --tokenizer={path} -o TOKENS.npy", *flags)
    os.environ |= {"WSEC_PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "python")}
    losses = work.train(*flags)
    assert losses == work.train("--lr=1e-2")
    os.environ["WSEC_PYTHON"] = "no-python"  # nothing needs it any more
    assert work.train(*flags) == losses
    work.refused("a tokenizer reads texts", f"--tokenizer={path}", code=2)
    few = work.folder / "few.txt"
    few.write_text("w1 w2 w3")
    os.environ["WSEC_PYTHON"] = sys.executable
    work.refused(f"tokens '{few}': 8 steps", f"--tokens={few}", f"--tokenizer={path}")  # and no file of the cache
    print("a tokenizer: the same losses")


def refusals(work):
    """What is wrong is said before the first step."""
    np.save(work.folder / "few.npy", work.tokens[:50])
    np.save(work.folder / "wide.npy", np.array([3, 29] * 200))
    np.save(work.folder / "float.npy", np.ones(400, "f4"))
    few = "8 steps of 4 x 6 tokens, and the target of the last, take 193 tokens, and there are 50"
    work.refused(few, f"--tokens={work.folder / 'few.npy'}")
    work.refused("token 1 is 29, and the vocabulary of the model has 29: 0 to 28", f"--tokens={work.folder / 'wide.npy'}")
    work.refused("expected integers of one dimension, found float32[400]", f"--tokens={work.folder / 'float.npy'}")
    work.refused("a batch of 4 samples is no multiple of the micro-batch of 3", "--micro-batch=3")
    work.refused("is 4 micro-batches of 1, and there are 5 systems", "--num-systems=5")
    work.refused("nothing trains", "--freeze=*")
    work.refused("--freeze=typo* names no parameter", "--freeze=typo*", without="fewer")
    work.refused("--no-decay=typo* names no parameter that trains", "--no-decay=typo*")
    work.refused("the model has no output 'logit'; there is 'logits'", "--logits=logit")
    work.refused("the model has no input 'ids'", "--input=ids")
    work.refused("does not compile for training with 4 samples a call; fewer, --micro-batch=1,",
                 "--micro-batch=4", "--sequence=200", "--mesh=2x2", steps=1)
    work.refused("--optimizer wants sgd, adamw or adafactor, found 'adam'", "--optimizer=adam", code=2)
    work.refused("--precision wants f32, f16, bf16 or cb16, found 'f8'", "--precision=f8", code=2)
    work.refused("--precision-opt-level=2: says what of 16 bits is summed in as many", "--precision-opt-level=2", code=2)
    work.refused("--precision-opt-level", "--precision=f16", "--precision-opt-level=3", code=2)
    work.refused("--label-smoothing wants a number from 0 to 1, found '2'", "--label-smoothing=2", code=2)
    work.refused("--lr wants a number of at least 0, found 'fast'", "--lr=fast", code=2)
    result = subprocess.run(work.command("--optimizer=sgd", "--lr=1e30"), capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "NotFinite: the loss of step 2 is" in result.stderr, result.stderr
    assert len(work.losses()) == 1
    assert "; --detect-anomaly names the kernel" in result.stderr, result.stderr
    print("refusals: all by name")


def anomalies(work):
    """What makes the first number that is none is named: a parameter, a kernel, or a gradient."""
    none = "a number that is none is first in value 'logits' of kernel 'head'"
    cases = [({"fc1.weight": 1e25, "fc2.weight": 1e25},
              f"the loss of step 1 is nan; take a smaller learning rate, or clip gradients; labels that are no class make one, "
              f"too; call 0 of it: {none}, "
              "an infinite number is first in value 'm2' of kernel 'fc2'"),
             ({"wte": 1e30}, "an infinite number is first in value 'logits' of kernel 'head'"),
             ({"fc1.weight": np.nan}, "parameter 'fc1.weight' holds a number that is none before the step"),
             ({"fc1.weight": 0, "fc1.bias": 0, "ln.bias": 0, "fc2.weight": 1e25, "wte": 1e14},
              "an infinite number is first in the gradient of 'fc1.weight': it is made behind the forward pass")]
    for changes, said in cases:
        changed = onnx.load(work.model)
        for tensor in changed.graph.initializer:
            if tensor.name in changes:
                value = numpy_helper.to_array(tensor) * np.float32(changes[tensor.name])
                tensor.CopyFrom(numpy_helper.from_array(value + np.float32(1e-30) * (tensor.name == "fc1.bias"), tensor.name))
        onnx.save(changed, work.folder / "changed.onnx")
        command = work.command("--detect-anomaly", log="anomaly.jsonl")
        command[2] = str(work.folder / "changed.onnx")
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 1 and "NotFinite: the " in result.stderr and said in result.stderr, result.stderr
    print("anomalies: the first is named")


def main():
    work = Work(Path(sys.argv[1]))
    for part in sys.argv[2:]:
        globals()[part](work)


if __name__ == "__main__":
    main()
