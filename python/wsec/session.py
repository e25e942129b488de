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

from wsec import beams, tools
from wsec.report import Report
from wsec.tools import InputError

if TYPE_CHECKING:
    from wsec.program import Program, TensorType

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
            arguments: Mapping[str, int | Sequence[int]] | None = None, outputs: Iterable[str] | None = None,
            samples: int = 1) -> dict[str, np.ndarray]:
        """Calls an entry, "main" or the only one by default; returns name -> array, of `outputs` or all that the
        call wrote. Inputs, as in `Program.run`, stay bound: only those that changed need be given again. What is called
        ENTRY.NAME, as inputs and outputs of models with several entries are, is NAME here.

        samples: how often to call it, one sample behind the other: an input of that many times the rows of the program
        is cut, one of the program's own shape is the same for all; outputs are one behind the other, too. Not where
        something stays on the wafer from call to call. What stays bound, counts and report are of the last one.

        Raises InputError for names, types, shapes, and inputs that were never given, RunError with what stopped the
        wafer. A call that fails changes neither state nor outputs."""
        if samples < 1:
            raise tools.UsageError(f"samples is {samples}, expected a number of at least 1")
        with self._lock:
            if samples > 1 and _said(self._wafer.keeps, entry):
                raise InputError("the program keeps something on the wafer from call to call, so its samples are not alike: "
                                 "leave out samples=, and call it for each")
            cut: dict[str, list[np.ndarray]] = {}
            for given_name, value in (inputs or {}).items():
                name, parts = self._parts(given_name, value, entry, samples)
                if len(parts) > 1:
                    cut[name] = parts
                else:
                    self._bind(name, parts[0])
            wanted = None if outputs is None else {name: self._full(name, self._program.outputs, entry) for name in outputs}
            calls = []
            for sample in range(samples):
                for name, parts in cut.items():
                    self._bind(name, parts[sample])
                _said(self._wafer.run, entry, _integers(arguments or {}))
                calls.append(self._fetched(entry, wanted))
            return calls[0] if samples == 1 else {
                name: np.concatenate([np.atleast_1d(call[name]) for call in calls]) for name in calls[0]}

    def _full(self, name: str, among: Mapping[str, Any], entry: str) -> str:
        return f"{entry}.{name}" if name not in among and f"{entry}.{name}" in among else name

    def _parts(self, given_name: str, value: Any, entry: str, samples: int) -> tuple[str, list[np.ndarray]]:
        """An input's name, and its array, or those of its samples."""
        types = self._program.inputs
        name = self._full(given_name, types, entry)
        want = types.get(name)
        array = as_array(value, want)
        if want is None:
            return name, [array]
        if array.dtype != want.dtype:
            raise InputError(f"input '{name}' is {array.dtype}{list(array.shape)}, the program wants {want}: "
                             f"convert with .astype('{want.dtype}')")
        if samples > 1 and want.shape and array.shape == (samples * want.shape[0], *want.shape[1:]):
            return name, np.split(array, samples)
        if not want.takes(array.shape):
            raise InputError(f"input '{name}' is {array.dtype}{list(array.shape)}, the program wants {want}: "
                             + remedy(name, array.shape, want, samples if samples > 1 else 0))
        return name, [array]

    def _bind(self, name: str, array: np.ndarray) -> None:
        kind = array.dtype.name if _NUMPY.fullmatch(array.dtype.name) else "V1"
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        _said(self._wafer.bind, name, kind, list(array.shape), flat)

    def _fetched(self, entry: str, wanted: Mapping[str, str] | None) -> dict[str, np.ndarray]:
        """Outputs by the name that the caller has for them, of `wanted` or what the call wrote."""
        names = wanted if wanted is not None else {
            name.removeprefix(f"{entry}."): name for name in _said(self._wafer.written)}
        given = {}
        for given_name, name in names.items():
            shape, flat = _said(self._wafer.output, name)
            given[given_name] = flat.view(self._program.outputs[name].dtype).reshape(shape)
        return given

    def generate(self, ids: Sequence[int], *, num_beams: int, max_new_tokens: int, end_ids: Iterable[int] = (),
                 length_penalty: float = 1.0) -> list[int]:
        """Tokens behind the text `ids`, by beam search, as transformers' generate with do_sample=False finds them: up to
        max_new_tokens, or up to one of `end_ids`. Of a language model whose states are those of num_beams sequences, compiled
        with reorder_states=True: beams go on from one another on the wafer. With one beam, the likeliest each time.

        Raises UsageError for what the program is not, InputError and RunError as `run`."""
        chosen = beams.Beams(num_beams, max_new_tokens, tuple(end_ids), length_penalty)
        fed = beams.Fed(self, num_beams)
        return beams.search(ids, chosen, fed.feed, fed.reorder)[0].ids

    @property
    def program(self) -> Program:
        """What it runs."""
        return self._program

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


def differs_in_rows(shape: tuple[int, ...], want: tuple[int, ...]) -> bool:
    """Whether two shapes may be those of a batch and of one of its samples."""
    return bool(shape and want and want[0]) and shape[1:] == want[1:]


def remedy(name: str, shape: tuple[int, ...], kind: TensorType, samples: int) -> str:
    """What to do about an input of another shape, in a run of many samples (0: of one)."""
    want = kind.shape
    if samples and differs_in_rows(shape, want):
        return f"with samples={samples} give {want[0] * samples} rows, or {want[0]} for all samples"
    if kind.length_axes:
        return f"give a length from {kind.least} to {want[kind.length_axes[0]]}, or compile for another range in dims="
    batch = shape[0] // want[0] if differs_in_rows(shape, want) and shape[0] % want[0] == 0 else 0
    return f"compile for shapes={{'{name}': {shape}}}" + (
        f", or run the program once for each of {batch} samples: samples={batch}" if batch > 1 else "")


def as_array(value: Any, want: Any) -> np.ndarray:
    """An array as it is; numbers in lists in the type that is wanted, but where integers are, others are not cut to them."""
    array = np.asarray(value)
    if want is None or hasattr(value, "dtype") or array.size and array.dtype.kind == "f" and want.dtype.kind in "iu":
        return array
    return np.asarray(value, want.dtype)


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
