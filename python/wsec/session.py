# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions: one program on one emulated wafer, in this process, for calls that follow one another."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import json
import operator
import os
import re
import sysconfig
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wsec import tools
from wsec.report import Report
from wsec.tools import InputError

if TYPE_CHECKING:
    from wsec.program import Program

PathLike = str | os.PathLike[str]
_MODULE = "wsec_session"
_NUMPY = re.compile("bool|bfloat16|u?int(8|16|32|64)|float(16|32|64)")


@functools.cache
def _module() -> Any:
    """The extension module, which lies where the tools do."""
    path = tools.tool(_MODULE + sysconfig.get_config_var("EXT_SUFFIX"))
    spec = importlib.util.spec_from_loader(_MODULE, importlib.machinery.ExtensionFileLoader(_MODULE, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Counts(NamedTuple):
    """Of a call: cycles of the wafer, seconds that the emulator took, bytes of weights and constants that streamed."""

    cycles: float
    seconds: float
    streamed_bytes: int


class Session:
    """A program that is loaded once and called many times, without a process for each call. Persistent buffers hold
    what the calls before have left; the second call with equal arguments replays what the first has recorded.
    Threads may share a session: their calls follow one another."""

    def __init__(self, program: Program, *, engine: str = "burst", threads: int = 0) -> None:
        """engine, threads: as in `Program.run`; 0 threads: one a core. Raises RunError where the program or its
        weights are not what they should be."""
        if threads < 0:
            raise tools.UsageError(f"threads is {threads}, expected a number of at least 1, or 0 for one a core")
        self._program, self._lock = program, threading.Lock()
        folders = [os.fspath(folder) for folder in program.weights]
        self._wafer = _said(_module().WaferSession, os.fspath(program.path), folders, engine, threads)

    def run(self, inputs: Mapping[str, Any] | None = None, *, entry: str = "",
            arguments: Mapping[str, int | Sequence[int]] | None = None, outputs: Iterable[str] | None = None) -> dict[str, np.ndarray]:
        """Calls an entry, "main" or the only one by default; returns name -> array, of `outputs` or all that the
        call wrote. Inputs, as in `Program.run`, stay bound: only those that changed need be given again. What is called
        ENTRY.NAME, as inputs and outputs of models with several entries are, is NAME here.

        Raises InputError for names, types, shapes, and inputs that were never given, RunError with what stopped the
        wafer. A call that fails changes neither state nor outputs."""
        types, known = self._program.inputs, self._program.outputs

        def full(name: str, among: Mapping[str, Any]) -> str:
            return f"{entry}.{name}" if name not in among and f"{entry}.{name}" in among else name

        with self._lock:
            for given_name, value in (inputs or {}).items():
                name = full(given_name, types)
                want = types[name].dtype if name in types else None
                array = np.asarray(value, None if hasattr(value, "dtype") else want)
                if want is not None and array.dtype != want:
                    raise InputError(f"input '{name}' is {array.dtype}{list(array.shape)}, the program wants "
                                     f"{types[name]}: convert with .astype('{want}')")
                kind = array.dtype.name if _NUMPY.fullmatch(array.dtype.name) else "V1"
                flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
                _said(self._wafer.bind, name, kind, list(array.shape), flat)
            _said(self._wafer.run, entry, _integers(arguments or {}))
            names = ({name.removeprefix(f"{entry}."): name for name in _said(self._wafer.written)} if outputs is None else
                     {name: full(name, known) for name in outputs})
            given = {}
            for given_name, name in names.items():
                shape, flat = _said(self._wafer.output, name)
                given[given_name] = flat.view(known[name].dtype).reshape(shape)
            return given

    @property
    def counts(self) -> Counts:
        """Of the last call."""
        with self._lock:
            return Counts(*_said(self._wafer.counts))

    @property
    def report(self) -> Report:
        """Of the last call, as `Outputs.report`."""
        with self._lock:
            text, made = _said(self._wafer.report)
        return Report(json.loads(made), text)

    @property
    def state(self) -> Any:
        """What persistent buffers hold, kept in memory. Sessions of this program go on from there, as often as it is given back:
        `kept = session.state`, `session.state = kept` are conversations in turn, or beams of a search, on one wafer. Setting it
        raises RunError of kind "BadState" for what another program has left."""
        with self._lock:
            return _said(self._wafer.kept_state)

    @state.setter
    def state(self, kept: Any) -> None:
        with self._lock:
            try:
                _said(self._wafer.restore_state, kept)
            except TypeError:
                raise InputError(f"a state is what session.state gave, not of type {type(kept).__name__}") from None

    def save_state(self, path: PathLike) -> None:
        """Writes what persistent buffers hold."""
        with self._lock:
            _said(self._wafer.save_state, os.fspath(path))

    def load_state(self, path: PathLike) -> None:
        """Takes what persistent buffers hold from a file of this program. Raises RunError of kind "BadState"."""
        with self._lock:
            _said(self._wafer.load_state, os.fspath(path))

    def clear_state(self) -> None:
        """As before the first call."""
        with self._lock:
            self._wafer.clear_state()


def _integers(arguments: Mapping[str, int | Sequence[int]]) -> list[tuple[str, int]]:
    """Arguments of an entry, of several numbers as NAME_0, NAME_1, ..; raises InputError for what is no integer of 64 bits."""
    checked = []
    each = {}
    for name, value in arguments.items():
        is_many = isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1
        each |= {f"{name}_{i}": x for i, x in enumerate(value)} if is_many else {name: value}
    for name, value in each.items():
        try:
            number = operator.index(value)
        except TypeError:
            raise InputError(f"argument '{name}' is {value!r}, expected an integer") from None
        if not -(1 << 63) <= number < 1 << 63:
            raise InputError(f"argument '{name}' is {number}, expected an integer of 64 bits")
        checked.append((name, number))
    return checked


def _said(call: Callable, *arguments: Any) -> Any:
    """What the runtime throws, as the exception that wse-run's message would be."""
    try:
        return call(*arguments)
    except RuntimeError as error:
        raise tools.failure("wse-run", 1, str(error)) from None
