# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes PE programs as text of the pe dialect, and runs them.

    program = Assembly("relay", 4, 1)
    program.route(1, program.columns(0, 1), "ramp", "east")
    row = program.pe_class("row", program.columns(0, 4))
    row.buffer("v", "f32", 8)
    row.routine("main", ["vector mov fabric(1) = @v[0, strides = [1]] over (8)"])
    program.copy_in("x", "v", x)              # x: [rows, columns, elements]
    program.launch("main")
    program.copy_out("y", "v", x.shape, np.float32)
    run = program.run()
    run.outputs["y"], run.cycles
"""

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))
import wsec  # noqa: E402

# Parameters that all programs' machines get instead of their preset's.
CHANGED = {}
TYPES = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i16": np.int16}


@dataclass(frozen=True)
class Rect:
    """Half-open, strided: columns x0, x0 + xstep, ... below x1; rows alike."""

    x0: int
    x1: int
    y0: int
    y1: int
    xstep: int = 1
    ystep: int = 1

    def __bool__(self):
        return self.x0 < self.x1 and self.y0 < self.y1

    def __str__(self):
        def axis(low, high, step):
            return f"{low}:{high}" + (f":{step}" if step != 1 else "")
        return f"[{axis(self.x0, self.x1, self.xstep)}, {axis(self.y0, self.y1, self.ystep)}]"


@dataclass(frozen=True)
class Run:
    """outputs by name; cycles from the first launch to the end of the last."""

    outputs: dict
    cycles: float
    report: dict


def name_of(dtype):
    return next(name for name, known in TYPES.items() if known == np.dtype(dtype).type)


class PEClass:
    """The code of the PEs of some rectangles."""

    def __init__(self, name, rects):
        self.name = name
        self.rects = [r for r in rects if r]
        self.lines = []

    def add(self, *lines):
        """Scalars, queues, filters: any lines before the buffers or after."""
        self.lines += lines

    def buffer(self, name, element, count):
        size = np.dtype(TYPES[element]).itemsize * count
        self.lines.append(f"buffer @{name} {size} bytes of {element}")

    def routine(self, name, body):
        self._code(f"routine @{name}", body)

    def task(self, header, body):
        """header: "@done local 3 blocked"."""
        self._code(f"task {header}", body)

    def _code(self, header, body):
        self.lines += [header + " {", *("  " + line for line in body), "}"]

    def text(self):
        rects = ", ".join(map(str, self.rects))
        return [f"class @{self.name} {rects} {{", *("  " + line for line in self.lines), "}"]


class Assembly:
    """A pe.program without a command color: launches are remote calls."""

    def __init__(self, name, width, height, machine="wse2"):
        self.name, self.width, self.height, self.machine = name, width, height, machine
        self.routes, self.classes, self.steps, self.tensors = [], [], [], []
        self.inputs = {}

    def columns(self, x0, x1, step=1):
        return Rect(x0, x1, 0, self.height, step)

    def rows(self, y0, y1, step=1):
        return Rect(0, self.width, y0, y1, 1, step)

    def route(self, color, rect, receive, *transmit, more=""):
        """more: "switch [from east, to [west]] ring pop always initial 1"."""
        if rect:
            self.routes.append(f"route {color} {rect} from {receive} to "
                               f"[{', '.join(transmit)}] {more}".rstrip())

    def pe_class(self, name, *rects):
        made = PEClass(name, rects)
        if made.rects:
            self.classes.append(made)
        return made

    def _tensor(self, role, name, shape, dtype):
        extents = "x".join(map(str, shape))
        self.tensors.append(f"tensor {role} @{name} : tensor<{extents}x{name_of(dtype)}>")

    def copy_in(self, name, buffer, values, rect=None):
        """values: [rows, columns, elements of a PE]."""
        self._tensor("input", name, values.shape, values.dtype)
        self.inputs[name] = values
        self.steps.append(f"copy in @{name} to @{buffer} {rect or self.rows(0, self.height)}")

    def copy_out(self, name, buffer, shape, dtype, rect=None):
        self._tensor("output", name, shape, dtype)
        self.steps.append(f"copy out @{name} from @{buffer} {rect or self.rows(0, self.height)}")

    def launch(self, routine):
        self.steps.append(f"launch @{routine}")

    def text(self):
        body = [*self.tensors, *self.routes,
                *(line for c in self.classes for line in c.text()), *self.steps]
        machine = self.machine
        if CHANGED:
            base = {"base": machine, "name": machine} if isinstance(machine, str) else machine
            machine = {**base, **CHANGED}
        machine = machine if isinstance(machine, str) else json.dumps(machine)
        quoted = machine.replace("\\", "\\\\").replace('"', '\\"')
        return "\n".join([f'pe.program @{self.name} mesh [{self.width}, {self.height}] '
                          f'machine "{quoted}" {{', *("  " + line for line in body), "}", ""])

    def run(self):
        """Compiles and runs. Raises wsec.Error with the tool's message."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"{self.name}.mlir"
            source.write_text(self.text())
            program = wsec.compile(source, Path(folder) / f"{self.name}.wafer")
            outputs = program.run(self.inputs, engine="wavelet")
        return Run(outputs, outputs.report.cycles.total, outputs.report)
