# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A language model learns on an emulated wafer.

    python -m wsec.manual [--size=small|large] [--folder=DIR] [flags of wsec train]
    python -m wsec.manual --sample="Return a" [--size=..] [--folder=DIR] [flags of wse-run --generate]

A decoder learns from random weights on 32x32 PEs. Small: 0.8 million parameters, from the manual that ships with
Python, byte by byte: 300 steps of 20 x 64 bytes. Large: 5.3 million, from the manual and what Python's library says of
itself, in 2,048 word pieces: 1,000 steps of 8 x 128 of them. DIR (default: build/manual, build/manual-large) gets the text,
the configuration, the log, and curve.svg. Killed, or stopped by Ctrl-C, it goes on with the same command. --sample
then goes on with a text by what was learnt, token by token, keys and values on the wafer.
"""

import argparse
import ast
import hashlib
import importlib
import os
import pydoc_data.topics
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from wsec import program, tools
from wsec.training import History

WARMUP, BETAS, CLIP = 20, (0.9, 0.95), 1.0
# Tests and tools of the library say little in words.
WITHOUT = {"dist-packages", "idlelib", "lib2to3", "pydoc_data", "site-packages", "test", "tests"}


@dataclass(frozen=True)
class Run:
    """What a decoder of `layers` of `width` features learns in `steps` of `batch` sequences of `sequence` tokens, with word pieces
    or bytes."""

    layers: int
    width: int
    vocabulary: int
    steps: int
    batch: int
    sequence: int
    rate: float = 1e-3

    @property
    def has_pieces(self) -> bool:
        return self.vocabulary > 256

    def config(self) -> str:
        # Steps of large take 1.6 times the text.
        tokens = "[manual.txt, manual.txt]" if self.has_pieces else "manual.txt"
        text = "tokenizer: tokenizer.json, eval_tokens: held.txt, eval_every: 100, " if self.has_pieces else ""
        return f"""\
model: {{preset: tiny, layers: {self.layers}, width: {self.width}, heads: 4, vocabulary: {self.vocabulary}, positions: {self.sequence}}}
batch_size: {self.batch}
sequence: {self.sequence}
training: {{tokens: {tokens}, {text}steps: {self.steps}, lr: {self.rate}, warmup_steps: {WARMUP}, schedule: cosine,
           betas: [{BETAS[0]}, {BETAS[1]}], clip_norm: {CLIP}, mesh: 32x32,
           log: log.jsonl, log_every: 20, checkpoint_dir: checkpoints, checkpoint_every: 50, checkpoint_keep: 2, resume: true}}
"""


RUNS = {"small": Run(layers=4, width=128, vocabulary=256, steps=300, batch=20, sequence=64),
        "large": Run(layers=6, width=256, vocabulary=2048, steps=1000, batch=8, sequence=128)}


def documents() -> dict[str, str]:
    """Texts by name: topics of the manual, and docstrings of the library's modules."""
    topics = pydoc_data.topics.topics
    found = {f"manual/{name}": topics[name] for name in topics}
    library = Path(sysconfig.get_path("stdlib"))
    for path in library.rglob("*.py"):
        name = path.relative_to(library)
        if WITHOUT.intersection(name.parts):
            continue
        try:
            nodes = ast.walk(ast.parse(path.read_bytes()))
        except (SyntaxError, ValueError):
            continue
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        found[f"library/{name}"] = "\n\n".join(filter(None, (ast.get_docstring(node) for node in nodes if isinstance(node, kinds))))
    return found


def write(folder: Path, run: Run) -> None:
    """The text, the configuration, and of word pieces the tokenizer and a twentieth of the text, which is held out."""
    folder.mkdir(parents=True, exist_ok=True)
    if run.has_pieces:
        write_pieces(folder, run)
    else:
        topics = pydoc_data.topics.topics
        (folder / "manual.txt").write_text("\n\n".join(topics[name] for name in sorted(topics)), encoding="utf-8")
    (folder / "run.yaml").write_text(run.config())  # the last: with it, all is there


def tokenizers() -> ModuleType:
    """The package. Raises UsageError where there is none."""
    try:
        return importlib.import_module("tokenizers")
    except ImportError as error:
        raise tools.UsageError("word pieces need a package: pip install tokenizers") from error


