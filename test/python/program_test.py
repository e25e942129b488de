#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec.compile, wsec.load and Program: what goes in, what comes out, what is refused."""

import gc
import os
import tempfile
import unittest
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from models import expected, perceptron, rows

import wsec

CACHE = Path(__file__).parents[2] / "dialects" / "pe" / "tutorial" / "cache.mlir"
NO_OUTPUTS = """
pe.program @idle mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    routine @main {
    }
  }
  launch @main
}
"""


class ProgramTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        warnings.simplefilter("error")  # what a tool says beside its work
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model, cls.weights = perceptron()
        cls.path = cls.folder / "models" / "mlp.onnx"
        cls.path.parent.mkdir()
        onnx.save(cls.model, cls.path)
        cls.program = wsec.compile(cls.path, cls.folder / "p.wafer", mesh="4x4", dims={"rows": 6})
        cls.x = rows(6)

    def test_compile(self):
        self.assertEqual(self.program.path, self.folder / "p.wafer")
        self.assertEqual(self.program.report.machine.mesh, [4, 4])
        self.assertEqual(self.program.inputs, {"x": (np.dtype("f4"), (6, 12))})
        self.assertEqual(str(self.program.outputs["y"]), "float32[6, 5]")

    def test_run(self):
        outputs = self.program.run({"x": self.x}, engine="wavelet", threads=1)
        self.assertEqual(list(outputs), ["y"])
        np.testing.assert_allclose(outputs["y"], expected(self.x, self.weights), rtol=1e-4, atol=1e-3)
        self.assertEqual(outputs.report.cycles.engine, "wavelet")
        self.assertEqual(outputs.report.weights, self.program.report.weights)
        listed = self.program.run({"x": self.x.tolist()})  # of the program's type
        np.testing.assert_array_equal(listed["y"], outputs["y"])

    def test_values_inside(self):
        outputs = self.program.run({"x": self.x}, values=["active"])
        self.assertEqual(sorted(outputs), ["active", "y"])
        np.testing.assert_allclose(outputs["active"], np.maximum(self.x @ self.weights["w1"], 0), atol=1e-5)

    def test_flags(self):
        counters = self.folder / "counters.json"
        self.program.run({"x": self.x}, counters=[counters])
        self.assertIn("words_sent", counters.read_text())
        with self.assertRaisesRegex(wsec.UsageError, "^there is no flag --count; nearest: '--counters'"):
            self.program.run({"x": self.x}, count=3)
        with self.assertRaisesRegex(wsec.UsageError, "^there is no flag --meshes; nearest: '--mesh'"):
            wsec.compile(self.path, meshes="4x4")
        for flag in ("stop_after", "report", "quiet"):
            with self.assertRaisesRegex(wsec.UsageError, f"leave out {flag}="):
                wsec.compile(self.path, **{flag: "route"})
        with self.assertRaisesRegex(wsec.UsageError, "leave out outputs="):
            self.program.run({"x": self.x}, outputs="mine.npz")
        small = wsec.compile(self.path, mesh=(8, 8), shapes={"x": (6, 12)}, region="2x1", bundle=True)
        self.assertEqual((small.report.pes.used, small.report.pes.available), (2, 64))

    def test_stops(self):
        outputs = self.program.run({"x": self.x}, until="launch:1", peek="0,0")
        self.assertEqual((dict(outputs), outputs.report), ({}, None))
        self.assertRegex(outputs.text, r"stopped before launch 1 (.|\n)*PE \(0, 0\)")

    def test_batch(self):
        x = rows(18)
        outputs = self.program.run({"x": x}, num_systems=2)
        np.testing.assert_allclose(outputs["y"], expected(x, self.weights), rtol=1e-4, atol=1e-3)
        self.assertEqual(outputs.report.systems.calls, 3)
        with self.assertRaisesRegex(wsec.InputError, r"float32\[18, 12\], the program wants float32\[6, 12\]"):
            self.program.run({"x": x})

    def test_samples(self):
        x = rows(18)
        outputs = self.program.run({"x": x}, samples=3)
        np.testing.assert_allclose(outputs["y"], expected(x, self.weights), rtol=1e-4, atol=1e-3)
        self.assertEqual(outputs.report.pipeline.samples, 3)
        with self.assertRaisesRegex(wsec.InputError, r"\[18, 12\].* wants float32\[6, 12\]: with samples=2 give 12 rows, "
                                    "or 6 for all samples"):
            self.program.run({"x": x}, samples=2)

    def test_wrong_inputs(self):
        # No engine of this name: what is wrong is found before the emulator starts.
        def refusal(inputs):
            with self.assertRaises(wsec.InputError) as caught:
                self.program.run(inputs, engine="none")
            return str(caught.exception)

        self.assertEqual(refusal({}), "no array is given for 'x' (float32[6, 12])")
        self.assertEqual(refusal({"x": self.x.astype("f8")}),
                         "input 'x' is float64[6, 12], the program wants float32[6, 12]: convert with .astype('float32')")
        self.assertEqual(refusal({"x": self.x[:5]}), "input 'x' is float32[5, 12], the program wants "
                         "float32[6, 12]: compile for shapes={'x': (5, 12)}")
        self.assertEqual(refusal(self.x), "inputs are arrays by name, as {'x': array}, not of type ndarray")
        self.assertEqual(refusal({"xs": self.x}), "the program has no input 'xs'; nearest: 'x'\n"
                         "no array is given for 'x' (float32[6, 12])")

    def test_refused_models(self):
        with self.assertRaisesRegex(wsec.CompileError, "^cannot read '.*missing.onnx': No such file"):
            wsec.compile(self.folder / "missing.onnx")
        with self.assertRaisesRegex(wsec.UsageError, "^a model is a path, an onnx.ModelProto or a torch.nn.Module, not of type int$"):
            wsec.compile(3)
        with self.assertRaisesRegex(wsec.CompileError, "1 dimension.* must be bound: .*'rows'"):
            wsec.compile(self.path)
        text = """<ir_version: 10, opset_import: ["": 21]>
            g (float[4, 4] x) => (float[4, 4] y) { [odd] a = Det(x) [strange] y = Det(a) }"""
        with self.assertRaises(wsec.CompileError) as caught:
            wsec.compile(onnx.parser.parse_model(text), mesh="4x4")
        message = str(caught.exception)
        self.assertIn("Det: the operator is not supported: 2 nodes, 'odd' and 'strange'; write", message)
        self.assertNotIn(tempfile.gettempdir(), message)

    def test_run_errors(self):
        table = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21]>
            g (int64[3] ids) => (float[3, 2] y) <float[2, 2] rows = {1, 2, 3, 4}> { y = Gather(rows, ids) }""")
        program = wsec.compile(table, mesh="2x2")
        np.testing.assert_array_equal(program.run({"ids": [1, 0, 1]})["y"], [[3, 4], [1, 2], [3, 4]])
        for run in (program.run, program.session().run):
            with self.assertRaisesRegex(wsec.InputError, r"'ids' is float64\[3\], the program wants int64"):
                run({"ids": [1.9, 0, 1]})
        with self.assertRaisesRegex(wsec.InputError, "^'ids' asks for row 7 .*which has 2 rows") as caught:
            program.run({"ids": [1, 7, 1]})
        self.assertEqual(caught.exception.kind, "BadTensor")
        moved = self.folder / "moved.onnx"
        onnx.save(self.model, moved)
        program = wsec.compile(moved, self.folder / "m.wafer", mesh="4x4", dims={"rows": 6})
        self.model.graph.initializer[0].raw_data = bytes(4 * 12 * 2048)
        onnx.save(self.model, moved)
        with self.assertRaisesRegex(wsec.RunError, "^WeightFileChanged: ") as caught:
            program.run({"x": self.x})
        self.assertEqual(caught.exception.kind, "WeightFileChanged")

    def test_bind(self):
        model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21]>
            g (float[2, 6] x, int64[2] shape, float factor) => (float[a, b] y) {
                scaled = Mul(x, factor) y = Reshape(scaled, shape) }""")
        x = np.arange(12, dtype="f4").reshape(2, 6)
        for shape in ([3, -1], np.array([3, 4])):
            program = wsec.compile(model, mesh="2x2", bind={"shape": shape, "factor": np.float32(2)})
            np.testing.assert_array_equal(program.run({"x": x})["y"], 2 * x.reshape(3, 4))
        with self.assertRaisesRegex(wsec.CompileError, "factors"):
            wsec.compile(model, mesh="2x2", bind={"factors": 2})

    def test_types_numpy_has_no_name_for(self):
        model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21]>
            g (bfloat16[2, 6] x) => (bfloat16[2, 6] y) { y = Add(x, x) }""")
        x = np.arange(12).reshape(2, 6).astype(ml_dtypes.bfloat16)
        y = wsec.compile(model, mesh="2x2").run({"x": x})["y"]
        self.assertEqual(y.dtype, ml_dtypes.bfloat16)
        np.testing.assert_array_equal(y, x + x)

    def test_names_of_arguments(self):
        # np.savez has arguments of these names.
        model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21]>
            g (float[4] file, float[4] allow_pickle) => (float[4] y) { y = Sub(file, allow_pickle) }""")
        given = {"file": np.ones(4, "f4"), "allow_pickle": np.arange(4, dtype="f4")}
        np.testing.assert_array_equal(wsec.compile(model, mesh="2x2").run(given)["y"], [1, 0, -1, -2])

    def test_saved(self):
        file = self.folder / "saved.wafer"
        saved = wsec.compile(self.path, mesh="4x4", dims={"rows": 6}).save(file)
        gc.collect()
        y = self.program.run({"x": self.x})["y"]
        np.testing.assert_array_equal(saved.run({"x": self.x})["y"], y)
        loaded = wsec.load(file, weights=[self.path.parent])
        self.assertEqual((loaded.report, loaded.inputs), (None, saved.inputs))
        np.testing.assert_array_equal(loaded.run({"x": self.x})["y"], y)
        with self.assertRaisesRegex(wsec.RunError, "there is no 'mlp.onnx'"):
            wsec.load(file).run({"x": self.x})
        # The weights of a ModelProto are inside.
        wsec.compile(perceptron()[0], mesh="4x4", dims={"rows": 6}).save(file)
        np.testing.assert_array_equal(wsec.load(file).run({"x": self.x})["y"], y)
        file.write_bytes(b"no program")
        with self.assertRaisesRegex(wsec.Error, "saved.wafer"):
            wsec.load(file)

    def test_entries(self):
        work = self.folder / "cache"
        work.mkdir()
        (work / "cache.mlir").write_text(CACHE.read_text())
        np.ones((2, 16), "f4").tofile(work / "past.bin")
        program = wsec.compile(work / "cache.mlir")
        state = work / "cache.state"
        program.run(entry="load", save_state=state)
        outputs = program.run(entry="attend", arguments={"length": 2}, load_state=state)
        np.testing.assert_array_equal(outputs["y"], np.full((4, 4), 2))
        with self.assertRaisesRegex(wsec.InputError, "no tensor is given for 'x'"):
            program.run(entry="append", arguments={"position": 2}, load_state=state, save_state=state)

    def test_no_outputs(self):
        (self.folder / "idle.mlir").write_text(NO_OUTPUTS)
        outputs = wsec.compile(self.folder / "idle.mlir").run()
        self.assertEqual(outputs, {})
        self.assertEqual(outputs.report.pes, {"used": 0, "available": 2})

    def test_temporary_files(self):
        with tempfile.TemporaryDirectory() as folder:
            before, tempfile.tempdir = tempfile.tempdir, folder
            try:
                program = wsec.compile(perceptron()[0], mesh="4x4", dims={"rows": 6})
                program.run({"x": self.x})
                with self.assertRaises(wsec.UsageError):
                    program.run({"x": self.x}, engine="none")
                with self.assertRaises(wsec.CompileError):
                    wsec.compile(perceptron()[0], mesh="4x4")
                gc.collect()
                self.assertEqual(os.listdir(folder), [program.path.parent.name])
                del program
                gc.collect()
                self.assertEqual(os.listdir(folder), [])
            finally:
                tempfile.tempdir = before


if __name__ == "__main__":
    unittest.main()
