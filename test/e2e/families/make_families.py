#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the models of families.py and newer.py into the cache of make_torch_models.py, under
families/: NAME.onnx, NAME.npz of inputs and NAME.expected.npz of onnxruntime's
results, or NAME.txt, why the exporter gave up, or onnxruntime on what it wrote. NAME is
ARCHITECTURE.EXPORTER; see `EXPORTERS`, `NEWER`, fused_graphs.py and linear_graphs.py.

  make_families.py [--of=families|newer] [REGEX]     those of one of both, whose names match

What is there already is kept: a stamp names the versions and the sources.
"""

import argparse
import contextlib
import functools
import hashlib
import importlib.metadata
import logging
import multiprocessing
import os
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "models"))
import architectures  # noqa: E402
import caches  # noqa: E402
import fused_graphs  # noqa: E402
import linear_graphs  # noqa: E402
import real_pairs  # noqa: E402
from make_torch_models import cache  # noqa: E402


@dataclass(frozen=True)
class Exporter:
    dynamo: bool
    opset: int
    attention: str
    dynamic: bool
    optimizer: str = ""   # what onnxruntime does with the graph
    batch: int = 2
    tokens: int = architectures.TOKENS
    experts: str = "batched_mm"
    is_call: bool = False  # of the last token, with what those before it left


EXPORTERS = {
    "dynamo-20-sdpa": Exporter(True, 20, "sdpa", False),
    "dynamo-18-eager-dynamic": Exporter(True, 18, "eager", True),
    # Its RotaryEmbedding shares angles, which onnxruntime takes for one sequence only.
    "dynamo-23-sdpa-dynamic": Exporter(True, 23, "sdpa", True, batch=1),
    "script-17-eager": Exporter(False, 17, "eager", False),
    "script-14-sdpa-dynamic": Exporter(False, 14, "sdpa", True),
    "script-11-eager-dynamic": Exporter(False, 11, "eager", True),
    # What a session of onnxruntime saves, and what its tool for transformers does.
    "session": Exporter(False, 17, "eager", False, "session"),
    "optimizer": Exporter(False, 17, "eager", False, "optimizer"),
}

# Models with experts, states that tokens update, or both, as more exporters write them: prompts of so many tokens, and
# one token behind them. Complex positions are pairs of real numbers: no exporter writes others (TABLE.md).
NEWER_TOKENS = 13
NEWER_ARCHITECTURES = ("mixtral qwen2-moe qwen3-moe gpt-oss deepseek-v2 deepseek-v3 llama4 qwen3-next mamba mamba2 "
                       "lfm2").split()
WITHOUT_EXPERTS = ("mamba", "mamba2", "lfm2")
NEWER = {
    "prompt-dynamo-20-sdpa": Exporter(True, 20, "sdpa", False),
    "prompt-dynamo-18-eager-dynamic": Exporter(True, 18, "eager", True),
    "prompt-dynamo-23-sdpa-dynamic": Exporter(True, 23, "sdpa", True, batch=1),
    "prompt-script-17-eager": Exporter(False, 17, "eager", False),
    "prompt-script-14-sdpa-dynamic": Exporter(False, 14, "sdpa", True),
    "prompt-session": Exporter(False, 17, "eager", False, "session"),
    "prompt-loop-dynamo-20": Exporter(True, 20, "sdpa", False, experts="eager"),
    "prompt-loop-script-17": Exporter(False, 17, "eager", False, experts="eager"),
    "decode-dynamo-20-sdpa": Exporter(True, 20, "sdpa", False, is_call=True),
    "decode-dynamo-23-sdpa": Exporter(True, 23, "sdpa", False, batch=1, is_call=True),
    "decode-script-17-eager": Exporter(False, 17, "eager", False, is_call=True),
    "decode-session": Exporter(False, 17, "eager", False, "session", is_call=True),
}
NEWER = {name: replace(how, tokens=NEWER_TOKENS + how.is_call) for name, how in NEWER.items()}
# Pasts that grow from call to call, so that they can be states (growing_exports.py).
STATES = ("mixtral qwen2-moe qwen3-moe gpt-oss deepseek-v2 deepseek-v3 llama4 lfm2").split()
GROWING_FLAGS = {"gpt-oss": ["--window=6"], "lfm2": ["--no-mask"]}
STATES_EXPORTERS = {"states-dynamo": "dynamo", "states-script": "script"}
WITHOUT_EXPORTER = fused_graphs.GRAPHS.keys() | fused_graphs.NEWER_GRAPHS.keys() | linear_graphs.GRAPHS.keys()

# The types that onnxruntime's tool knows; what it does with others is nothing.
OPTIMIZER_TYPES = {"gpt2": "gpt2", "bert": "bert", "roberta": "bert", "distilbert": "bert",
                   "bart": "bart", "t5": "t5", "llama": "gpt2", "vit": "vit", "phi": "phi",
                   "whisper-encoder": "bart"}


def variants():
    for architecture in architectures.ARCHITECTURES:
        for exporter, how in EXPORTERS.items():
            tried = re.search(architectures.ARCHITECTURES[architecture].exporters, exporter)
            if tried and (how.optimizer != "optimizer" or architecture in OPTIMIZER_TYPES):
                yield f"{architecture}.{exporter}"
    yield from fused_graphs.GRAPHS


def newer_variants():
    for architecture in NEWER_ARCHITECTURES:
        tried = architectures.ARCHITECTURES[architecture].exporters
        yield from (f"{architecture}.{exporter}" for exporter, how in NEWER.items()
                    if (how.experts == "batched_mm" or architecture not in WITHOUT_EXPERTS)
                    and (how.is_call or re.search(tried, exporter)))
        if architecture in STATES:
            yield from (f"{architecture}.{exporter}" for exporter in STATES_EXPORTERS)
    yield from fused_graphs.NEWER_GRAPHS
    yield from linear_graphs.GRAPHS


def is_growing(name):
    return name.partition(".")[2] in STATES_EXPORTERS


def exported(architecture, how):
    """A module, its inputs, which of their axes are dynamic, and its outputs."""
    if how.is_call:
        model = architectures.model_of(architecture, how.attention, how.experts)
        ids = architectures.input_tensors("ids", how.tokens)[0]["input_ids"][2 - how.batch:]
        module, inputs, outputs = caches.last_token(model, ids)
        return module, inputs, {}, outputs
    module, inputs, axes, output = architectures.build(
        architecture, how.attention, how.batch, masked=not how.dynamo, tokens=how.tokens, experts=how.experts)
    return module, inputs, axes, [output]


def export_growing(architecture, exporter, path):
    """As those with a past that grows from call to call are exported."""
    command = [sys.executable, str(Path(__file__).parent.parent / "growing_exports.py"), architecture, exporter, "eager",
               str(path), *GROWING_FLAGS.get(architecture, ())]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(result.stderr.strip().split("\n")[-1])


def export(name, path):
    import torch

    torch.set_num_threads(1)
    architecture, _, exporter = name.partition(".")
    how = (EXPORTERS | NEWER)[exporter]
    module, inputs, axes, outputs = exported(architecture, how)
    values = tuple(inputs.values())
    options = dict(input_names=list(inputs), output_names=outputs, opset_version=how.opset)
    target = path.with_suffix(".raw.onnx") if how.optimizer else path
    with torch.no_grad(), real_pairs.of(architecture if exporter in NEWER else ""):
        if how.dynamo:
            if how.dynamic:
                options["dynamic_shapes"] = (tuple(
                    {axis: torch.export.Dim.AUTO for axis in axes[name]} for name in inputs),)
            program = torch.onnx.export(module, values, dynamo=True, verbose=False, **options)
            program.save(str(target))
        else:
            if how.dynamic:
                options["dynamic_axes"] = axes
            torch.onnx.export(module, values, str(target), dynamo=False, **options)
    if how.optimizer:
        optimize(architecture, how.optimizer, target, path)
        target.unlink()
    np.savez(path.with_suffix(".npz"), **{n: v.numpy() for n, v in inputs.items()})


def optimize(architecture, optimizer, source, target):
    import onnxruntime

    if optimizer == "session":
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = str(target)
        # What comes after this level fits one processor only.
        options.graph_optimization_level = (
            onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED)
        onnxruntime.InferenceSession(str(source), options, ["CPUExecutionProvider"])
        return
    from onnxruntime.transformers.optimizer import optimize_model

    model = optimize_model(str(source), model_type=OPTIMIZER_TYPES[architecture],
                           num_heads=architectures.HEADS, hidden_size=architectures.WIDTH,
                           opt_level=0)
    model.save_model_to_file(str(target))


def session_of(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])


def write_expected(path):
    """What onnxruntime computes; ONNX's own evaluator, of operators that are too new for it."""
    if path.stem in linear_graphs.GRAPHS:
        import onnx.reference

        evaluator = onnx.reference.ReferenceEvaluator(onnx.load(path))
        with np.load(path.with_suffix(".npz")) as inputs:
            outputs = evaluator.run(None, dict(inputs))
        np.savez(path.with_suffix(".expected.npz"), **dict(zip(evaluator.output_names, outputs)))
        return
    session = session_of(path)
    names = [output.name for output in session.get_outputs()]
    with np.load(path.with_suffix(".npz")) as inputs:
        outputs = session.run(None, dict(inputs))
    np.savez(path.with_suffix(".expected.npz"), **dict(zip(names, outputs)))


