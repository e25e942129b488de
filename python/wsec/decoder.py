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

# Tokens of a call of each entry, of the programs that are tried one after the other until one fits: code of two
# entries, and what many tokens take, may leave too little SRAM for the states.
_CALLS = ((1, 32), (1, 16), (4,), (1,))


class Work(NamedTuple):
    """What calls took: of the wafer `cycles`, and bytes of weights that `streamed` to it; `seconds` of the emulator."""

    calls: int = 0
    cycles: float = 0
    streamed: int = 0
    seconds: float = 0


class Decoder:
    """Tokens in, logits out. Keys and values of the tokens so far, `position` of them, stay on the wafer: the entry
    `prefill` of the program takes some tokens of a prompt, `decode` one; where both do not fit, `step` takes a few."""

    def __init__(self, path: str | os.PathLike[str], *, mesh: str = "32x32", capacity: int = 256, top: int = 0,
                 precision: str = "f32", machine: str | None = None, threads: int = 0,
                 progress: bool | None = None) -> None:
        """path: a GGUF file, whose weights are written to the cache as f32, once, and so are programs.
        capacity: tokens whose keys and values are kept, at most. top: how many logits leave the wafer, those of the
        likeliest tokens, or 0 for all. mesh, machine, precision: as wsec takes them;
        threads: as `Program.session` takes them. Raises Error for a model that cannot be read."""
        self.file = gguf.File(path)
        self.shape = language.shape_of(self.file)
        if not 2 <= capacity <= self.shape["positions"]:
            raise UsageError(f"a capacity of {capacity} tokens, expected 2 to the {self.shape['positions']} positions of "
                             f"{self.shape['name']}")
        if not 0 <= top <= self.shape["vocabulary"]:
            raise UsageError(f"logits of the {top} likeliest tokens, expected 1 to the {self.shape['vocabulary']} of "
                             f"{self.shape['name']}, or 0 for all")
        self.mesh, self.capacity, self.precision, self.machine = mesh, capacity, precision, machine
        self.top = top
        self.threads, self.progress, self.position, self.work = threads, progress, 0, Work()
        self._calls: tuple[int, ...] = ()
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
            sizes = [size for size in self._calls if self.position + size <= self._room(self._calls)]
            tokens = next((size for size in sizes if size >= len(ids) - at), sizes[-1])
            logits = self._call(ids[at:at + tokens], _entries(self._calls)[tokens], tokens)
            at += tokens
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

    def _room(self, calls: tuple[int, ...]) -> int:
        """Tokens of the states: a call of a few has room for all of them behind the last but one."""
        return self.capacity + calls[0] - 1

    def _program(self) -> program.Program:
        rows = self.mesh.partition("x")[2]
        most = min(int(rows) if rows.isdecimal() and int(rows) else 1, self.capacity - 1)
        tried = list(dict.fromkeys(tuple(sorted({min(size, most) for size in calls})) for calls in _CALLS))
        tried = [calls for calls in tried if self._room(calls) <= self.shape["positions"]]
        machine = self.machine
        if machine and Path(machine).is_file():
            machine = Path(machine).read_text()
        stamp = f"{tools.tool_stamp('wsec')} {self.mesh} {machine} {self.precision} {self.capacity} {self.top}"
        paths = {calls: self._folder / f"decoder-{hashlib.sha256(f'{stamp} {calls}'.encode()).hexdigest()[:16]}.wafer"
                 for calls in tried}
        # What was tried before the one that the cache has did not fit.
        self._calls = next((calls for calls in tried if paths[calls].exists()), ())
        for calls in () if self._calls else tried:
            try:
                self._compile(calls, paths[calls])
                self._calls = calls
                break
            except tools.CompileError as error:
                if "SramOverflow" not in str(error):
                    raise
                if calls == tried[-1]:
                    raise tools.CompileError(f"{error}; or take a smaller capacity than {self.capacity} tokens, or "
                                             f"another precision than {self.precision}") from error
        return program.load(paths[self._calls])

    def _compile(self, calls: tuple[int, ...], path: Path) -> None:
        graph, partial = self._graph(self._room(calls)), path.with_suffix(f".{os.getpid()}.wafer")
        program.compile(graph, partial, mesh=self.mesh, machine=self.machine, precision=self.precision, states=True,
                        entry=[f"{name}:sequence={tokens}" for tokens, name in _entries(calls).items()],
                        progress=self.progress)
        partial.replace(path)

    def _graph(self, room: int) -> Path:
        """The ONNX file of calls with states of so many tokens, which refers to the weights beside it."""
        try:
            from wsec import weights
        except ImportError as error:
            raise UsageError(f"graphs need a package: pip install {error.name}") from error
        stamp = hashlib.sha256(tools.tool_stamp("wsec").encode()).hexdigest()[:16]
        path = self._folder / f"decoder-{room}-top{self.top}-{stamp}.onnx"
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=self._folder) as name:
                (Path(name) / "model.yaml").write_text(json.dumps({"model": self.shape}))
                plain = Path(name) / "plain.onnx"
                tools.run("wsec", ["model", f"--config={name}/model.yaml", "-o", plain, "--batch=1", "--last-token",
                                   f"--kv-capacity={room}", *([f"--top-k={self.top}"] if self.top else [])],
                          "writing the graph")
                partial = path.with_suffix(f".{os.getpid()}.onnx")
                weights.refer(plain, self._folder / "weights.safetensors", partial)
                partial.replace(path)
        return path


def _entries(calls: tuple[int, ...]) -> dict[int, str]:
    """Tokens of a call -> the entry that takes them."""
    if len(calls) == 1:
        return {calls[0]: "decode" if calls[0] == 1 else "step"}
    return dict(zip(calls, ("decode", "prefill")))


def _folder_of(path: Path) -> Path:
    """Where what is made of a model lies: by its name, size and time."""
    about = path.stat()
    mark = hashlib.sha256(f"{path.resolve()} {about.st_size} {about.st_mtime_ns} 1".encode()).hexdigest()[:16]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "wsec" / "chat" / f"{path.stem}-{mark}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
