#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Program.session: calls of one process, what stays between them, what is refused."""

import tempfile
import threading
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from models import expected, perceptron, rows

import wsec

CACHE = Path(__file__).parents[2] / "dialects" / "pe" / "tutorial" / "cache.mlir"
TYPES = """
    <ir_version: 10, opset_import: ["": 21]>
    types (bfloat16[4] a, bool[4] b, float16[4] c) => (bfloat16[4] d, bool[4] e, float16[4] f) {
        d = Neg(a)
        e = Not(b)
        f = Add(c, c)
    }"""


class SessionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        model, cls.weights = perceptron()
        onnx.save(model, cls.folder / "mlp.onnx")
        cls.program = wsec.compile(cls.folder / "mlp.onnx", cls.folder / "p.wafer", mesh="4x4", dims={"rows": 6})

    def setUp(self):
        self.session = self.program.session(threads=1)

    def test_calls_give_what_runs_give(self):
        x = rows(6)
        run = self.program.run({"x": x})
        for scale in (1, -2, 3):
            given = self.session.run({"x": x * np.float32(scale)})
            self.assertEqual((given["y"].dtype, given["y"].shape), (np.float32, (6, 5)))
            np.testing.assert_allclose(given["y"], expected(x * scale, self.weights), atol=1e-3)
            self.assertEqual(self.session.counts.cycles, run.report.cycles.total)
        np.testing.assert_array_equal(self.session.run({"x": x.tolist()})["y"], run["y"])
        # What was given stays; what was taken is the caller's.
        again = self.session.run()["y"]
        again += 1
        np.testing.assert_array_equal(self.session.run(outputs=["y"])["y"], run["y"])
        self.assertEqual(self.session.run(outputs=[]), {})
        self.assertEqual(self.session.report.cycles.total, run.report.cycles.total)
        self.assertEqual(self.session.counts.streamed_bytes, run.report.weights.streamed_bytes)
        self.assertGreater(self.session.counts.seconds, 0)

    def test_engines(self):
        x = rows(6)
        outputs = [self.program.session(engine=engine).run({"x": x})["y"] for engine in ("strips", "wavelet")]
        for output in outputs:
            np.testing.assert_array_equal(output, outputs[0])

    def test_types(self):
        session = wsec.compile(onnx.parser.parse_model(TYPES), mesh="4x1").session()
        given = session.run({"a": np.array([1, -2, 3, 4], ml_dtypes.bfloat16), "b": np.array([True, False, True, True]),
                             "c": np.array([1, 2, 3, 4], "f2")[::-1]})
        self.assertEqual(given["d"].dtype, ml_dtypes.bfloat16)
        self.assertEqual([given[name].tolist() for name in "def"],
                         [[-1, 2, -3, -4], [False, True, False, False], [8, 6, 4, 2]])

    def test_threads_share_a_session(self):
        wrong = []

        def work(scale):
            x = rows(6) * np.float32(scale)
            for _ in range(5):
                if not np.allclose(self.session.run({"x": x})["y"], expected(x, self.weights), atol=1e-2):
                    wrong.append(scale)
        threads = [threading.Thread(target=work, args=(scale,)) for scale in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_buffers_outlive_calls(self):
        (self.folder / "cache.mlir").write_text(CACHE.read_text())
        np.ones((2, 16), "f4").tofile(self.folder / "past.bin")
        program = wsec.compile(self.folder / "cache.mlir")
        session, other = program.session(), program.session()
        session.run(entry="load")
        self.assert_attended(session, 2, 2)
        session.save_state(self.folder / "two.state")
        wrote = session.run({"x": np.full((64, 16), 3, "f4")}, entry="append", arguments={"position": 2})
        self.assertEqual(wrote, {})  # y is of a call before
        for position, said in ((2.5, "expected an integer"), (1 << 70, "an integer of 64 bits")):
            with self.assertRaisesRegex(wsec.InputError, said):
                session.run(entry="append", arguments={"position": position})
        self.assert_attended(session, 3, 5)
        other.load_state(self.folder / "two.state")
        self.assert_attended(other, 2, 2)
        other.clear_state()
        with self.assertRaises(wsec.RunError) as raised:
            other.run(entry="attend", arguments={"length": 2})
        self.assertEqual(raised.exception.kind, "UninitializedRead")
        with self.assertRaises(wsec.RunError) as raised:
            self.session.load_state(self.folder / "two.state")
        self.assertEqual(raised.exception.kind, "BadState")

    def test_a_load_that_prepares_is_called_by_name(self):
        (self.folder / "own.mlir").write_text("""
pe.program @own mesh [1, 1] machine "wse2" {
  tensor input @x : tensor<1x1x8xf32>
  tensor output @y : tensor<1x8xf32>
  class @all [0:1, 0:1] {
    buffer @v 32 bytes of f32 persistent
    routine @main {
      vector add @v[0, strides = [1]] = @v[0, strides = [1]], 1.0 over (8)
    }
  }
  entry @load {
    copy in @x to @v [0:1, 0:1] order row
  }
  entry @step {
    launch @main
    copy out @y from @v [0:1, 0:1] order row
  }
}
""")
        session = wsec.compile(self.folder / "own.mlir").session()
        with self.assertRaises(wsec.RunError) as raised:
            session.run(entry="step")
        self.assertEqual(raised.exception.kind, "UninitializedRead")
        session.run({"x": np.ones((1, 1, 8), "f4")}, entry="load")
        self.assertEqual(session.run(entry="step")["y"][0, 0], 2)

    def test_samples(self):
        x, rowwise = rows(24), self.session
        with self.assertRaisesRegex(wsec.InputError, r"shapes=\{'x': \(24, 12\)\}, or run the program once for each of 4 "
                                                     "samples: samples=4$"):
            rowwise.run({"x": x})
        with self.assertRaisesRegex(wsec.InputError, "samples=4$"):
            self.program.run({"x": x})
        given = rowwise.run({"x": x}, samples=4)["y"]
        np.testing.assert_array_equal(given, np.concatenate([rowwise.run({"x": part})["y"] for part in np.split(x, 4)]))
        np.testing.assert_array_equal(given, self.program.run({"x": x}, samples=4)["y"])
        np.testing.assert_allclose(given, expected(x, self.weights), atol=1e-3)
        np.testing.assert_array_equal(rowwise.run({"x": x[:6]}, samples=2)["y"], np.concatenate(2 * [given[:6]]))
        with self.assertRaisesRegex(wsec.InputError, "with samples=3 give 18 rows, or 6 for all samples"):
            rowwise.run({"x": x}, samples=3)
        with self.assertRaisesRegex(wsec.UsageError, "samples is 0"):
            rowwise.run({"x": x}, samples=0)
        # Weights that stay are no state; rows that calls append are.
        resident = wsec.compile(self.folder / "mlp.onnx", mesh="32x32", dims={"rows": 6}, mode="resident").session()
        np.testing.assert_allclose(resident.run({"x": x}, samples=4)["y"], given, atol=1e-3)
        (self.folder / "rows.mlir").write_text(CACHE.read_text())
        np.ones((2, 16), "f4").tofile(self.folder / "past.bin")
        cache = wsec.compile(self.folder / "rows.mlir").session()
        cache.run(entry="load")
        y = cache.run(entry="attend", arguments={"length": 2}, samples=2)["y"]
        np.testing.assert_array_equal(y, np.full_like(y, 2))
        with self.assertRaisesRegex(wsec.InputError, "from call to call"):
            cache.run({"x": np.ones((64, 16), "f4")}, entry="append", arguments={"position": 2}, samples=2)

    def test_samples_beside_what_is_loaded(self):
        # Of main, which writes a row behind those that are loaded, and adds them up.
        text = CACHE.read_text().replace("entry @append(%position from 0 to rows - 1)", "entry @main(%position from 1 to rows - 1)")
        begin = text.index("  }\n  entry @attend")
        (self.folder / "main.mlir").write_text(
            text[:begin] + "    launch @reduce(%position) streams [@attended]\n  }\n}\n")
        np.ones((2, 16), "f4").tofile(self.folder / "past.bin")
        program = wsec.compile(self.folder / "main.mlir")
        x = {"x": np.ones((64, 16), "f4")}
        with self.assertRaisesRegex(wsec.InputError, "from call to call"):
            program.session().run(x, arguments={"position": 1}, samples=2)
        with self.assertRaisesRegex(wsec.RunError, "leaves something on the wafer"):
            program.run(x, arguments={"position": 1}, samples=2)

    def test_what_was_loaded_is_not_loaded_again(self):
        text = CACHE.read_text().replace("entry @attend(%length from 1 to rows)", "entry @main(%length from 1 to rows)")
        (self.folder / "loads.mlir").write_text(text)
        np.ones((2, 16), "f4").tofile(self.folder / "past.bin")
        session = wsec.compile(self.folder / "loads.mlir").session()
        session.run(entry="load")
        session.run({"x": np.full((64, 16), 5, "f4")}, entry="append", arguments={"position": 1})
        self.assertEqual(session.run(arguments={"length": 2})["y"][0, 0], 6)

    def test_shapes_that_come(self):
        session = wsec.ShapedSession(self.folder / "mlp.onnx", mesh="4x4", most=2, threads=1)
        with self.assertRaisesRegex(wsec.UsageError, "nothing has run yet"):
            session.counts
        first = session.run({"x": rows(6)})["y"]
        np.testing.assert_array_equal(first, self.session.run({"x": rows(6)})["y"])
        held = session.programs
        for count in (3, 6):
            np.testing.assert_allclose(session.run({"x": rows(count)})["y"], expected(rows(count), self.weights), atol=1e-3)
        self.assertIs(session.programs[1], held[0])  # found, not compiled
        self.assertEqual(session.report.cycles.total, session.counts.cycles)
        session.run({"x": rows(2).tolist()}, outputs=["y"])
        self.assertEqual([program.inputs["x"].shape for program in session.programs], [(6, 12), (2, 12)])
        with self.assertRaisesRegex(wsec.CompileError, "z: no such input"):
            session.run({"x": rows(6), "z": rows(6)})
        with self.assertRaisesRegex(wsec.CompileError, "12"):
            session.run({"x": rows(6)[:, :5]})
        for flags, message in (({"shapes": {}}, "leave out shapes="), ({"most": 0}, "most is 0")):
            with self.assertRaisesRegex(wsec.UsageError, message):
                wsec.ShapedSession(self.folder / "mlp.onnx", **flags)

    def test_outputs_that_are_inputs(self):
        model = onnx.parser.parse_model("""
            <ir_version: 10, opset_import: ["": 20]>
            aliases (float[rows, 4] x) => (float[rows, 4] y, float[flat] same) <int64[1] shape = {-1}> {
                same = Reshape(x, shape)
                y = Relu(x)
            }""")
        session = wsec.compile(model, mesh="2x2", entry=["one:rows=1", "two:rows=2"]).session()
        for entry, count in (("one", 1), ("two", 2), ("one", 1)):
            x = np.arange(-2, 4 * count - 2, dtype="f4").reshape(count, 4)
            given = session.run({"x": x}, entry=entry)
            self.assertEqual(sorted(given), ["same", "y"])
            np.testing.assert_array_equal(given["same"], x.reshape(-1))
            np.testing.assert_array_equal(given["y"], x.clip(0))

    def test_states_in_turn(self):
        (self.folder / "cache.mlir").write_text(CACHE.read_text())
        np.ones((2, 16), "f4").tofile(self.folder / "past.bin")
        program = wsec.compile(self.folder / "cache.mlir")
        for engine in ("burst", "wavelet"):
            session = program.session(engine=engine)
            session.run(entry="load")
            first = session.state
            # Two beams of one begin, which grow in turn, and one that leaves the other behind.
            beams = {3: first, 5: first}
            for row in (2, 3):
                for number in beams:
                    session.state = beams[number]
                    session.run({"x": np.full((64, 16), number, "f4")}, entry="append", arguments={"position": row})
                    beams[number] = session.state
            for number in beams:
                session.state = beams[number]
                self.assert_attended(session, 4, 2 + 2 * number)
            session.state = beams[3]
            session.run({"x": np.full((64, 16), 7, "f4")}, entry="append", arguments={"position": 3})
            self.assert_attended(session, 4, 2 + 3 + 7)
            other = program.session(engine=engine)
            other.state = first
            self.assert_attended(other, 2, 2)
            with self.assertRaisesRegex(wsec.RunError, "what was kept is the state of another program") as raised:
                self.session.state = first
            self.assertEqual(raised.exception.kind, "BadState")
            with self.assertRaisesRegex(wsec.InputError, "a state is what session.state gave, not of type str"):
                session.state = "two.state"

    def assert_attended(self, session, length, expected):
        given = session.run(entry="attend", arguments={"length": length})
        np.testing.assert_array_equal(given["y"], np.full((4, 4), expected))

    def test_refusals(self):
        x = rows(6)
        for inputs, message in (({}, "x"), ({"z": x}, "no input 'z'"), ({"x": x[:4]}, "4, 12"),
                                ({"x": x.astype("f8")}, r"float64\[6, 12\], the program wants float32\[6, 12\]: convert")):
            with self.assertRaisesRegex(wsec.InputError, message):
                self.session.run(inputs)
        with self.assertRaisesRegex(wsec.InputError, "no output 'z'"):
            self.session.run({"x": x}, outputs=["z"])
        with self.assertRaisesRegex(wsec.RunError, "entry") as raised:
            self.session.run({"x": x}, entry="other")
        self.assertEqual(raised.exception.kind, "BadCall")
        with self.assertRaisesRegex(wsec.RunError, "nothing has run yet"):
            self.program.session().report
        with self.assertRaisesRegex(wsec.Error, "no engine 'fast': burst, strips or wavelet"):
            self.program.session(engine="fast")
        lost = self.folder / "lost" / "p.wafer"
        lost.parent.mkdir()
        self.program.save(lost)
        with self.assertRaisesRegex(wsec.RunError, "mlp.onnx"):
            wsec.load(lost).session()


if __name__ == "__main__":
    unittest.main()
