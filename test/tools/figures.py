# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures that pages state, measured again: figures.py WORK [--write] [--only WORD]

A row below is a page, some of its words with {} for each figure, and what measures these: as they are to stand there.
The words must be on the page once, line breaks and spaces apart. --write puts what was measured on the page.
Here is what takes seconds. Other tests hold the figures of the pages in HELD; what else pages state with a unit, of runs that take minutes and
of steps of training, nothing measures again: it is counted, and MOST may only fall. Times of the host are on no page.
"""

import argparse
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/e2e/models"), str(ROOT / "test/e2e"), str(ROOT / "python")]
import check_precision  # noqa: E402
import small_models  # noqa: E402

FIGURE = r"[0-9][0-9,.]*"
UNITS = re.compile(r"(?<![\w.-])" + FIGURE + r"(?: M| k)? ?(cycles|ms|us|s|seconds|minutes|MB|GB|kB|times|x|%)(?!\w)")
HOST = re.compile(FIGURE + r" (s|seconds|minutes) (of (a|one) core|of CPU|of processor time)")
# What measures what is on a page, or under a folder.
HELD = {"compiler/machine/README.md": "MachineTest", "tools/estimate/README.md": "EstimateTest",
        "test/conformance/TABLE.md": "conformance", "test/e2e/families/TABLE.md": "families",
        "runtime/train/large.md": "train_text.py --of", "test/bench/": "the scripts beside them, which write these tables", "CHANGELOG.md": "what was, then"}
MOST = 105


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


def perceptron(precision, tokens=16, features=129, mesh="8x8", unit=1e3):
    check_precision.write_model(WORK, tokens, features)
    (WORK / "model.npz").unlink(missing_ok=True)
    np.savez(WORK / "model.npz", x=np.load(WORK / "x.npy"))
    report = ran("model.onnx", f"--mesh={mesh}", f"--precision={precision}")
    return (f"{report['cycles']['total']:,}", f"{report['weights']['streamed_bytes'] / unit:.3g}",
            f"{report['sram']['peak_bytes']:,}")


def wide_perceptron(precision):
    return perceptron(precision, 8, 513, "64x8", 1e6)


QUICK_START = """  SRAM peak      {} of 49152 bytes ('.../layer.0/intermediate/dense/MatMul')
  cycles         {}, {} us, counted by strips"""
TOKENS = """  tokens         44 per run, {} k per second
  kernel            count       cycles   share   vs bound  limited by
  matmul               {}       {}   {} %     {} x  compute"""
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
    ("compiler/kernels/precision.md", "(`check_precision.py`) | f32 | {} | {} kB | {} |", lambda: perceptron("f32")),
    ("compiler/kernels/precision.md", "(`check_precision.py`) | f32 | ... | f16 | {} | {} kB | {} |", lambda: perceptron("f16")),
    ("compiler/kernels/precision.md", "(`check_precision.py`) | f32 | ... | bf16 | {} | {} kB | {} |", lambda: perceptron("bf16")),
    ("compiler/kernels/precision.md", "64x8 PEs | f32 | {} | {} MB | {} |", lambda: wide_perceptron("f32")),
    ("compiler/kernels/precision.md", "64x8 PEs | f32 | ... | f16 | {} | {} MB | {} |", lambda: wide_perceptron("f16")),
    ("compiler/kernels/precision.md", "64x8 PEs | f32 | ... | bf16 | {} | {} MB | {} |", lambda: wide_perceptron("bf16")),
]



def pre_trained(model, precision, mesh):
    """Of a model of MODELS, its inputs beside it, by `strips`."""
    path = MODELS / f"{model}.onnx"
    output("wsec", path, "-o", "m.wafer", "--quiet", f"--precision={precision}", f"--mesh={mesh}")
    output("wse-run", "m.wafer", f"--weights={MODELS}", "--inputs", path.with_suffix(".npz"), "--quiet", "--engine=strips",
           "--report=r.json")
    report = json.loads((WORK / "r.json").read_text())
    return (f"{report['cycles']['total']:,}", f"{report['weights']['streamed_bytes'] / 1e6:.3g}",
            f"{report['sram']['peak_bytes']:,}")


SMALL, LM = "the same, 32x32 PEs, `strips` | f32 | ", "all-minilm-l6, 4 sentences of 11 tokens, 32x32 PEs, `strips` | f32 | "
GPT2 = "GPT-2 of 6 layers, 32 tokens, `strips` | f32 | "
WIDER = "the same, 64x64 PEs, `strips` | f32 | "
# Of models that make_torch_models.py makes.
OF_MODELS = [("compiler/kernels/precision.md", f"| {words}{on}{{}} | {{}} MB | {{}} |",
              functools.partial(pre_trained, model, precision, mesh))
             for words, model, mesh in ((GPT2, "gpt2-small-6", "8x8"), (SMALL, "gpt2-small-6", "32x32"), (LM, "all-minilm-l6", "32x32"),
                                        (WIDER, "all-minilm-l6", "64x64"))
             for on, precision in (("", "f32"), ("... | f16 | ", "f16"))] + [
                 ("compiler/kernels/precision.md", f"| {GPT2}... | bf16 | {{}} | {{}} MB | {{}} |",
                  functools.partial(pre_trained, "gpt2-small-6", "bf16", "8x8"))]


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
    stated, measured = found[0].groups(), [str(figure) for figure in measure()]
    if list(stated) == measured:
        return None
    if write:
        for number, figure in reversed(list(enumerate(measured, 1))):
            text = text[:found[0].start(number)] + figure + text[found[0].end(number):]
        (ROOT / page).write_text(text)
    return f"{page}: {words.strip()}\n  states {' '.join(stated)}\n  measured {' '.join(measured)}"


def unmeasured():
    """Figures that no row measures, by page, and times of the host."""
    pages = subprocess.run(["git", "ls-files", "*.md"], check=True, capture_output=True, text=True, cwd=ROOT).stdout.split()
    count, host = 0, []
    for page in pages:
        text = (ROOT / page).read_text()
        host += [f"{page}: {found[0]}" for found in HOST.finditer(text)]
        if any(page.startswith(held) for held in HELD):
            continue
        rows = [pattern_of(words).search(text) for where, words, _ in FIGURES + OF_MODELS if where == page]
        spans = {row.start(i + 1) for row in rows if row for i in range(len(row.groups()))}
        count += sum(found.start() not in spans for found in UNITS.finditer(text))
    return count, host


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
    count, host = unmeasured()
    print(f"{count} figures that nothing measures again, at most {MOST}")
    print(*(f"{found}: a time of the host drifts with it" for found in host), sep="\n")
    if count < MOST:
        print(f"let MOST be {count}")
    return (bool(wrong) and not arguments.write) or count != MOST or bool(host)


if __name__ == "__main__":
    sys.exit(main())