def write_pieces(folder: Path, run: Run) -> None:
    package = tokenizers()
    texts = documents()
    # Neighbours in the alphabet are about the same things: a digest shuffles them, each time alike.
    names = sorted(filter(texts.get, texts), key=lambda name: hashlib.sha256(name.encode()).digest())
    held = names[::20]
    learnt = "\n\n".join(texts[name] for name in names if name not in held)
    (folder / "manual.txt").write_text(learnt, encoding="utf-8")
    (folder / "held.txt").write_text("\n\n".join(texts[name] for name in held), encoding="utf-8")
    tokenizer = package.Tokenizer(package.models.BPE())
    tokenizer.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = package.decoders.ByteLevel()
    tokenizer.train_from_iterator([learnt], package.trainers.BpeTrainer(
        vocab_size=run.vocabulary, initial_alphabet=package.pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.save(str(folder / "tokenizer.json"))


def history(folder: Path) -> History:
    """Of the log."""
    result = History()
    for line in (folder / "log.jsonl").read_text().splitlines():
        result.add(line)
    return result


def is_of(folder: Path, run: Run) -> bool:
    """Whether the folder has all that the run begins with."""
    config = folder / "run.yaml"
    return config.exists() and config.read_text() == run.config() and (folder / "manual.txt").exists()


def train(folder: Path, run: Run, flags: list[str]) -> int:
    """The exit code of wsec train."""
    if not is_of(folder, run):
        write(folder, run)
    code = subprocess.run([os.path.abspath(tools.tool("wsec")), "train", "run.yaml", *flags], cwd=folder, check=False,
                          env={"WSEC_PYTHON": sys.executable, **os.environ}).returncode
    if code == 0:
        curve = folder / "curve.svg"
        curve.write_text(history(folder).svg())
        print(f"curve    {curve}")
    return code


def sample(folder: Path, run: Run, text: str, flags: list[str]) -> str:
    """The text, and how it goes on by the weights of the last checkpoint. Raises Error."""
    from wsec import weights
    found = sorted(folder.glob("checkpoints/*/model.safetensors"))
    if not found or not is_of(folder, run):
        raise tools.UsageError(f"{folder} has no checkpoint of this size: python -m wsec.manual makes some")
    if run.has_pieces:
        tokenizer = tokenizers().Tokenizer.from_file(str(folder / "tokenizer.json"))
        ids, decode = tokenizer.encode(text).ids, tokenizer.decode
    else:
        ids, decode = list(text.encode()), lambda ids: bytes(ids).decode(errors="replace")
    if not 0 < len(ids) < run.sequence:
        raise tools.UsageError(f"a text of {len(ids)} tokens, expected 1 to {run.sequence - 1}")
    tools.run("wsec", ["model", f"--config={folder}/run.yaml", "-o", folder / "plain.onnx", "--batch=1", "--last-token",
                       f"--kv-capacity={run.sequence}"], "writing the graph")
    weights.refer(folder / "plain.onnx", found[-1], folder / "decoder.onnx")
    program.compile(folder / "decoder.onnx", folder / "decoder.wafer", mesh="32x32", states=True,
                    entry=["decode:sequence=1"])
    np.save(folder / "ids.npy", np.array([ids], "i8"))
    tools.run("wse-run", [folder / "decoder.wafer", "--generate", "--input", f"input_ids={folder / 'ids.npy'}",
                          "--output", f"tokens={folder / 'tokens.npy'}", *flags], "writing")
    return text + decode(np.load(folder / "tokens.npy").ravel().tolist())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m wsec.manual", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=RUNS, default="small", help="default: small")
    parser.add_argument("--folder", type=Path, help="where it is")
    parser.add_argument("--sample", metavar="TEXT", help="go on with it")
    words, flags = parser.parse_known_args()
    folder = words.folder or Path("build/manual" if words.size == "small" else f"build/manual-{words.size}")
    try:
        if words.sample is None:
            return train(folder, RUNS[words.size], flags)
        print(sample(folder, RUNS[words.size], words.sample, flags))
    except (tools.Error, OSError, UnicodeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, tools.UsageError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
