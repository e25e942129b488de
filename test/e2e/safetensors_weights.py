# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model whose weights lie in safetensors files, which the `safetensors` package
wrote: safetensors_weights.py FOLDER."""

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper as h
from safetensors.numpy import load_file, save_file

os.environ["WSEC_BIN"] = str(Path(shutil.which("wsec")).parent)
sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))
import wsec  # noqa: E402
import wsec.weights  # noqa: E402

FOLDER = Path(sys.argv[1])
# Products above 64 KiB, which do not become part of the program.
SHAPES = {"fc1.weight": (128, 160), "fc1.bias": (160,), "fc2.weight": (160, 128), "fc2.bias": (128,)}


def model(kind=T.FLOAT):
    """Two layers of zeros."""
    nodes = [h.make_node("MatMul", ["x", "fc1.weight"], ["a"], name="fc1"),
             h.make_node("Add", ["a", "fc1.bias"], ["b"], name="bias1"),
             h.make_node("Relu", ["b"], ["c"], name="relu"),
             h.make_node("MatMul", ["c", "fc2.weight"], ["d"], name="fc2"),
             h.make_node("Add", ["d", "fc2.bias"], ["y"], name="bias2")]
    zeros = [h.make_tensor(name, kind, shape, np.zeros(shape).ravel()) for name, shape in SHAPES.items()]
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", kind, [3, 128])],
                         [h.make_tensor_value_info("y", kind, [3, 128])], zeros)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=9), FOLDER / "zeros.onnx")
    return FOLDER / "zeros.onnx"


class SafetensorsTest(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        self.stored = FOLDER / "stored"
        self.stored.mkdir(parents=True)
        random = np.random.default_rng(1)
        self.weights = {name: (random.standard_normal(shape) / 16).astype("f4") for name, shape in SHAPES.items()}
        self.x = {"x": random.standard_normal((3, 128)).astype("f4")}

    def shards(self):
        for k, names in enumerate((["fc1.weight", "fc2.bias"], ["fc1.bias", "fc2.weight"])):
            save_file({name: self.weights[name] for name in names}, self.stored / f"model-{k}.safetensors")
        files = {name: f"model-{int(name in ('fc1.bias', 'fc2.weight'))}.safetensors" for name in SHAPES}
        (self.stored / "model.safetensors.index.json").write_text(
            '{"metadata": {}, "weight_map": ' + str(files).replace("'", '"') + "}")

    def check(self, onnx_file, weights=()):
        program = wsec.compile(onnx_file, FOLDER / "out.wafer", mesh="4x4", weights=weights)
        hidden = np.maximum(self.x["x"] @ self.weights["fc1.weight"] + self.weights["fc1.bias"], 0)
        expected = hidden @ self.weights["fc2.weight"] + self.weights["fc2.bias"]
        for engine in ("strips", "wavelet"):
            outputs = program.run(self.x, engine=engine)
            np.testing.assert_allclose(outputs["y"], expected, atol=1e-5)
        self.assertGreater(outputs.report.weights.streamed_bytes, 4 * 40960)
        return program

    def test_one_file_elsewhere(self):
        save_file(self.weights, self.stored / "model.safetensors", metadata={"format": "np"})
        (FOLDER / "model").mkdir()
        taken = wsec.weights.refer(model(), self.stored, FOLDER / "model" / "m.onnx")
        self.assertEqual(sorted(taken), sorted(SHAPES))
        program = self.check(FOLDER / "model" / "m.onnx", [self.stored])
        # The same graph with its weights beside it, by onnxruntime.
        wsec.weights.refer(model(), self.stored, self.stored / "m.onnx")
        expected = onnxruntime.InferenceSession(self.stored / "m.onnx").run(None, self.x)[0]
        np.testing.assert_allclose(program.run(self.x)["y"], expected, atol=1e-5)

    def test_shards_below(self):
        self.shards()
        subprocess.run([sys.executable, "-m", "wsec.weights", model(), self.stored, "-o", FOLDER / "m.onnx"],
                       check=True, env={**os.environ, "PYTHONPATH": str(Path(wsec.__file__).parents[1])})
        self.check(FOLDER / "m.onnx")
        text = subprocess.run([wsec.tool("wse-inspect"), "store", self.stored], check=True, text=True,
                              capture_output=True).stdout
        self.assertRegex(text, r"4 tensors of 41248 elements, 164992 bytes")
        self.assertRegex(text, r"fc1.weight +F32 +\[128,160\] +81920 +\d+ +model-0.safetensors")

    def test_changed_files(self):
        save_file(self.weights, self.stored / "model.safetensors")
        wsec.weights.refer(model(), self.stored, FOLDER / "m.onnx")
        program = self.check(FOLDER / "m.onnx")
        self.weights["fc2.bias"] += 1
        save_file(self.weights, self.stored / "model.safetensors")
        with self.assertRaisesRegex(wsec.Error, "WeightFileChanged: .*model.safetensors' is not the file"):
            program.run(self.x)
        self.assertEqual(sorted(load_file(self.stored / "model.safetensors")), sorted(SHAPES))

    def test_what_does_not_fit(self):
        self.weights["fc1.bias"] = self.weights["fc1.bias"].astype("f2")
        save_file(self.weights, self.stored / "model.safetensors")
        with self.assertRaisesRegex(ValueError, r"'fc1.bias' is F16 \[160\] in .* wants FLOAT \[160\]"):
            wsec.weights.refer(model(), self.stored, FOLDER / "m.onnx")
        save_file({"other": self.weights["fc2.bias"]}, self.stored / "model.safetensors")
        with self.assertRaisesRegex(ValueError, "none of the 1 tensors"):
            wsec.weights.refer(model(), self.stored, FOLDER / "m.onnx")
        self.assertFalse((FOLDER / "m.onnx").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
