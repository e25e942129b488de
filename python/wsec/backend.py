# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec as a backend of ONNX: onnx.backend.base.Backend on the emulated wafer.

    from wsec.backend import WaferBackend
    prepared = WaferBackend.prepare(model, mesh="16x16")
    prepared.run([x])["y"]

So that ONNX's own runner holds its node cases against us, all of them or some:

    python -m wsec.backend [--include REGEX] [--mesh WxH] [--verbose]

Cases that are refused are skipped, with the compiler's reason; exit code 1 if one fails.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
import unittest
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from wsec.program import Program, compile
from wsec.shapes import Recent
from wsec.tools import CompileError

# Operands that say how large a result is or along which axes it is computed.
# Where they are inputs of a model, or computed of integers that are, these are bound at compile time; data never is.
BOUND_OPERANDS = {
    "AffineGrid": [1], "BlackmanWindow": [0], "CenterCropPad": [1], "Col2Im": [1, 2],
    "ConstantOfShape": [0], "CumProd": [1], "CumSum": [1], "DFT": [1, 2], "Dropout": [1, 2],
    "Expand": [1], "HammingWindow": [0], "HannWindow": [0], "If": [0], "Loop": [0, 1], "MaxUnpool": [2],
    "MelWeightMatrix": [0, 1, 2, 3, 4], "NonMaxSuppression": [2, 3, 4], "OneHot": [1],
    "Pad": [1, 3], "Range": [0, 1, 2], "Reshape": [1], "Resize": [1, 2, 3], "STFT": [1, 3],
    "Slice": [1, 2, 3, 4], "Split": [1], "SplitToSequence": [1], "Squeeze": [1], "Tile": [1],
    "TopK": [1], "Trilu": [1], "Unsqueeze": [1], "Upsample": [1],
    **{f"Reduce{kind}": [1] for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min",
                                         "Prod", "Sum", "SumSquare")},
}


def graphs_of(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs in a node's attributes."""
    for attribute in node.attribute:
        yield from [attribute.g] if attribute.HasField("g") else attribute.graphs


def nodes_of(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph, each behind those of the graphs in its attributes."""
    for node in graph.node:
        for inner in graphs_of(node):
            yield from nodes_of(inner)
        yield node


def bound_inputs(model: onnx.ModelProto) -> list[str]:
    """Inputs of a model that are constants to the compiler."""
    direct = {node.input[index] for node in nodes_of(model.graph)
              for index in BOUND_OPERANDS.get(node.op_type, []) if index < len(node.input)}
    behind = set(direct)
    # Shapes are known without what has them.
    for node in reversed([*nodes_of(model.graph)]):
        if node.op_type not in ("Shape", "Size") and behind.intersection(node.output):
            behind.update(node.input, *([value.name for value in graph.output] for graph in graphs_of(node)))
    integers = {value.name for value in model.graph.input
                if value.type.tensor_type.elem_type in (onnx.TensorProto.INT32, onnx.TensorProto.INT64)}
    names = direct | (behind & integers)
    return [value.name for value in model.graph.input if value.name in names]


class WaferRep(BackendRep):
    """A model that runs on the emulated wafer. Where inputs shape the result, or have no fixed shape, it is
    compiled for those of each run, and programs are kept for runs with the same. A batch on a model of a fixed one runs as
    so many samples with the flag samples=, and says so without."""

    def __init__(self, model: onnx.ModelProto, flags: Mapping[str, Any]) -> None:
        self._model, self._flags = model, dict(flags)
        weights = {tensor.name for tensor in model.graph.initializer}
        self._inputs = [value for value in model.graph.input if value.name not in weights]
        self._bound = bound_inputs(model)
        self._open = [value.name for value in self._inputs if value.name not in self._bound and any(
            dim.dim_value <= 0 for dim in value.type.tensor_type.shape.dim)]
        self._programs = Recent[Program](most=16)
        if not self._bound and not self._open:
            self.program({})

    def program(self, given: Mapping[str, Any]) -> Program:
        """The program for these inputs. Raises wsec.CompileError."""
        bind = {name: given[name] for name in self._bound if name in given}
        shapes = {name: given[name].shape for name in self._open if hasattr(given.get(name), "shape")}
        key = (tuple(shapes.items()), tuple((name, np.asarray(value).tobytes()) for name, value in bind.items()))
        return self._programs.get(key, lambda: compile(self._model, shapes=shapes, bind=bind, **self._flags))

    def run(self, inputs: Any, **flags: Any) -> tuple[Any, ...]:
        """inputs: arrays in the order of the model's inputs, or by name; flags: as of wsec.Program.run. Returns
        the outputs in the order of the model's, also by name. Raises wsec.CompileError, wsec.RunError."""
        if not isinstance(inputs, Mapping):
            inputs = dict(zip((value.name for value in self._inputs), inputs))
        program = self.program(inputs)
        fed = {name: value for name, value in inputs.items() if name not in self._bound}
        outputs = program.run(fed, **flags)
        names = [value.name for value in self._model.graph.output]
        return namedtupledict("Outputs", names)(*(outputs[name] for name in names))


class WaferBackend(Backend):
    """Compiles for a mesh of 8x8 PEs unless `mesh` says otherwise; further keywords as of wsec.compile."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **flags: Any) -> WaferRep:
        """Raises wsec.CompileError where the model is refused: here, or with the first run that gives
        inputs their shapes."""
        return WaferRep(model, {"mesh": "8x8", **flags})

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU",
                 outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None, **flags: Any
                 ) -> tuple[Any, ...]:
        """Runs one operator, of ONNX's newest version or of flags["opset_version"]."""
        opset = flags.pop("opset_version", onnx.defs.onnx_opset_version())
        arrays = dict(zip([name for name in node.input if name], map(np.asarray, inputs)))
        graph = helper.make_graph(
            [node], node.op_type,
            [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
             for name, array in arrays.items()],
            [onnx.ValueInfoProto(name=name) for name in node.output if name])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, opset)])
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
        return cls.prepare(model, device, **flags).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """The wafer is emulated on the CPU."""
        return device.split(":")[0] == "CPU"


