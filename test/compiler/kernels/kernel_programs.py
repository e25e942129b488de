# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small wse programs of one kernel, as text."""

import contextlib
import json
import os
import re
import subprocess

import numpy as np


def tensor_type(shape, encoding=None, element="f32"):
    dims = "".join(f"{d}x" for d in shape)
    return f"tensor<{dims}{element}{', ' + encoding if encoding else ''}>"


def nested(array):
    if array.ndim == 0:
        return f"{float(array):.9e}"
    return "[" + ", ".join(nested(part) for part in array) + "]"


def on_region(text):
    """Kernels say it before their attributes or types."""
    line, newline, body = text.partition("\n")
    before, separator, after = line.partition(" {nodes" if " {nodes" in line else " : ")
    return f"{before} on @r{separator}{after}{newline}{body}"


def quantized(values, scales, zeros, block, kind):
    """Integers `kind` that stand for a weight, with scales and zero points that are one for
    all, or for each index, or for each block of indices, of a dimension."""
    of = lambda array, element: f"dense<{nested_integers(array) if element == kind else nested(array)}> : {tensor_type(array.shape, element=element)}"
    text = f"{of(values, kind)} scales {of(scales, 'f32')}"
    if zeros is not None:
        text += f" zeros {of(zeros, kind)}"
    return f"#onnx.quantized<{text} block {block}>"


def nested_integers(array):
    return "[" + ", ".join(map(nested_integers, array)) + "]" if array.ndim else str(int(array))


def expanded(values, scales, zeros, block):
    def spread(array):
        for axis, (size, parts) in enumerate(zip(values.shape, array.shape)):
            if parts not in (1, size):
                array = np.take(np.repeat(array, block, axis), range(size), axis)
        return array
    zeros = np.zeros_like(scales) if zeros is None else zeros
    return (values.astype(np.int64) - spread(zeros)).astype(np.float32) * spread(scales)


def rounded(array, precision):
    """To the nearest number of that many bits, of two the even one."""
    if precision == "f16":
        with np.errstate(over="ignore"):
            return array.astype(np.float16).astype(np.float32)
    if precision == "f32":
        return array
    bits = array.view(np.uint32)
    even = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(array), array, even.view(np.float32))


def call(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"{command[0]}: {(result.stderr + result.stdout)[:2000]}")
    return result.stdout


def difference(got, expected):
    if got.shape != expected.shape:
        raise RuntimeError(f"shape {got.shape} instead of {expected.shape}")
    if not np.array_equal(np.isnan(got), np.isnan(expected)):
        raise RuntimeError(f"not a number in {np.isnan(got).sum()} places instead of {np.isnan(expected).sum()}")
    with np.errstate(invalid="ignore"):  # equal infinities
        return np.nanmax(np.abs(got - expected), initial=0) / max(1, np.nanmax(np.abs(expected), initial=0))


