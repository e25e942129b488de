# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What computes a model that the wafer is held against."""

from types import SimpleNamespace

import onnx
import onnx.reference
import onnxruntime

# Operators of opset 27 onnxruntime has none of.
TOO_NEW = {"CausalConvWithState", "LinearAttention"}


class Evaluator:
    """ONNX's own evaluator, called as a session of onnxruntime."""

    def __init__(self, model):
        self.evaluator, self.graph = onnx.reference.ReferenceEvaluator(model), model.graph

    @staticmethod
    def described(values):
        return [SimpleNamespace(name=value.name, type="tensor(float)",
                                shape=[dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim])
                for value in values]

    def get_inputs(self):
        return self.described(self.graph.input)

    def get_outputs(self):
        return self.described(self.graph.output)

    def run(self, names, feeds):
        return self.evaluator.run(names, feeds)


def session_of(path):
    model = onnx.load(path)
    if TOO_NEW & {node.op_type for node in model.graph.node}:
        return Evaluator(model)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options)
