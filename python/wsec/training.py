# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training: `wsec train` from Python, with its history."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from wsec import tools

PathLike = str | os.PathLike[str]


@dataclass
class History:
    """What a run has logged: a dict for each step ("step", "loss", "lr", "grad_norm", "tokens" or "samples",
    "cycles", "tokens_per_second"), and for each evaluation ("step", "eval_loss", "eval_tokens" or "eval_samples",
    "eval_cycles"). In a notebook, the curve of its losses."""

    steps: list[dict[str, float]] = field(default_factory=list)
    evaluations: list[dict[str, float]] = field(default_factory=list)
    stopped: bool = False  # by Ctrl-C
    text: str = ""  # what wsec train printed

    @property
    def losses(self) -> list[float]:
        """Of each step, before its update."""
        return [step["loss"] for step in self.steps]

    def add(self, line: str) -> None:
        """A line of the log."""
        entry = json.loads(line)
        (self.evaluations if "eval_loss" in entry else self.steps).append(entry)

    def __repr__(self) -> str:
        if not self.steps:
            return "History(no step)"
        first, last = self.steps[0], self.steps[-1]
        return (f"History({len(self.steps)} steps, loss {first['loss']:.4f} to {last['loss']:.4f}"
                f"{', stopped' if self.stopped else ''})")

    def svg(self, width: int = 560, height: int = 240, beside: Mapping[str, Sequence[float]] | None = None) -> str:
        """The losses over the steps as a picture, those of evaluations as points; broad, below them, the losses of others
        from step 1 on, by name."""
        points = [(s["step"], s["loss"]) for s in self.steps]
        evaluated = [(s["step"], s["eval_loss"]) for s in self.evaluations]
        others = {name: list(enumerate(losses, 1)) for name, losses in (beside or {}).items()}
        both = points + evaluated + sum(others.values(), [])
        if not both:
            return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"/>'
        low, high = min(y for _, y in both), max(y for _, y in both)
        first, last = min(x for x, _ in both), max(x for x, _ in both)
        left, bottom = 48, height - 24

        def place(x: float, y: float) -> tuple[float, float]:
            return (left + (x - first) / max(last - first, 1) * (width - left - 12),
                    bottom - (y - low) / (high - low or 1) * (bottom - 16))

        def line(points: list[tuple[float, float]], stroke: str) -> str:
            along = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*p) for p in points))
            return f'<polyline points="{along}" fill="none" {stroke}/>'
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#d2691e"/>'
                       for x, y in (place(*p) for p in evaluated))
        texts = "".join(
            f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'
            for x, y, anchor, text in [(left - 6, 20, "end", f"{high:.3g}"), (left - 6, bottom, "end", f"{low:.3g}"),
                                       (left, height - 6, "start", f"step {first}"),
                                       (width - 12, height - 6, "end", f"{last}")])
        own = line(points, 'stroke="#1f5fa8" stroke-width="1.5"')
        hues = ["#f2b880", "#a8d5a2", "#d8b4e2"]
        below = "".join(line(those, f'stroke="{hues[i % 3]}" stroke-width="5"') for i, those in enumerate(others.values()))
        names = "".join(f'<text x="{width - 12}" y="{20 + 14 * i}" text-anchor="end" fill="{hue}">{escape(name)}</text>'
                        for i, (name, hue) in enumerate(zip(("wsec", *others), ("#1f5fa8", *hues)))) if others else ""
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-size="11" '
                f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>{below}'
                f'{own}{dots}{texts}{names}</svg>')

    def _repr_html_(self) -> str:
        return f"<div>{self!r}</div>{self.svg()}"


Data = PathLike | Sequence[PathLike] | Sequence[int] | np.ndarray | Mapping[str, np.ndarray]