class Program:
    """A selected wse.program under construction, with its inputs and the
    outputs it should have. Values are pairs of name and type."""

    carried = False  # launches carry numbers

    def __init__(self, mesh, machine, engine, precision="f32", level=0):
        self.mesh, self.machine, self.engine, self.precision, self.level = mesh, machine, engine, precision, level
        self.width, self.height = (int(n) for n in mesh.split("x"))
        self.declarations, self.body = [], []
        self.inputs, self.expected = {}, {}
        self.equal = ()  # outputs that have the same bits
        self.exact = ()  # outputs that are as expected to the bit
        self.shared = None  # streams that are not there with the fewest colors

    def encoding(self, batch, tokens, columns="balanced", head_size=0, rows="split", span=None, head_columns=1):
        group = self.height // batch if batch <= self.height else 0
        tokens_over = f"replicated over {min(span, group) or 1}" if rows == "replicated" else "1"
        features = {"replicated": "", "balanced": "2", "heads": f"2 by {head_size}"}[columns]
        if head_columns > 1:
            features += f" over {head_columns}"
        return f"#wse.dist<rows = [0, {tokens_over}], columns = [{features}]>"

    def declare(self, name, array):
        element = "i64" if array.dtype.kind == "i" else "f32"
        self.inputs[name] = array
        self.declarations.append(f"input @{name} : {tensor_type(array.shape, element=element)}")

    def weight(self, name, array, elements=None):
        """The parameter of that name, whose elements another text may give."""
        shape = tensor_type(array.shape)
        line = f"parameter @{name} = {elements or f'dense<{nested(array)}> : {shape}'}"
        if line not in self.declarations:
            self.declarations.append(line)
        return f"#wse.weight<@{name} : {shape}>"

    def op(self, text, type):
        name = f"%v{len(self.body)}"
        if not text.startswith("load "):  # other kernels name the nodes they compute
            line, _, region = text.partition("\n")
            head, _, types = line.rpartition(" : ")
            line = f'{head} {{nodes = ["{line.partition("(")[0].split()[0]}"]}} : {types}'
            text = f"{line}\n{region}" if region else line
        self.body.append(f"{name} = {on_region(text)}")
        return name, type

    def load(self, name, array, encoding, shape=None, strides=None):
        self.declare(name, array)
        type = tensor_type(shape or array.shape, encoding)
        walk = f" strides [{', '.join(map(str, strides))}]" if strides else ""
        return self.op(f"load @{name}{walk} : {type}", type)

    def store(self, value, name, expected, form=""):
        self.expected[name] = expected
        element = "i64" if expected.dtype.kind == "i" else "f32"
        self.body.append(f'store {value[0]} to "{name}" {form} on @r : {value[1]} to {tensor_type(expected.shape, element=element)}')

    def weight_gradient(self, kept, cast, name, expected, form="", small=False, lanes=False):
        self.expected[name] = expected
        self.body.append(f'weight_gradient {kept[0]} by {cast[0]} to "{name}" {form} on @r {{nodes = ["w"]{", wse.small_blocks" * small}{", wse.two_lanes" * lanes}}} : {kept[1]}, {cast[1]} to {tensor_type(expected.shape)}')

    def text(self):
        machine = self.machine.replace('"', '\\"')
        region = f"region @r shape({self.width}x{self.height})"
        lines = "\n  ".join([region] + self.declarations + self.body)
        lines = lines.replace("xf32, #wse.dist", f"x{self.precision}, #wse.dist")
        level = f"attributes {{wse.precision_opt_level = {self.level}}} " if self.level else ""
        return f'wse.program @main state(selected) mesh({self.mesh}) machine("{machine}") {level}{{\n  {lines}\n}}\n'

    def run(self, folder):
        """Returns the largest error of any output, relative to its size."""
        self.compile(folder)
        results, _ = self.execute(folder, self.engine)
        if len({results[name].tobytes() for name in self.equal}) > 1:
            raise RuntimeError(f"outputs differ: {' and '.join(self.equal)}")
        for name in self.exact:
            if not np.array_equal(results[name], self.expected[name], equal_nan=True):
                raise RuntimeError(f"output {name} is not as expected to the bit")
        return max(difference(results[name], array) for name, array in self.expected.items())

    def run_engines(self, folder, engines, predicted=None):
        """Yields each with how much its cycles are off those of wavelet; of kernels of the kind `predicted` also what wsec predicts."""
        self.compile(folder)
        wavelet, wavelet_report = self.execute(folder, "wavelet")
        if predicted:
            with open(f"{folder}/predicted.json") as file:
                both = [sum(kernel["cycles"] for kernel in its["kernels"] if kernel["kind"] == predicted)
                        for its in (json.load(file), wavelet_report)]
            yield "prediction", both[0] / both[1] - 1
        for engine in engines:
            found, report = self.execute(folder, engine)
            for name in self.expected:
                if found[name].tobytes() != wavelet[name].tobytes():
                    raise RuntimeError(f"{engine} differs from wavelet in '{name}'")
            if report["work"] != wavelet_report["work"]:
                raise RuntimeError(f"{engine}: {report['work']}, wavelet: {wavelet_report['work']}")
            yield engine, report["cycles"]["total"] / wavelet_report["cycles"]["total"] - 1

    def share(self, array):
        self.shared = 0
        value = self.load("all", array, self.encoding(1, self.height))
        self.store(value, "all_rows", array)
        return value

    def compile(self, folder):
        os.makedirs(folder, exist_ok=True)
        source = f"{folder}/program.mlir"
        if self.shared is not None:
            first = streams, colors = self.streams(source)
            with contextlib.suppress(RuntimeError):
                while True:  # the last three are the host's
                    fewest, self.machine = self.machine, json.dumps({"base": "wse2", "colors": colors + 2})
                    streams, colors = self.streams(source)
            self.machine, self.shared = fewest, first[0] - streams
        with open(source, "w") as file:
            file.write(self.text())
        if self.carried:  # what has room without is not asked for it
            scheduled = call(["wsec", source, "--stop-after=schedule", "--print-constants"])
            carried, count = re.subn("(wse.program @main .*? attributes {)", r"\1number_arguments, ", scheduled, count=1)
            assert count == 1, scheduled
            with open(source, "w") as file:
                file.write(carried)
        call(["wsec", source, "-o", f"{folder}/program.wafer", f"--report={folder}/predicted.json", "--quiet"])
        for name, array in self.inputs.items():
            np.save(f"{folder}/{name}.npy", array)

    def streams(self, source):
        """How many it has, and colors."""
        with open(source, "w") as file:
            file.write(self.text())
        routed = call(["wsec", source, "--stop-after=route"])
        return len(re.findall("stream @", routed)), len(set(re.findall("rule<color ([0-9]+)", routed)))

    def execute(self, folder, engine):
        command = ["wse-run", f"{folder}/program.wafer", f"--engine={engine}", "--quiet",
                   f"--report={folder}/{engine}.json"]
        for name in self.inputs:
            command += ["--input", f"{name}={folder}/{name}.npy"]
        for name in self.expected:
            command += ["--output", f"{name}={folder}/{name}.out.npy"]
        call(command)
        with open(f"{folder}/{engine}.json") as file:
            report = json.load(file)
        return {name: np.load(f"{folder}/{name}.out.npy") for name in self.expected}, report
