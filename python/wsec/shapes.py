# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model for all shapes: a program for each set of them that comes, compiled when it first does."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from wsec import from_torch, tools
from wsec.program import Program, compile
from wsec.report import Report
from wsec.session import Counts, Session

Made = TypeVar("Made")


class Recent(Generic[Made]):
    """What was made for keys, of the `most` that were asked for last."""

    def __init__(self, most: int) -> None:
        if most < 1:
            raise tools.UsageError(f"most is {most}, expected a number of programs of at least 1")
        self._most, self._kept = most, OrderedDict[Hashable, Made]()

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        if key not in self._kept:
            self._kept[key] = make()
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return self._kept[key]

    def values(self) -> list[Made]:
        return list(self._kept.values())


class ShapedSession:
    """A model whose inputs have open extents, called with arrays of any. The first call with some shapes compiles a
    program for them and loads it; later ones find it. Nothing stays on the wafer from call to call: a model that keeps
    states has entries, and a `Program.session`. Threads may share it: calls follow one another."""

    def __init__(self, model: Any, *, engine: str = "burst", threads: int = 0, most: int = 8,
                 dims: Mapping[str, int | str] | None = None, **flags: Any) -> None:
        """model, flags: as of `wsec.compile`, without shapes; engine, threads: as of `Program.session`; most: how
        many programs stay, those that were called last; dims: all open dimensions, one as a range, "1..128", of a
        model that has one program for all calls."""
        for name in ("shapes", "example_inputs", "output", "entry"):
            if name in flags:
                raise tools.UsageError(f"leave out {name}=: a session of a model compiles for the shapes of its calls")
        if dims and from_torch.is_module(model):
            raise tools.UsageError("leave out dims=: a module is exported for the shapes of its calls")
        self._model, self._flags, self._lock = model, flags, threading.Lock()
        self._dims = dims
        self._options = {"engine": engine, "threads": threads}
        self._sessions = Recent[Session](most)
        self._last: Session | None = None

    def run(self, inputs: Mapping[str, Any], *, outputs: Iterable[str] | None = None) -> dict[str, np.ndarray]:
        """Name -> array of all outputs, or of `outputs`. inputs: all that the model has. Raises CompileError where the
        model is refused for these shapes, else as `Session.run`."""
        arrays = {name: np.asarray(value) for name, value in inputs.items()}
        key = () if self._dims else tuple(sorted((name, array.shape) for name, array in arrays.items()))
        with self._lock:
            self._last = self._sessions.get(key, lambda: self._program(arrays).session(**self._options))
            return self._last.run(inputs, outputs=outputs)

    def _program(self, arrays: Mapping[str, np.ndarray]) -> Program:
        if from_torch.is_module(self._model):
            return compile(self._model, example_inputs=from_torch.tensors(arrays), **self._flags)
        if self._dims:
            return compile(self._model, dims=self._dims, **self._flags)
        return compile(self._model, shapes={name: array.shape for name, array in arrays.items()}, **self._flags)

    @property
    def programs(self) -> list[Program]:
        """Those that it holds, the one called last behind the others."""
        with self._lock:
            return [session.program for session in self._sessions.values()]

    @property
    def counts(self) -> Counts:
        """Of the last call."""
        return self._called().counts

    @property
    def report(self) -> Report:
        """Of the last call, as `Outputs.report`."""
        return self._called().report

    def _called(self) -> Session:
        if self._last is None:
            raise tools.UsageError("nothing has run yet")
        return self._last
