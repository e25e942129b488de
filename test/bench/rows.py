# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of the table: what is measured, against what, and the bar we aim at."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import small_models
from measure import BareLoop, Model, OnnxRuntime, Program, Training

TORCH = "tools/setup.sh --torch && .venv/bin/python test/e2e/models/make_torch_models.py"
SMOLLM2 = "tools/setup.sh --smollm2 && .venv/bin/python test/e2e/models/make_smollm2.py"


@dataclass(frozen=True)
class Row:
    """sides: given the bench, two functions that measure, ours and what it is held against; the row is the ratio of
    the two, the median of rounds in which one follows the other. bar: what the ratio ("x"), or ours alone ("s", "MB"),
    is to be less than, if anything. quick: a part of `--check --quick`."""

    name: str
    what: str
    against: str
    sides: Callable
    bar: float | None = None
    unit: str = "x"
    rounds: int = 5
    quick: bool = False


def model_rows(name, what, maker=None, cold=None, repeated=None, mesh="32x32", quick=False, unit="x"):
    """A model in f32 against onnxruntime: one run of a new process, and runs that replay the first."""

    def sides(how):
        def of(bench):
            model = Model(bench, name, maker)
            return getattr(bench.program(model, mesh), how), bench.onnxruntime(model).seconds

        return of

    label = Path(name).name
    yield Row(f"{label}-cold", f"{what}, {mesh} PEs, one run in a new process", "onnxruntime", sides("cold"),
              cold, unit, quick=quick)
    yield Row(f"{label}-repeated", f"{what}, {mesh} PEs, replayed", "onnxruntime", sides("repeated"), repeated,
              quick=quick)


def flag_rows(label, what, name, flags, against, maker=None, mesh="32x32", quick=False):
    """A model with flags of the compiler against the same without."""
    for how, said in (("cold", "one run in a new process"), ("repeated", "replayed")):

        def sides(bench, how=how):
            model = Model(bench, name, maker)
            return (getattr(bench.program(model, mesh, flags), how),
                    getattr(bench.program(model, mesh), how))

        yield Row(f"{label}-{how}", f"{what}, {mesh} PEs, {said}", against, sides, 1.0, quick=quick)


def memory(name, what, maker, mesh, most=None):
    def sides(bench):
        return bench.program(Model(bench, name, maker), mesh).memory, lambda: 1.0

    return Row(f"{name}-memory", f"{what}, {mesh} PEs, memory of wse-run at its peak", "1 MB", sides, most, "MB", 1)


def wafer(bench):
    model = Model(bench, "gpt2-layer")
    return bench.program(model, "750x994").process, bench.onnxruntime(model).seconds


def training(bench):
    step = Training(bench, {}, "32x32", 128)
    return step.seconds, step.pytorch


def resident(bench):
    """Eight samples through a pipeline, against as many runs of onnxruntime."""
    model, samples = Model(bench, "gpt2-small-6", TORCH), 8
    program = bench.program(model, "96x80", ("--mode=resident",), run=(f"--samples={samples}",))
    np.savez(model.npz, **{name: np.concatenate([value] * samples) for name, value in model.inputs.items()})
    return program.cold, OnnxRuntime(bench, model, samples).seconds


def stepped(engine):
    """Models of the tests on an engine that moves words, against the bare loop for as many elements."""

    def sides(bench):
        programs = [bench.program(Model(bench, name), "8x8", run=(f"--engine={engine}",))
                    for name in ("gpt", "encoder-layer")]
        elements = sum(program.run()[0]["work"]["elements"] for program in programs)
        return lambda: sum(program.cold() for program in programs), BareLoop(2 * elements).seconds

    return Row(f"tests-{engine}", f"models of the tests on `{engine}`, 8x8 PEs", "the bare loop", sides, quick=True)


def attention(path, seed, tokens=512, width=768, heads=12):
    """Nothing but heads, of queries, keys and values that are inputs."""
    g = small_models.Graph(seed)
    size = width // heads
    shape = g.constant(np.array([1, tokens, heads, size], np.int64))
    q, k, v = (g.add("Transpose", g.add("Reshape", name, shape), perm=order)
               for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])))
    scores = g.add("Mul", g.add("MatMul", q, k), g.constant(np.float32(size**-0.5)))
    y = g.add("MatMul", g.add("Softmax", scores, axis=-1), v)
    y = g.add("Reshape", g.add("Transpose", y, perm=[0, 2, 1, 3]), g.constant(np.array([1, tokens, width], np.int64)))
    g.save(path, [(name, small_models.FLOAT, [1, tokens, width]) for name in "qkv"],
           [(y, small_models.FLOAT, [1, tokens, width])])
    return {name: small_models.random_floats(seed + i, 1, tokens, width) for i, name in enumerate("qkv")}