class _Tested(WaferBackend):
    """As ONNX's runner is to see it: what is refused is skipped."""

    mesh = "8x8"

    class Rep(WaferRep):
        def program(self, given: Mapping[str, Any]) -> Program:
            try:
                return super().program(given)
            except CompileError as error:
                raise unittest.SkipTest(str(error)) from error

        def run(self, inputs: Any, **flags: Any) -> tuple[Any, ...]:
            # The cases are too small for more.
            return super().run(inputs, threads=1, **flags)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **flags: Any) -> WaferRep:
        # Tolerances of a case are for the runner.
        del flags
        return cls.Rep(model, {"mesh": cls.mesh, "allow_f64_as_f32": True})


def node_cases(include: str = "", mesh: str = "8x8") -> unittest.TestSuite:
    """ONNX's node cases on our backend, those of whose names `include`, a regular expression, finds a part."""
    # The modules of the cases compute, and warn, when they are imported.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        from onnx.backend.test import BackendTest

        backend = type("Backend", (_Tested,), {"mesh": mesh})
        cases = BackendTest(backend, __name__).test_cases["OnnxBackendNodeModelTest"]
    names = unittest.defaultTestLoader.getTestCaseNames(cases)
    return unittest.TestSuite(cases(name) for name in names
                              if name.endswith("_cpu") and re.search(include, name.removesuffix("_cpu")))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m wsec.backend", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", default="", metavar="REGEX", help="cases with this in their name")
    parser.add_argument("--mesh", default="8x8", metavar="WxH", help="PEs (default: 8x8)")
    parser.add_argument("--verbose", action="store_true", help="a line a case, and why it was skipped")
    options = parser.parse_args()
    suite = node_cases(options.include, options.mesh)
    result = unittest.TextTestRunner(verbosity=2 if options.verbose else 1).run(suite)
    print(f"{result.testsRun - len(result.skipped) - len(result.failures) - len(result.errors)} cases pass, "
          f"{len(result.skipped)} are refused, {len(result.failures) + len(result.errors)} fail")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
