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

# Added to the scores of what a token does not see.
_UNSEEN = np.float32(-1e30)
# Tokens of a call that takes a prompt, at most; and that keys of all calls are rounded up to.
_CHUNK, _LEAST_KEYS = 32, 128


class Work(NamedTuple):
    """What calls took: of the wafer `cycles`, and bytes of weights that `streamed` to it; `seconds` of the emulator."""

    calls: int = 0
    cycles: float = 0
    streamed: int = 0
    seconds: float = 0


class Decoder:
    """Tokens in, logits out. Keys and values of the tokens so far, `position` of them, are kept here and go to the
    wafer with each call; calls take as many of them as there are, rounded up to a power of two."""

    def __init__(self, path: str | os.PathLike[str], *, mesh: str = "32x32", capacity: int = 512, top: int = 0,
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
        rows = mesh.partition("x")[2]
        self.chunk = min(int(rows) if rows.isdecimal() and int(rows) else 1, _CHUNK, capacity - 1)
        width = self.shape["kv_heads"] * self.shape["head_size"]
        self.kept = {f"{layer}.{kind}": np.zeros((1, capacity, width), "f4")
                     for layer in range(self.shape["layers"]) for kind in ("key", "value")}
        self._sessions: dict[int, tuple[int, Session]] = {}  # tokens of a call -> keys, session
        self._folder = _folder_of(Path(path))
        if not (self._folder / "weights.safetensors").exists():
            with tools.shown(f"reading {Path(path).name}", progress):
                language.write_weights(self.file, self._folder / "weights.safetensors")

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
            many = len(ids) - at > 1 and self.position + self.chunk <= self.capacity
            part = ids[at:at + self.chunk] if many else ids[at:at + 1]
            logits = self._call(part, self.chunk if many else 1)
            at += len(part)
        return logits

    def rewind(self, position: int) -> None:
        """Forgets all tokens from `position` on."""
        self.position = min(self.position, position)

    def _call(self, ids: Sequence[int], tokens: int) -> np.ndarray:
        keys, session = self._session(tokens)
        past = keys - tokens
        mask = np.full((1, 1, tokens, keys), _UNSEEN)
        mask[..., :self.position] = 0
        mask[..., past:] = np.triu(np.full((tokens, tokens), _UNSEEN), 1)
        padded = np.zeros((1, tokens), "i8")
        padded[0, :len(ids)] = ids
        given = session.run({"input_ids": padded, "position_ids": self.position + np.arange(tokens)[None],
                             "attention_mask": mask,
                             **{f"past.{name}": kept[:, :past] for name, kept in self.kept.items()}})
        for name, kept in self.kept.items():
            kept[:, self.position:self.position + len(ids)] = given[f"present.{name}"][:, past:past + len(ids)]
        self.position += len(ids)
        counts = session.counts
        self.work = Work(self.work.calls + 1, self.work.cycles + counts.cycles,
                         self.work.streamed + counts.streamed_bytes, self.work.seconds + counts.seconds)
        if not self.top:
            return given["logits"][0, len(ids) - 1]
        logits = np.full(self.shape["vocabulary"], -np.inf, "f4")
        logits[given["top.ids"][0, len(ids) - 1]] = given["top.logits"][0, len(ids) - 1]
        return logits

    @property
    def clock(self) -> float:
        """Cycles a second of the wafer that ran the last call."""
        return next(iter(self._sessions.values()))[1].report.machine.clock_ghz * 1e9

    def _session(self, tokens: int) -> tuple[int, Session]:
        """For calls of so many tokens, with the fewest keys that hold them and what was before."""
        keys = _LEAST_KEYS
        while keys < self.position + tokens:
            keys *= 2
        keys = min(keys, self.capacity)
        if self._sessions.get(tokens, (0,))[0] != keys:
            # Those of fewer keys will not be called soon, and each holds what it has recorded.
            self._sessions = {its: had for its, had in self._sessions.items() if its != tokens and had[0] >= keys}
            self._sessions[tokens] = keys, self._program(keys, tokens).session(threads=self.threads)
        return self._sessions[tokens]

    def _program(self, keys: int, tokens: int) -> program.Program:
        graph = self._graph(keys, tokens)
        machine = self.machine
        if machine and Path(machine).is_file():
            machine = Path(machine).read_text()
        made = f"{tools.tool_stamp('wsec')} {self.mesh} {machine} {self.precision}"
        path = graph.with_name(f"{graph.stem}-{hashlib.sha256(made.encode()).hexdigest()[:16]}.wafer")
        if not path.exists():
            partial = path.with_suffix(f".{os.getpid()}.wafer")
            program.compile(graph, partial, mesh=self.mesh, machine=self.machine, precision=self.precision,
                            progress=self.progress)
            partial.replace(path)
        return program.load(path)

    def _graph(self, keys: int, tokens: int) -> Path:
        """The ONNX file of calls, which refers to the weights beside it."""
        try:
            from wsec import weights
        except ImportError as error:
            raise UsageError(f"graphs need a package: pip install {error.name}") from error
        stamp = hashlib.sha256(tools.tool_stamp("wsec").encode()).hexdigest()[:16]
        path = self._folder / f"decoder-{keys}-{tokens}-top{self.top}-{stamp}.onnx"
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=self._folder) as name:
                (Path(name) / "model.yaml").write_text(json.dumps({"model": self.shape}))
                plain = Path(name) / "plain.onnx"
                tools.run("wsec", ["model", f"--config={name}/model.yaml", "-o", plain, "--batch=1",
                                   f"--sequence={tokens}", f"--kv-capacity={keys - tokens}",
                                   *([f"--top-k={self.top}"] if self.top else [])], "writing the graph")
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
