# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs: made from a model, kept in a file, run on the emulated wafer."""

from __future__ import annotations

import difflib
import functools
import json
import os
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wsec import from_torch, tools
from wsec.report import Report
from wsec.session import Session, as_array, differs_in_rows, remedy
from wsec.tools import CompileError, Error, InputError, UsageError

PathLike = str | os.PathLike[str]

# Types of the program's file that numpy knows itself.
_NUMPY = {"F64": "f8", "F32": "f4", "F16": "f2", "Bool": "?", "I64": "i8", "I32": "i4", "I16": "i2",
          "I8": "i1", "U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1"}
# Those of ml_dtypes; in .npz files they are bytes without a name.
_ML_DTYPES = {"BF16": "bfloat16", "I4": "int4", "U4": "uint4", "I2": "int2", "U2": "uint2",
              "F8E4M3FN": "float8_e4m3fn", "F8E4M3FNUZ": "float8_e4m3fnuz", "F8E5M2": "float8_e5m2",
              "F8E5M2FNUZ": "float8_e5m2fnuz", "F8E8M0FNU": "float8_e8m0fnu", "F4E2M1FN": "float4_e2m1fn"}


def _dtype(name: str) -> np.dtype:
    if name in _NUMPY:
        return np.dtype(_NUMPY[name])
    try:
        import ml_dtypes
    except ImportError as error:
        raise Error(f"tensors of type {name} need ml_dtypes: pip install ml_dtypes") from error
    return np.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))


class _TypeAndShape(NamedTuple):
    dtype: np.dtype
    shape: tuple[int, ...]


