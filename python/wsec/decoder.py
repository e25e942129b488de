# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A language model on an emulated wafer, fed with tokens as they come."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wsec import gguf, language, program, tools
from wsec.session import Session
from wsec.tools import UsageError

# Tokens of a call that takes a prompt, of the programs that are tried one after the other until one fits: code of two
# entries, and what many tokens take, may leave too little SRAM for the states. With 1 there is no such entry.
_CHUNKS = (32, 16, 8, 1)
# Tokens of a conversation, where nothing else is said, and where states of so many leave too little of a PE.
CAPACITY, SMALL_CAPACITY, SMALL_MESH = 512, 256, 32 * 32


class Work(NamedTuple):
    """What calls took: of the wafer `cycles`, and bytes of weights that `streamed` to it; `seconds` of the emulator."""

    calls: int = 0
    cycles: float = 0
    streamed: int = 0
    seconds: float = 0


class Decoder:
    """Tokens in, logits out. Keys and values of the tokens so far, `position` of them, stay on the wafer: the entry
    `prefill` of the program takes some tokens of a prompt, `decode` one; where only one fits, `decode` takes them all."""

    def __init__(self, path: str | os.PathLike[str], *, mesh: str = "32x32", capacity: int | None = None, top: int = 0,
                 precision: str = "f32", machine: str | None = None, threads: int = 0,
                 progress: bool | None = None) -> None:
        """path: a GGUF file, whose weights are written to the cache as f32, once, and so are programs.
        capacity: tokens whose keys and values are kept, at most (default: 512, in f32 on fewer than 32x32 PEs 256, or as many as there are positions).
        top: how many logits leave the wafer, those of the likeliest tokens, or 0 for all. mesh, machine, precision: as
        wsec takes them; threads: as `Program.session` takes them. Raises Error for a model that cannot be read."""
        self.file = gguf.File(path)
        self.shape = language.shape_of(self.file)
        if capacity is None:
            sides = [int(side) for side in mesh.split("x") if side.isdecimal()]
            is_small = len(sides) == 2 and sides[0] * sides[1] < SMALL_MESH and precision == "f32"
            capacity = min(SMALL_CAPACITY if is_small else CAPACITY, self.shape["positions"])
        if not 2 <= capacity <= self.shape["positions"]:
            raise UsageError(f"a capacity of {capacity} tokens, expected 2 to the {self.shape['positions']} positions of "
                             f"{self.shape['name']}")
        if not 0 <= top <= self.shape["vocabulary"]:
            raise UsageError(f"logits of the {top} likeliest tokens, expected 1 to the {self.shape['vocabulary']} of "
                             f"{self.shape['name']}, or 0 for all")
        self.mesh, self.capacity, self.precision, self.machine = mesh, capacity, precision, machine
        self.top = top
        self.threads, self.progress, self.position, self.work = threads, progress, 0, Work()
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

    def extend(self, ids: Sequence[int]) -> np.ndarray:
        """Feeds tokens behind those before; returns the logits behind the last one, f32[vocabulary], -inf where they
        did not leave the wafer. Raises UsageError where there are none, one is unknown, or there are more than capacity
        is left for: then nothing has changed."""
        unknown = [i for i in ids if not 0 <= i < self.shape["vocabulary"]]
        if unknown:
            raise UsageError(f"there is no token {unknown[0]}: {self.shape['name']} has {self.shape['vocabulary']}")
        if not ids or self.position + len(ids) > self.capacity:
            raise UsageError(f"{len(ids)} tokens behind {self.position}, expected at least one and at most "
                             f"{self.capacity} in all: shorten the text, or raise the capacity")
        at = 0
        while at < len(ids):
            # A call of several tokens has room for all of them, and takes fewer, too.
            self.load()
            many = len(ids) - at > 1 and 1 < self._chunk <= self.capacity - self.position
            part = ids[at:at + self._chunk] if many else ids[at:at + 1]
            logits = self._call(part, "prefill" if many else "decode", self._chunk if many else 1)
            at += len(part)
        return logits

    def rewind(self, position: int) -> None:
        """Forgets all tokens from `position` on."""
        self.position = min(self.position, position)

    def _call(self, ids: Sequence[int], entry: str, tokens: int) -> np.ndarray:
        # Behind the end of a prompt there may be any token: what it leaves is written over.
        padded = np.zeros((1, tokens), "i8")
        padded[0, :len(ids)] = ids
        given = self._session.run({"input_ids": padded, "position_ids": self.position + np.arange(tokens)[None],
                                   "last": np.array([len(ids) - 1])}, entry=entry, arguments={"position": self.position})
        self.position += len(ids)
        counts = self._session.counts
        self.work = Work(self.work.calls + 1, self.work.cycles + counts.cycles,
                         self.work.streamed + counts.streamed_bytes, self.work.seconds + counts.seconds)
        if not self.top:
            return given["logits"][0, 0]
        logits = np.full(self.shape["vocabulary"], -np.inf, "f4")
        logits[given["top.ids"][0, 0]] = given["top.logits"][0, 0]
        return logits

    @property
    def clock(self) -> float:
        """Cycles a second of the wafer that ran the last call."""
        return self._session.report.machine.clock_ghz * 1e9

    def _program(self) -> program.Program:
        rows = self.mesh.partition("x")[2]
        most = min(int(rows) if rows.isdecimal() and int(rows) else 1, self.capacity - 1)
        chunks = list(dict.fromkeys(min(chunk, most) for chunk in _CHUNKS))
        machine = self.machine
        if machine and Path(machine).is_file():
            machine = Path(machine).read_text()
        graph = self._graph()
        made = f"{tools.tool_stamp('wsec')} {self.mesh} {machine} {self.precision}"
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
                                             f"another precision than {self.precision}") from error
        return program.load(paths[self._chunk])

    def _compile(self, graph: Path, chunk: int, path: Path) -> None:
        partial = path.with_suffix(f".{os.getpid()}.wafer")
        entries = ["decode:sequence=1", *([f"prefill:sequence={chunk}"] if chunk > 1 else [])]
        program.compile(graph, partial, mesh=self.mesh, machine=self.machine, precision=self.precision, states=True,
                        entry=entries, progress=self.progress)
        partial.replace(path)

    def _graph(self) -> Path:
        """The ONNX file of calls, which refers to the weights beside it."""
        try:
            from wsec import weights
        except ImportError as error:
            raise UsageError(f"graphs need a package: pip install {error.name}") from error
        stamp = hashlib.sha256(tools.tool_stamp("wsec").encode()).hexdigest()[:16]
        path = self._folder / f"decoder-{self.capacity}-top{self.top}-{stamp}.onnx"
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=self._folder) as name:
                (Path(name) / "model.yaml").write_text(json.dumps({"model": self.shape}))
                plain = Path(name) / "plain.onnx"
                tools.run("wsec", ["model", f"--config={name}/model.yaml", "-o", plain, "--batch=1", "--last-token",
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
