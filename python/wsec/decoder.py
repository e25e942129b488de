# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A language model on an emulated wafer, fed with tokens as they come."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wsec import beams, gguf, language, program, tools
from wsec.session import Session
from wsec.tools import UsageError

# Tokens of a call that takes a prompt, of the programs that are tried one after the other until one fits: code of two
# entries, and what many tokens take, may leave too little SRAM for the states. With 1 there is no such entry.
_CHUNKS = (32, 16, 8, 1)
# The same where weights stay: calls of many tokens want a larger region than those of one are fast on.
_RESIDENT_CHUNKS = (8, 1)
MODES = ("stream", "resident")
# Tokens of all conversations, where nothing else is said: of one; of several, whose faster products want more of a PE; and
# where states of so many leave too little of it.
CAPACITY, BATCH_CAPACITY, SMALL_CAPACITY, SMALL_MESH = 512, 448, 256, 32 * 32


class Work(NamedTuple):
    """What calls took: of the wafer `cycles`, and bytes of weights that `streamed` to it; `seconds` of the emulator."""

    calls: int = 0
    cycles: float = 0
    streamed: int = 0
    seconds: float = 0


class Decoder:
    """Tokens in, logits out, of `batch` sequences that have nothing to do with one another. Keys and values of their
    tokens, `fed`, stay on the wafer: the entry `prefill` of the program takes some tokens of each sequence, `decode` one;
    where only one fits, `decode` takes them all."""

    def __init__(self, path: str | os.PathLike[str], *, mesh: str = "32x32", capacity: int | None = None, top: int = 0,
                 precision: str = "f32", kv_precision: str | None = None, machine: str | None = None, threads: int = 0,
                 batch: int = 1, progress: bool | None = None, mode: str = "stream", beams: bool = False) -> None:
        """path: a GGUF file, whose weights are written to the cache as f32, once, and so are programs.
        capacity: tokens of a sequence whose keys and values are kept, at most (default: 512, of a batch 448 of all sequences
        together, in f32 on fewer than 32x32 PEs 256, or as many as there are positions).
        top: how many logits leave the wafer, those of the likeliest tokens, or 0 for all. mesh, machine, precision,
        kv_precision: as wsec takes them; threads: as `Program.session` takes them. mode: "stream", or "resident": weights come once, before
        the first call, and stay on the wafer. beams: whether the sequences may be those of `search`. Raises Error for a model that cannot be read."""
        self.file = gguf.File(path)
        self.shape = language.shape_of(self.file)
        if mode not in MODES:
            raise UsageError(f"mode is {mode!r}, expected {' or '.join(MODES)}")
        if batch < 1:
            raise UsageError(f"a batch of {batch} sequences, expected at least 1")
        if capacity is None:
            sides = [int(side) for side in mesh.split("x") if side.isdecimal()]
            is_small = len(sides) == 2 and sides[0] * sides[1] < SMALL_MESH and precision == "f32"
            most = SMALL_CAPACITY if is_small else BATCH_CAPACITY if batch > 1 else CAPACITY
            capacity = max(2, min(most // batch, self.shape["positions"]))
        if not 2 <= capacity <= self.shape["positions"]:
            raise UsageError(f"a capacity of {capacity} tokens, expected 2 to the {self.shape['positions']} positions of "
                             f"{self.shape['name']}")
        if not 0 <= top <= self.shape["vocabulary"]:
            raise UsageError(f"logits of the {top} likeliest tokens, expected 1 to the {self.shape['vocabulary']} of "
                             f"{self.shape['name']}, or 0 for all")
        if beams and (top or batch < 2):
            raise UsageError("beams are sequences of a batch of at least 2, and choose among all logits: leave out top")
        self.beams = beams
        self.mesh, self.capacity, self.machine = mesh, capacity, machine
        self.precision, self.kv_precision = precision, kv_precision
        self.top, self.batch, self.mode = top, batch, mode
        self.fed: list[list[int]] = [[] for _ in range(batch)]
        self.threads, self.progress, self.work = threads, progress, Work()
        self._chunk = 0
        self._session: Session | None = None
        self._folder = _folder_of(Path(path))
        if not (self._folder / "weights.safetensors").exists():
            with tools.shown(f"reading {Path(path).name}", progress):
                language.write_weights(self.file, self._folder / "weights.safetensors")

    def load(self) -> None:
        """Compiles the program, unless the cache has it, and opens it, as the first call does. Raises Error."""
        if not self._session:
            self._session = self._program().session(threads=self.threads)

    @property
    def position(self) -> int:
        """Tokens of the first sequence, and where its next one stands."""
        return len(self.fed[0])

    def check_known(self, ids: Sequence[int]) -> None:
        """Raises UsageError for tokens that the model does not have."""
        unknown = [i for i in ids if not 0 <= i < self.shape["vocabulary"]]
        if unknown:
            raise UsageError(f"there is no token {unknown[0]}: {self.shape['name']} has {self.shape['vocabulary']}")

    def check(self, ids: Sequence[int], sequence: int = 0) -> None:
        """Raises UsageError for tokens that the sequence cannot be fed: none, unknown ones, more than capacity is left for."""
        self.check_known(ids)
        before = len(self.fed[sequence])
        if not ids or before + len(ids) > self.capacity:
            raise UsageError(f"{len(ids)} tokens behind {before}, expected at least one and at most "
                             f"{self.capacity} in all: shorten the text, or raise the capacity")

    def extend(self, ids: Sequence[int], sequence: int = 0) -> np.ndarray:
        """Feeds tokens behind those before; returns the logits behind the last one, f32[vocabulary], -inf where they
        did not leave the wafer. Raises UsageError as `check`: then nothing has changed."""
        self.check(ids, sequence)
        end = len(self.fed[sequence]) + len(ids)
        while (left := end - len(self.fed[sequence])) > 0:
            logits = self.step({sequence: ids[-left:]})[sequence]
        return logits

    def step(self, waiting: Mapping[int, Sequence[int]]) -> dict[int, np.ndarray]:
        """One call, which feeds of each sequence of these as many of its tokens as it takes, from the first on. Returns for
        each the logits behind the last one that was fed, as `extend`. Raises UsageError as `check`: then nothing has changed."""
        for sequence, ids in waiting.items():
            self.check(ids, sequence)
        self.load()
        many = self._chunk > 1 and max(map(len, waiting.values())) > 1
        tokens = self._chunk if many else 1
        after = [its + list(waiting.get(i, ()))[:tokens] for i, its in enumerate(self.fed)]
        # Where less room is left than a call takes, it begins with tokens that are there already. Behind the last one there
        # may be any: what it leaves is written over.
        starts = np.array([min(len(its), self.capacity - tokens) for its in self.fed])
        padded, last = np.zeros((self.batch, tokens), "i8"), np.zeros(self.batch, "i8")
        for i, (its, start) in enumerate(zip(after, starts)):
            padded[i, :len(its) - start] = its[start:]
            last[i] = max(0, len(its) - start - 1)
        given = self._session.run({"input_ids": padded, "position_ids": starts[:, None] + np.arange(tokens), "last": last},
                                  entry="prefill" if many else "decode",
                                  arguments={"position": starts if self.batch > 1 else starts[0]})
        self.fed = after
        self._count()
        return {sequence: self._logits(given, sequence) for sequence in waiting}

    def _count(self) -> None:
        """Adds what the last call took."""
        counts = self._session.counts
        self.work = Work(self.work.calls + 1, self.work.cycles + counts.cycles,
                         self.work.streamed + counts.streamed_bytes, self.work.seconds + counts.seconds)

    def _logits(self, given: Mapping[str, np.ndarray], sequence: int) -> np.ndarray:
        if not self.top:
            return given["logits"][sequence, 0]
        logits = np.full(self.shape["vocabulary"], -np.inf, "f4")
        logits[given["top.ids"][sequence, 0]] = given["top.logits"][sequence, 0]
        return logits

    def search(self, ids: Sequence[int], most_tokens: int, end_ids: Sequence[int] = (),
               length_penalty: float = 1.0) -> list[int]:
        """Tokens behind `ids`, up to `most_tokens` or one of `end_ids`, by beam search: sequences are beams of this text,
        which go on from one another on the wafer (`wsec.beams`). Forgets what they were fed. Raises UsageError."""
        if not self.beams:
            raise UsageError("sequences are no beams: take a Decoder with beams=True")
        self.check_known(ids)
        if not ids or len(ids) + most_tokens - 1 > self.capacity:
            raise UsageError(f"{len(ids)} tokens and {most_tokens} behind them, of which the last is not fed, expected at least "
                             f"one and at most {self.capacity} in all: shorten the text, or raise the capacity")
        self.fed = [[] for _ in range(self.batch)]

        def feed(fed: list[list[int]]) -> np.ndarray:
            end = len(self.fed[0]) + len(fed[0])
            while (left := end - len(self.fed[0])) > 0:
                logits = self.step({i: its[-left:] for i, its in enumerate(fed)})
            return np.stack([logits[i] for i in range(self.batch)])

        def reorder(sources: list[int]) -> None:
            self._session.run(entry="reorder", arguments={"source": sources, "position": [len(its) for its in self.fed]})
            self._count()
            self.fed = [list(self.fed[source]) for source in sources]

        return beams.search(ids, beams.Beams(self.batch, most_tokens, end_ids, length_penalty), feed, reorder)[0].ids

    def rewind(self, position: int, sequence: int = 0) -> None:
        """Forgets all tokens of a sequence from `position` on."""
        del self.fed[sequence][position:]

    @property
    def clock(self) -> float:
        """Cycles a second of the wafer that ran the last call."""
        return self._session.report.machine.clock_ghz * 1e9

    def _program(self) -> program.Program:
        rows = self.mesh.partition("x")[2]
        most = min(int(rows) if rows.isdecimal() and int(rows) else 1, self.capacity - 1)
        chunks = list(dict.fromkeys(max(1, min(chunk, most) // self.batch) for chunk in
                                    (_RESIDENT_CHUNKS if self.mode == "resident" else _CHUNKS)))
        machine = self.machine
        if machine and Path(machine).is_file():
            machine = Path(machine).read_text()
        graph = self._graph()
        made = f"{tools.tool_stamp('wsec')} {self.mesh} {machine} {self.precision} {self.mode}{' beams' if self.beams else ''} {self.kv_precision}"
        paths = {chunk: graph.with_name(f"{graph.stem}-{hashlib.sha256(f'{made} {chunk}'.encode()).hexdigest()[:16]}.wafer")
                 for chunk in chunks}
        # What was tried before the one that the cache has did not fit.
        self._chunk = next((chunk for chunk in chunks if paths[chunk].exists()), 0)
        for chunk in () if self._chunk else chunks:
            try:
                self._compile(graph, chunk, paths[chunk])
                self._chunk = chunk
                break
            except tools.CompileError as error:
                if "SramOverflow" not in str(error):
                    raise
                if chunk == chunks[-1]:
                    raise tools.CompileError(f"{error}; or take a smaller capacity than {self.capacity} tokens, or "
                                             f"another precision than {self.precision}"
                                             + (f", or a batch of fewer than {self.batch}" if self.batch > 1 else "")
                                             + (", or let weights stream" if self.mode == "resident" else "")
                                             ) from error
        return program.load(paths[self._chunk])

    def _compile(self, graph: Path, chunk: int, path: Path) -> None:
        partial = path.with_suffix(f".{os.getpid()}.wafer")
        entries = ["decode:sequence=1", *([f"prefill:sequence={chunk}"] if chunk > 1 else [])]
        program.compile(graph, partial, mesh=self.mesh, machine=self.machine, precision=self.precision, kv_precision=self.kv_precision, mode=self.mode,
                        states=True, reorder_states=self.beams, entry=entries, progress=self.progress)
        partial.replace(path)

    def _graph(self) -> Path:
        """The ONNX file of calls, which refers to the weights beside it."""
        try:
            from wsec import weights
        except ImportError as error:
            raise UsageError(f"graphs need a package: pip install {error.name}") from error
        stamp = hashlib.sha256(tools.tool_stamp("wsec").encode()).hexdigest()[:16]
        path = self._folder / f"decoder-{self.batch}x{self.capacity}-top{self.top}-{stamp}.onnx"
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=self._folder) as name:
                (Path(name) / "model.yaml").write_text(json.dumps({"model": self.shape}))
                plain = Path(name) / "plain.onnx"
                tools.run("wsec", ["model", f"--config={name}/model.yaml", "-o", plain, f"--batch={self.batch}", "--last-token",
                                   f"--kv-capacity={self.capacity}", *([f"--top-k={self.top}"] if self.top else [])],
                          "writing the graph")
                partial = path.with_suffix(f".{os.getpid()}.onnx")
                weights.refer(plain, self._folder / "weights.safetensors", partial)
                partial.replace(path)
        return path


def _folder_of(path: Path) -> Path:
    """Where what is made of a model lies: by its name, size and time."""
    about = path.stat()
    mark = hashlib.sha256(f"{path.resolve()} {about.st_size} {about.st_mtime_ns} 1".encode()).hexdigest()[:16]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "wsec" / "chat" / f"{path.stem}-{mark}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
