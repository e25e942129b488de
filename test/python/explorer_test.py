#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec.explorer: models as graphs with costs; with --install, in Model Explorer itself, which that installs."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from models import perceptron

import wsec

# What its loader of extensions imports, without the reader of TFLite (480 MB).
PACKAGES = ("ai-edge-model-explorer==0.1.34", "dacite", "flask", "werkzeug", "jinja2", "markupsafe", "itsdangerous", "click",
            "blinker", "numpy", "portpicker", "psutil", "requests", "urllib3", "idna", "certifi", "charset-normalizer",
            "termcolor", "typing-extensions", "watchdog", "packaging", "onnx==1.23.2", "protobuf", "ml-dtypes", "jsonschema",
            "attrs", "referencing", "rpds-py", "jsonschema-specifications")
LAYERS = """
    <ir_version: 10, opset_import: ["": 21]>
    layers (float[rows, 12] x) => (float[rows, 5] y) {
        [fc] hidden = MatMul(x, w1)
        [act] active = Relu(hidden)
        [product] product = MatMul(active, w2)
        y = Softmax <axis = 1> (product)
    }"""
NAMES = ("/first/fc/MatMul", "/first/act/Relu", "/second/MatMul")


def written(folder):
    model, _ = perceptron(LAYERS)
    for node, name in zip(model.graph.node, NAMES):
        node.name = name
    for tensor in model.graph.input:
        tensor.type.tensor_type.shape.dim[0].dim_value = 6
    onnx.save(model, folder / "layers.onnx")
    return model


class GraphTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from wsec.explorer import Costs, costs_of, graph_of

        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = written(cls.folder)
        cls.report = costs_of(cls.folder / "layers.onnx", "--mesh=8x8")
        cls.costs = Costs(cls.report, {"/first/fc/MatMul", "/first/act/Relu", "/second/MatMul", "Softmax_3"})
        cls.nodes = {node["id"]: node for node in graph_of(cls.model, cls.costs)["nodes"]}

    def test_graph(self):
        self.assertEqual(list(self.nodes), ["inputs of the model", "/first/fc/MatMul", "/first/act/Relu", "/second/MatMul",
                                            "Softmax_3", "outputs of the model"])
        product = self.nodes["/second/MatMul"]
        self.assertEqual((product["label"], product["namespace"]), ("MatMul", "second"))
        self.assertEqual(self.nodes["/first/fc/MatMul"]["namespace"], "first/fc")
        self.assertEqual([edge["sourceNodeId"] for edge in product["incomingEdges"]], ["/first/act/Relu"])
        said = {entry["key"]: entry["value"] for entry in product["attrs"]}
        self.assertEqual(said["weight 1"], "w2 float[2048, 5]")
        self.assertRegex(said["cycles"], r"^\d+, \d+\.\d % of the run$")
        self.assertEqual({entry["key"]: entry["value"] for entry in self.nodes["Softmax_3"]["attrs"]}["axis"], "1")
        for node in self.nodes.values():
            for edge in node["incomingEdges"]:
                outputs = [output["id"] for output in self.nodes[edge["sourceNodeId"]]["outputsMetadata"]]
                self.assertIn(edge["sourceNodeOutputId"], outputs)

    def test_costs(self):
        self.assertEqual(self.report.machine.mesh, [8, 8])
        counted = sum(self.costs.of(name).get("cycles", 0) for name in self.nodes)
        self.assertAlmostEqual(counted + self.costs.elsewhere, self.report.cycles.total, delta=1)
        self.assertRegex(self.nodes["/first/fc/MatMul"]["style"]["backgroundColor"], "^#ff[0-9a-f]{4}$")

    def test_kernels_of_several_nodes(self):
        from wsec.explorer import Costs

        kernel = {"name": "b", "kind": "matmul", "region": [0, 0, 2, 2], "onnx_nodes": ["a", "b"], "lower_bound_cycles": 5,
                  "bound": "compute"}
        costs = Costs({"kernels": [kernel, {**kernel, "onnx_nodes": ["elsewhere"]}],
                       "cycles": {"total": 40, "per_kernel": [30, 10]}}, {"a", "b"})
        self.assertEqual((costs.of("a"), costs.of("b"), costs.elsewhere), ({}, {"cycles": 30, "share": 75, "bound": 6}, 10))
        self.assertEqual(costs.attributes("a"), {"kernel b": "matmul on PEs (0,0) to (2,2): 30 cycles, lower bound 5, "
                                                             "limited by compute; counted at node 'b'"})

    def test_reports(self):
        from wsec.explorer import costs_of

        path = self.folder / "layers.onnx"
        beside = path.with_suffix(".report.json")
        self.addCleanup(beside.unlink)
        beside.write_text(json.dumps(wsec.compile(path, mesh="4x4").run({"x": np.ones((6, 12), "f4")}).report.to_dict()))
        self.assertIn("engine", costs_of(path).cycles)  # measured
        self.assertNotIn("engine", costs_of(path, "--mesh=4x4 --precision=f16 --shape=x=6x12").cycles)
        beside.write_text("{}")
        with self.assertRaisesRegex(wsec.Error, "is no report"):
            costs_of(path)
        with self.assertRaisesRegex(wsec.UsageError, "'mesh' is no flag of wsec"):
            costs_of(path, "mesh")


@unittest.skipUnless(importlib.util.find_spec("model_explorer"), "ai-edge-model-explorer is not installed")
class ExtensionTest(unittest.TestCase):
    def test_loads_and_converts(self):
        from model_explorer.extension_manager import ExtensionManager

        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        written(folder)
        manager = ExtensionManager(["wsec.explorer"])
        manager.load_extensions()
        known = {each["id"]: each["type"] for each in manager.get_extensions_metadata()}
        self.assertEqual((known["wsec"], known["wsec_costs"]), ("adapter", "node_data_provider"))
        given = manager.run_cmd({"cmdId": "convert", "extensionId": "wsec", "modelPath": str(folder / "layers.onnx"),
                                 "settings": {}, "deleteAfterConversion": False})
        graph, = given["graphs"]
        self.assertEqual(len(graph["nodes"]), 6)
        self.assertIn("predicted by wsec", graph["groupNodeAttributes"][""]["cycles"])
        command = {"cmdId": "run", "extensionId": "wsec_costs", "modelPath": str(folder / "layers.onnx"),
                   "graphId": graph["id"], "configValues": {"flags": "--mesh=4x4"}, "graph": graph}
        cycles, share, _ = manager.run_cmd(command)["result"]
        self.assertEqual((cycles["name"], share["name"]), ("Cycles", "Share of cycles in %"))
        self.assertGreater(cycles["results"]["/second/MatMul"]["value"], 100)
        editors = manager.run_cmd({**command, "cmdId": "get_config_editors"})["configEditors"]
        self.assertEqual([editor["id"] for editor in editors], ["flags"])
        refused = manager.run_cmd({**command, "configValues": {"flags": "--mesh=9999x1"}})
        self.assertRegex(refused["error"], "9999")


def install():
    """This test in a virtual environment of its own."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check", *PACKAGES], check=True)
        probe = "import model_explorer.extension_manager"  # else what follows is skipped
        subprocess.run([python, "-c", probe], check=True)
        return subprocess.run([python, __file__], check=False, env=os.environ).returncode


if __name__ == "__main__":
    sys.exit(install()) if sys.argv[1:] == ["--install"] else unittest.main()