def train(model: PathLike, data: Data, *, steps: int, batch: int, sequence: int | None = None,
          num_systems: int | None = None, mesh: str | None = None, evaluated: Data | None = None,
          tokenizer: PathLike | None = None, log: PathLike | None = None,
          on_step: Callable[[Mapping[str, float]], None] | None = None, progress: bool | None = None,
          **flags: Any) -> History:
    """Trains a model on emulated wafers; returns what happened.

    model: an .onnx file, a preset, or a configuration. data: tokens, as integers, or a .npy or .txt file, or several, of
        which sample j of step i is tokens[(i * batch + j) * sequence] and the `sequence` tokens behind it; or
        arrays of samples, by the names of the model's inputs and "targets", as a dict or a .npz file.
    evaluated: the same, of which only the loss is taken.
    tokenizer: a tokenizer.json, by which texts are read (wsec.tokens); else they are bytes, or what text= says.
    num_systems: wafers; losses and weights do not depend on it. on_step: told each line of the log.
    flags: those of wsec train: lr=1e-3, optimizer="sgd", no_decay=["*.bias"], checkpoint_dir="run", resume=True.

    Ctrl-C ends the run after the step it is in, with a checkpoint if there is a checkpoint_dir; what has been
    done until then is returned. Raises UsageError, or CompileError with what wsec said."""
    history = History()
    with tempfile.TemporaryDirectory(prefix="wsec-") as folder:
        path = Path(log) if log is not None else Path(folder) / "log.jsonl"
        given = {**_file(data, folder, ""), "steps": steps, "batch": batch, "sequence": sequence,
                 "num_systems": num_systems, "mesh": mesh, "log": path, "tokenizer": tokenizer,
                 **({} if evaluated is None else _file(evaluated, folder, "eval_")), **flags}
        command = [tools.tool("wsec"), "train", os.fspath(model), *tools.flags(given)]
        status = tools.Status("training") if (tools.watched() if progress is None else progress) else None
        with open(Path(folder) / "said", "w+", errors="replace") as printed, \
                open(Path(folder) / "wrong", "w+", errors="replace") as wrong:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=printed, stderr=wrong,
                                       env=tools.environment(), start_new_session=True)  # Ctrl-C is ours to pass on
            follower = _Follower(path, history, steps, on_step, status)
            while process.poll() is None:
                try:
                    follower.look()
                    process.wait(0.1)
                except subprocess.TimeoutExpired:
                    continue
                except KeyboardInterrupt:
                    process.send_signal(signal.SIGINT)
                except BaseException:
                    process.kill()
                    raise
            if status:
                status.close()
            follower.look()
            printed.seek(0)
            wrong.seek(0)
            history.text, said = printed.read(), wrong.read()
    history.stopped = process.returncode == 130
    if process.returncode and not history.stopped:
        raise tools.failure("wsec train", process.returncode, said.replace(f"{folder}{os.sep}", ""))
    return history


def _file(data: Data, folder: str, prefix: str) -> dict[str, PathLike | list[PathLike]]:
    """The flag that takes it."""
    if isinstance(data, (list, tuple)) and data and all(isinstance(one, (str, os.PathLike)) for one in data):
        return {f"{prefix}tokens": list(data)}
    if isinstance(data, Mapping):
        arrays = Path(folder) / f"{prefix}data.npz"
        np.savez(arrays, **data)
        return {f"{prefix}data": arrays}
    if isinstance(data, (str, os.PathLike)):
        return {f"{prefix}{'data' if os.fspath(data).endswith('.npz') else 'tokens'}": data}
    path = Path(folder) / f"{prefix}tokens.npy"
    np.save(path, np.asarray(data))
    return {f"{prefix}tokens": path}


class _Follower:
    """Reads a log while it is written."""

    def __init__(self, path: Path, history: History, steps: int, on_step: Callable | None,
                 status: tools.Status | None) -> None:
        self.path, self.history, self.steps, self.on_step, self.status = path, history, steps, on_step, status
        self.before = path.stat().st_ino if path.exists() else None  # of an earlier run
        self.read = 0

    def look(self) -> None:
        if not self.path.exists() or self.path.stat().st_ino == self.before:
            return
        with open(self.path, "rb") as file:
            file.seek(self.read)
            *lines, _ = file.read().split(b"\n")
        for line in lines:
            self.read += len(line) + 1
            self.history.add(line.decode())
            if self.on_step:
                self.on_step(json.loads(line))
        if self.status and self.history.steps:
            last = self.history.steps[-1]
            self.status.detail = f"step {last['step']} of {self.steps}, loss {last['loss']:.4f}"
        if self.status:
            self.status.tick()