class TensorType(_TypeAndShape):
    """What an input takes and an output gives, a dtype and a shape. Along `length_axes` calls choose the extent,
    from `least` to that of `shape`."""

    length_axes: tuple[int, ...] = ()
    least: int = 0

    def __str__(self) -> str:
        extents = [f"{self.least}..{extent}" if axis in self.length_axes else str(extent)
                   for axis, extent in enumerate(self.shape)]
        return f"{self.dtype}[{', '.join(extents)}]"

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of this shape is one."""
        if not self.length_axes or len(shape) != len(self.shape):
            return shape == self.shape
        length = shape[self.length_axes[0]]
        return self.least <= length and all(
            found == length <= extent if axis in self.length_axes else found == extent
            for axis, (found, extent) in enumerate(zip(shape, self.shape)))


class Outputs(dict):
    """What a run gave: name -> array, of the types and shapes in `Program.outputs`. Besides, `report`,
    what the run took, and `text`, what wse-run printed: its screen, values of peek, heat maps of
    counters="-", where a run stopped. A run that stops early has no outputs and no report."""

    def __init__(self, arrays: Mapping[str, np.ndarray], report: Report | None, text: str) -> None:
        super().__init__(arrays)
        self.report, self.text = report, text


class _Folder:
    """A temporary folder that goes with the last object that holds this one."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="wsec-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled program: `path` of its .wafer file; `report`, what the compiler predicts (None of a
    program that was loaded); `weights`, folders that its weight files may lie in, besides its own."""

    path: Path
    report: Report | None = field(default=None, repr=False)
    weights: tuple[PathLike, ...] = ()
    _folder: _Folder | None = field(default=None, repr=False)

    @functools.cached_property
    def _summary(self) -> dict[str, Any]:
        """What wse-inspect says about the file."""
        return json.loads(tools.run("wse-inspect", ["show", self.path, "--json"], f"reading {self.path.name}"))

    @property
    def inputs(self) -> dict[str, TensorType]:
        """Name -> type and shape of what `run` takes."""
        return self._tensors("Input")

    @property
    def outputs(self) -> dict[str, TensorType]:
        """Name -> type and shape of what `run` gives."""
        return self._tensors("Output")

    @property
    def entries(self) -> dict[str, list[str]]:
        """What may be called, with the names of its arguments."""
        return {entry["name"]: [argument["name"] for argument in entry["arguments"]] for entry in self._summary["entries"]}

    def _tensors(self, role: str) -> dict[str, TensorType]:
        kinds = {}
        for tensor in self._summary["tensors"]:
            if tensor["role"] == role:
                kinds[tensor["name"]] = kind = TensorType(_dtype(tensor["type"]), tuple(tensor["shape"]))
                kind.length_axes, kind.least = tuple(tensor.get("length_axes", ())), tensor.get("least", 0)
        return kinds

    def run(self, inputs: Mapping[str, Any] | None = None, *, engine: str | None = None, threads: int | None = None,
            entry: str | None = None, arguments: Mapping[str, int] | None = None,
            load_state: PathLike | None = None, save_state: PathLike | None = None,
            values: Iterable[str] = (), progress: bool | None = None, **flags: Any) -> Outputs:
        """Runs on the emulated wafer; returns name -> array.

        inputs: name -> array, of the dtype and shape in `Program.inputs`; lists and numbers take that dtype.
            A batch for num_systems=N may have k times the rows, k >= N; one for samples=N has N times the rows.
        engine: "burst" (default), "strips", "wavelet"; threads: of this computer, one a core
            by default. Neither changes a value.
        entry, arguments: what to call, and name -> integer, of a program with entries; outputs are those
            that the call writes. load_state, save_state: files with what persistent buffers hold before and
            after, which may be the same.
        values: names of values inside of the model to return, too, from the PEs that hold them.
        progress: whether to show how far the run is; by default on a terminal and in a notebook.
        flags: further flags of wse-run: trace="t.json", counters="-", peek=["3,4:sum"], until="launch:2".

        Raises InputError before anything runs where names, shapes or dtypes are not those of the program,
        UsageError for unknown flags, RunError with the tool's message.
        """
        _refuse_own(flags, "input", "inputs", "output", "outputs", "report", "weights", "quiet", "help", "version")
        if inputs is not None and not isinstance(inputs, Mapping):
            example = next(iter(self.inputs), "x")
            raise InputError(f"inputs are arrays by name, as {{'{example}': array}}, not of type {type(inputs).__name__}")
        stops = bool(flags.get("until") or flags.get("break"))
        arrays = self._checked(inputs or {}, flags)
        with tempfile.TemporaryDirectory(prefix="wsec-") as name:
            folder = Path(name)
            words = [self.path, *tools.flags({"engine": engine, "threads": threads, "entry": entry,
                                              "load_state": load_state, "save_state": save_state,
                                              "weights": list(self.weights)})]
            words += [f"--argument={name}={value}" for name, value in (arguments or {}).items()]
            if arrays:
                _write_npz(folder / "in.npz", arrays)
                words.append(f"--inputs={folder / 'in.npz'}")
            if not stops:
                words += [f"--outputs={folder / 'out.npz'}", f"--report={folder / 'run.json'}"]
            values = [] if stops else list(values)
            words += [f"--output={name}={folder / f'{i}.npy'}" for i, name in enumerate(values)]
            text = tools.run("wse-run", words + tools.flags(flags), f"running {self.path.name}", progress)
            if stops:
                return Outputs({}, None, text)
            given = self._typed(_read_npz(folder / "out.npz"))
            given |= {name: np.load(folder / f"{i}.npy") for i, name in enumerate(values)}
            return Outputs(given, Report(json.loads((folder / "run.json").read_text()), text), text)

    def session(self, *, engine: str = "burst", threads: int = 0) -> Session:
        """The program on a wafer of its own, in this process, for calls that follow one another."""
        return Session(self, engine=engine, threads=threads)

    def save(self, path: PathLike) -> Program:
        """Copies the program to `path`; returns the copy. Weights stay in the model's own files unless it was
        compiled with bundle=True: `load` is told where these lie."""
        shutil.copyfile(self.path, path)
        return Program(Path(path), self.report, self.weights)

    def _repr_html_(self) -> str:
        return self.report._repr_html_() if self.report else repr(self)

    def _checked(self, given: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The inputs as arrays. Raises InputError with all that is wrong."""
        known, wrong, arrays = self.inputs, [], {}
        for name, value in given.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                wrong.append(f"the program has no input '{name}'; " + (
                    f"nearest: '{near[0]}'" if near else f"it has {_listed(known)}"))
                continue
            want = known[name]
            array = as_array(value, want)
            if array.dtype != want.dtype:
                wrong.append(f"input '{name}' is {array.dtype}{list(array.shape)}, the program wants {want}: "
                             f"convert with .astype('{want.dtype}')")
            elif not want.takes(array.shape) and not _is_batch(array.shape, want.shape, flags):
                wrong.append(f"input '{name}' is {array.dtype}{list(array.shape)}, the program wants {want}: "
                             + remedy(name, array.shape, want, int(flags.get("samples") or 0)))
            arrays[name] = array
        # What one of several entries reads, wse-run knows.
        if not flags.get("test_data") and len(self._summary["entries"]) == 1:
            wrong += [f"no array is given for '{name}' ({kind})" for name, kind in known.items() if name not in given]
        if wrong:
            raise InputError("\n".join(wrong))
        return arrays

    def _typed(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Types that numpy has no name for come back as bytes."""
        kinds = self.outputs
        return {name: array.view(kinds[name].dtype) if array.dtype.kind == "V" else array
                for name, array in arrays.items()}


def compile(model: Any, output: PathLike | tuple | Mapping[str, Any] | None = None, *, example_inputs: Any = None, mesh: str | tuple[int, int] | None = None,
            machine: str | None = None, shapes: Mapping[str, Sequence[int]] | None = None,
            dims: Mapping[str, int | str] | None = None, bind: Mapping[str, Any] | None = None,
            weights: Iterable[PathLike] = (), progress: bool | None = None, **flags: Any) -> Program:
    """Compiles a model to a program for the wafer.

    model: path of an .onnx or .mlir file, an onnx.ModelProto, or a torch.nn.Module, whose weights are copied into
        the program.
    example_inputs: of a torch.nn.Module, the arguments of a call, a tuple or a dict by name; they may come second.
    output: the .wafer file to write; without, a temporary one that goes with the Program.
    mesh: columns and rows of PEs, "8x8" or (8, 8), of the machine's fabric if absent; machine: "wse1", "wse2"
        (default), "wse3", or a JSON file.
    shapes: input -> extents; dims: symbolic dimension -> extent, or "1..128" for lengths that
    each call chooses.
    bind: input -> array, number or list of them that it is from now on: shapes, axes, k.
    weights: folders with weight files, besides that of the model.
    progress: whether to show how long it takes; by default on a terminal and in a notebook.
    flags: further flags of wsec: bundle=True, sparsity=0.75, region="8x4", param=["width=16"].

    Raises CompileError with the compiler's message (all unsupported operators at once), UsageError for unknown
    flags and what they cannot be.
    """
    _refuse_own(flags, "o", "report", "shape", "dim", "stop_after", "emit", "dump_placement", "quiet", "help", "version")
    folder = _Folder()
    work = folder.path
    if example_inputs is None and isinstance(output, (tuple, Mapping)):
        output, example_inputs = None, output
    if from_torch.is_module(model) != (example_inputs is not None):
        raise UsageError("example_inputs=, the arguments of a call, go with a torch.nn.Module, and it with them: "
                         f"the model is of type {type(model).__name__}")
    if example_inputs is not None:
        source, folders = from_torch.export(model, example_inputs, work), ()
        flags.setdefault("bundle", True)
    elif hasattr(model, "SerializeToString"):
        source, folders = _written(model, work), ()
        flags.setdefault("bundle", True)
    elif not isinstance(model, (str, os.PathLike)):
        raise UsageError(f"a model is a path, an onnx.ModelProto or a torch.nn.Module, not of type {type(model).__name__}")
    else:
        source, folders = Path(model), (Path(model).absolute().parent,)
    folders += tuple(weights)
    target = Path(output) if output is not None else work / f"{source.stem}.wafer"
    words = [source, "-o", target, f"--report={work / 'compile.json'}",
             *tools.flags({"mesh": mesh if mesh is None or isinstance(mesh, str) else "x".join(map(str, mesh)),
                           "machine": machine, "weights": list(weights)})]
    words += [f"--shape={name}={'x'.join(map(str, shape))}" for name, shape in (shapes or {}).items()]
    words += [f"--dim={name}={size}" for name, size in (dims or {}).items()]
    for i, (name, value) in enumerate((bind or {}).items()):
        words.append(f"--bind={name}={_bound(value, work / f'{i}.npy')}")
    drawing = work / "placement.svg"
    if _is_placed(source):
        words.append(f"--dump-placement={drawing}")
    try:
        text = tools.run("wsec", words + tools.flags(flags), f"compiling {source.name}", progress)
    except Error as error:
        # Temporary files mean nothing to a person.
        error.args = (str(error).replace(f"{work}/", ""),)
        raise
    placement = drawing.read_text() if drawing.exists() else None
    report = Report(json.loads((work / "compile.json").read_text()), text, placement)
    return Program(target, report, folders, folder if output is None else None)


def load(path: PathLike, *, weights: Iterable[PathLike] = ()) -> Program:
    """A program that was compiled before, here or by wsec. weights: folders with its weight files, if they
    do not lie in its own folder or below. Raises Error if it is no program."""
    program = Program(Path(path), None, tuple(weights))
    program._summary  # noqa: B018  so that a wrong file is refused here
    return program


def _refuse_own(flags: Mapping[str, Any], *own: str) -> None:
    """Refuses flags that this module sets itself, and those that only print."""
    for name in flags:
        if name in own:
            raise UsageError(f"leave out {name}=, which does not go with a call from Python; tensors and reports "
                             "are arguments and results")


def _is_batch(shape: tuple[int, ...], want: tuple[int, ...], flags: Mapping[str, Any]) -> bool:
    """Whether an input holds the rows of several calls, as many as samples= asks for."""
    if not differs_in_rows(shape, want):
        return False
    if flags.get("samples"):
        return shape[0] == want[0] * int(flags["samples"])
    return bool(flags.get("num_systems")) and shape[0] % want[0] == 0


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


def _written(model: Any, folder: Path) -> Path:
    """The file of a ModelProto, named as its graph."""
    name = "".join(c if c.isalnum() or c in "-_." else "_" for c in model.graph.name[:64]).strip(".") or "model"
    path = folder / f"{name}.onnx"
    try:
        path.write_bytes(model.SerializeToString())
    except ValueError as error:
        raise CompileError(f"{error}; save the model with external data, and give the path of the file") from error
    return path


def _is_placed(source: Path) -> bool:
    """A program of PEs, written by hand, has no kernels to place."""
    if source.suffix != ".mlir" or not source.is_file():
        return source.suffix == ".onnx"
    return b"pe.program" not in source.read_bytes()


def _bound(value: Any, file: Path) -> str:
    """A constant, as --bind takes it."""
    if isinstance(value, (str, os.PathLike)):
        return str(value)
    array = np.asarray(value)
    if hasattr(value, "dtype") or array.ndim > 1 or array.dtype.kind == "b":
        np.save(file, array)
        return str(file)
    return str(array.tolist()).replace(" ", "")


def _write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """np.savez, which takes no array by the name `file`."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return {name: file[name] for name in file}