def make(name):
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    folder = cache() / "families"
    path = folder / f"{name}.onnx"
    architecture, _, exporter = name.partition(".")
    for old in folder.glob(f"{name}.*"):
        old.unlink()
    try:
        if name in linear_graphs.GRAPHS:
            linear_graphs.write(name, path)
        elif name in WITHOUT_EXPORTER:
            fused_graphs.write(name, path)
        elif is_growing(name):
            export_growing(architecture, STATES_EXPORTERS[exporter], path)
        else:
            export(name, path)
        if is_growing(name):
            session_of(path)  # which they are held against call by call
        else:
            write_expected(path)
        print(f"made {name}", flush=True)
    except Exception as error:  # exporters raise whatever they like
        path.unlink(missing_ok=True)
        if type(error).__name__ == "TorchExportError":  # which says no more than that
            error = error.__cause__ or error
        lines = [line for line in str(error).strip().split("\n") if line.strip()]
        first = lines[0].replace(f"{folder}/", "") if lines else ""
        first = re.sub("\x1b\\[[0-9;]*m", "", first)  # colors
        reason = f"{type(error).__name__}: {first[:120]}"
        path.with_suffix(".txt").write_text(reason + "\n")
        print(f"no {name}: {reason}", flush=True)


@functools.cache
def digest(*sources):
    return hashlib.sha256(b"".join((Path(__file__).parent / source).read_bytes() for source in sources)).hexdigest()