# Kernel, or variant of Matmul -> model, multiply-adds, flags, variant that is forced.
PRODUCTS = {
    "reduce": ((128, 768, 3072), 1, (), "reduce"),
    "broadcast": ((128, 768, 3072), 1, (), "broadcast"),
    "reduce_stored": ((128, 768, 3072), 1, (), "reduce_stored"),
    "broadcast_stored": ((128, 768, 3072), 1, (), "broadcast_stored"),
    "stationary": ((32, 768, 768), 1, (), "stationary"),
    "sparse": ((64, 256, 256), 0.5, ("--sparsity=0.5", "--sparsity-filter=*"), None),
    "attention": ((512, 768), 2, (), None),
}


def product(kernel, precision):
    """Share of one core's peak that a kernel's multiply-adds reach."""
    shape, share, flags, variant = PRODUCTS[kernel]

    def make(path, seed):
        return attention(path, seed, *shape) if kernel == "attention" else small_models.matmul(path, seed, *shape)

    def sides(bench):
        name = f"product-{'x'.join(map(str, shape))}"
        small_models.SMALL[name] = make
        program = bench.program(Model(bench, name), "32x32", (f"--precision={precision}", *flags),
                                ("--threads=1",), variant)
        operations = 2 * share * np.prod(shape, dtype=float) * (shape[0] if kernel == "attention" else 1)
        return program.repeated, BareLoop(operations).seconds

    return Row(f"{kernel}-{precision}", f"{kernel} {'x'.join(map(str, shape))}, {precision}, one thread",
               "the bare loop", sides, 1 / (0.6 if precision == "f32" else 0.4), rounds=3,
               # What is slow enough to vary by half (reduce_stored in f16: 148 to 228 on one idle host) holds nothing.
               quick=precision == "f32" and kernel != "sparse")


ROWS = [
    *model_rows("minilm", "MiniLM, 4 x 11 tokens", cold=0.15, unit="s", repeated=3, quick=True),
    *model_rows("gpt2-layer", "a layer of GPT-2, 128 tokens", cold=4, repeated=1.5, quick=True),
    *flag_rows("gpt2-layer-f16", "the same in f16", "gpt2-layer", ("--precision=f16",), "f32", quick=True),
    # Not quick: with all weights a replay takes 0.3 ms, and the ratio has been 559 to 1,002 on one idle host.
    *flag_rows("sparse-layer", "a small layer, half of its weights kept", "small-layer",
               ("--sparsity=0.5", "--sparsity-filter=*.weight"), "all weights"),
    *model_rows("gpt2", "GPT-2 124M, 128 tokens", TORCH, cold=4, repeated=1.5),
    *flag_rows("gpt2-f16", "the same in f16", "gpt2", ("--precision=f16",), "f32", TORCH),
    memory("gpt2", "GPT-2 124M", TORCH, "32x32"),
    Row("gpt2-training", "a step of AdamW of GPT-2 124M, 1 x 128 tokens, 32x32 PEs", "PyTorch's", training, 12, rounds=1),
    *model_rows("smollm2-step", "SmolLM2-135M, a token behind 63", SMOLLM2, cold=20, repeated=6),
    *model_rows("smollm2-prefill", "SmolLM2-135M, 128 tokens", SMOLLM2, cold=5, repeated=2),
    memory("smollm2-step", "SmolLM2-135M", SMOLLM2, "32x32"),
    Row("resident", "GPT-2 of 6 small layers in a pipeline, 96x80 PEs, 8 samples", "onnxruntime", resident,
        rounds=3),
    Row("wafer-layer", "a layer of GPT-2, 750x994 PEs, the whole process", "onnxruntime", wafer, 5, "s", 3),
    memory("gpt2-layer", "a layer of GPT-2", None, "750x994", 1500),
    stepped("wavelet"),
    # Sparse weights stream in f32 only.
    *(product(kernel, precision) for kernel in PRODUCTS for precision in ("f32", "f16", "bf16")
      if kernel != "sparse" or precision == "f32"),
]
