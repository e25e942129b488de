# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec from Python: a thin layer over the command-line tools.

    import wsec
    program = wsec.compile("model.onnx", "model.wafer", mesh="32x32",
                           shapes={"input_ids": (4, 11)})
    result = program.run({"input_ids": ids})
    result.outputs["logits"], result.report["cycles"]["total"]

    cache = wsec.compile("cache.mlir", "cache.wafer")
    cache.run(entry="load", save_state="cache.state")
    cache.run(entry="attend", arguments={"length": 2}, load_state="cache.state")

The tools are looked for in $WSEC_BIN, then in build/release/bin beside this
package, then on the PATH.
"""

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["Error", "Program", "Result", "compile", "tool"]


class Error(RuntimeError):
    """A tool refused its input; the message is the tool's own."""


def tool(name):
    """Path of a wsec tool. Raises Error if it is not built."""
    beside = Path(__file__).resolve().parents[2] / "build" / "release" / "bin"
    for folder in (os.environ.get("WSEC_BIN"), beside):
        if folder and (Path(folder) / name).is_file():
            return str(Path(folder) / name)
    found = shutil.which(name)
    if not found:
        raise Error(f"{name} is not built: run tools/setup.sh or set WSEC_BIN")
    return found


def _run(command, show):
    """Runs a tool; returns what it printed, nothing with `show`."""
    result = subprocess.run([str(word) for word in command], text=True, check=False,
                            stdout=None if show else subprocess.PIPE,
                            stderr=subprocess.PIPE)
    if result.returncode:
        raise Error(result.stderr.strip() or f"{command[0]} failed")
    return result.stdout or ""


def _given(options, *flags):
    """Those of the flags that are among the options, as --flag or --flag=value."""
    names = {str(option).split("=")[0] for option in options}
    return [flag for flag in flags if flag in names]


def _refuse(options, *flags):
    """Refuses flags that this module sets itself, and those that only print."""
    for flag in _given(options, *flags):
        raise Error(f"options: leave out {flag}, which does not go with a call from Python; outputs "
                    "and reports are in what it returns")


@dataclass(frozen=True)
class Result:
    """What a run gave: `outputs` by name, `report` as wse-run writes it (both
    empty when it was to stop early), `text` that it printed: where it stopped,
    values of --peek, heat maps of --counters=-."""

    outputs: dict
    report: dict
    text: str


@dataclass(frozen=True)
class Program:
    """A compiled program: `path` of the .wafer file, the compile report, and the folders
    that its weight files may lie in, besides its own."""

    path: Path
    report: dict
    weights: tuple = ()

    def run(self, inputs=None, threads=None, show=False, engine="burst", options=(),
            entry=None, arguments=None, load_state=None, save_state=None):
        """Runs on the emulated wafer.

        inputs: name -> numpy array, shapes and types as compiled.
        entry, arguments: what to call, and name -> integer, of a program with entries;
        outputs are those that the call writes. load_state, save_state: files with what
        persistent buffers hold before and after, which may be the same.
        show: print the run's report. engine: "burst", or "streams", "strips", "wavelet"
        (see wse-run --help).
        options: further wse-run flags, as "--trace=t.json" or "--counters=c.json", but
        not --outputs and --report: those are the result. With --until or --break
        there are neither; the result's text says where the run stopped.
        Raises Error with the tool's message.
        """
        _refuse(options, "--outputs", "--report", "--help", "--version")
        stops = _given(options, "--until", "--break")
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            command = [tool("wse-run"), self.path, f"--engine={engine}"]
            if inputs:
                np.savez(folder / "in.npz", **inputs)
                command += ["--inputs", folder / "in.npz"]
            command += [f"--entry={entry}"] if entry else []
            command += [f"--argument={name}={value}"
                        for name, value in (arguments or {}).items()]
            command += [f"--load-state={load_state}"] if load_state else []
            command += [f"--save-state={save_state}"] if save_state else []
            if not stops:
                command += ["--outputs", folder / "out.npz",
                            f"--report={folder / 'run.json'}"]
            command += [f"--weights={weights}" for weights in self.weights]
            if threads:
                command.append(f"--threads={threads}")
            text = _run(command + list(options) + ([] if show else ["--quiet"]), show)
            if stops:
                return Result({}, {}, text)
            report = json.loads((folder / "run.json").read_text())
            with np.load(folder / "out.npz") as outputs:
                return Result(dict(outputs), report, text)


def compile(model, output, mesh=None, machine=None, shapes=None, dims=None, show=False,
            weights=(), options=()):
    """Compiles an .onnx or .mlir file to a .wafer file.

    mesh: "WxH" PEs; machine: preset or JSON file; shapes: input name -> shape;
    dims: symbolic dimension -> size; weights: folders with weight files, besides that of
    the model; options: further wsec flags, but not -o and --report.
    show: print the compile report. Raises Error with the compiler's message.
    """
    _refuse(options, "-o", "--report", "--help", "--version")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "compile.json"
        command = [tool("wsec"), model, "-o", output, f"--report={report}"]
        command += [f"--mesh={mesh}"] if mesh else []
        command += [f"--machine={machine}"] if machine else []
        for name, shape in (shapes or {}).items():
            command.append(f"--shape={name}={'x'.join(map(str, shape))}")
        for name, size in (dims or {}).items():
            command.append(f"--dim={name}={size}")
        command += [f"--weights={folder}" for folder in weights]
        _run(command + list(options) + ([] if show else ["--quiet"]), show)
        return Program(Path(output), json.loads(report.read_text()),
                       (Path(model).parent.absolute(), *weights))