@functools.cache
def versions(*packages):
    found = []
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(importlib.metadata.version(package))
    return found


def stamp(name):
    """Versions and sources that the model comes from."""
    if name in linear_graphs.GRAPHS:
        sources = ("linear_graphs.py",)
    elif name in WITHOUT_EXPORTER:
        sources = ("fused_graphs.py",)
    else:
        sources = ("architectures.py", "caches.py", "real_pairs.py", *(["../growing_exports.py"] if is_growing(name) else []))
    packages = ("onnx", "onnxruntime", *(() if name in WITHOUT_EXPORTER else ("torch", "transformers")))
    return " ".join([*versions(*packages), digest("make_families.py", *sources)])


def main():
    folder = cache() / "families"
    folder.mkdir(parents=True, exist_ok=True)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--of", choices=["families", "newer"], help="models of families.py, or of newer.py, alone")
    parser.add_argument("pattern", metavar="REGEX", nargs="?", default="", help="of their names")
    arguments = parser.parse_args()
    of = {"families": variants, "newer": newer_variants}
    wanted = [name for key, names in of.items() if arguments.of in (None, key)
              for name in names() if re.search(arguments.pattern, name)]
    missing = [name for name in wanted
               if not (folder / f"{name}.stamp").exists()
               or (folder / f"{name}.stamp").read_text() != stamp(name)]
    print(f"{len(wanted) - len(missing)} models are there, {len(missing)} to make", flush=True)
    if any(name not in WITHOUT_EXPORTER for name in missing):
        import torch  # noqa: F401  once, and not in every process
    # Exporters keep memory and state: a process makes a few models, then ends.
    context = multiprocessing.get_context("fork")
    with context.Pool(min(2, os.cpu_count() or 1), maxtasksperchild=8) as pool:
        for name, _ in zip(missing, pool.imap(make, missing)):
            (folder / f"{name}.stamp").write_text(stamp(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
