#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are broken, or ask for what there is not: a row each, with all that wsec says of it.

  broken_models.py FOLDER     compiles each in FOLDER, exit code 1 if one is not refused in these words

A message names what is wrong, with the numbers, the limit where there is one, the node,
and what to do where something can be done.
"""

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
WRITE = "; write it with other operators, or compute it outside of the model"
OUTSIDE = "; compute what needs them outside of the model"
TAPS = ("its windows have more than 4096 elements, each of which is a slice: node 'n'; use windows that neither "
        "overlap nor leave gaps, or a product")


@dataclass
class Case:
    """The node `n` of an operator on `x`, and on constants; or several nodes."""
    operator: str = ""
    says: str = ""                                # {path} is the model's
    shape: tuple = (2, 4)
    type: int = FLOAT
    constants: tuple = ()                         # arrays, or shapes of floats
    attributes: dict = field(default_factory=dict)
    inputs: tuple = ()                            # instead of x and the constants
    nodes: tuple = ()                             # instead of one
    opset: int = 18
    domain: str = ""
    change: object = None                         # what else is done to the model

    def model(self):
        names = [f"c{i}" for i in range(len(self.constants))]
        constants = [numpy_helper.from_array(
            np.ones(c, "f4") if isinstance(c, tuple) else np.array(c), name)
            for c, name in zip(self.constants, names)]
        nodes = self.nodes or (helper.make_node(self.operator, self.inputs or ("x", *names), ["y"], "n",
                                                domain=self.domain, **self.attributes),)
        graph = helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("x", self.type, self.shape)],
            [helper.make_tensor_value_info("y", FLOAT, None)], constants)
        opsets = [helper.make_opsetid("", self.opset)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, 1))
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        if self.change:
            self.change(model)
        return model


def stored_in(**entries):
    """The first constant is external data."""
    def change(model):
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
    return change


def cut(model):
    model.graph.initializer[0].raw_data = b"12345678"


def sparse(model):
    initializer = model.graph.sparse_initializer.add(dims=[4, 4])
    initializer.values.CopyFrom(helper.make_tensor("w", FLOAT, [1], [1]))
    initializer.indices.CopyFrom(helper.make_tensor("i", INT64, [1], [5]))


def branches(operator, **bodies):
    return tuple([helper.make_node(operator, ["x"], ["y"], "n", **{
        name: helper.make_graph([helper.make_node("Relu", ["x"], ["o"])], name, [],
                                [helper.make_tensor_value_info("o", FLOAT, [2, 4])])
        for name in bodies})])


def two(first, second, **attributes):
    return (helper.make_node(first, ["x"], ["t"], "first", **attributes),
            helper.make_node(second, ["t"], ["y"], "second"))


def quantised(block, bytes_of_block=None, bits=4):
    return dict(operator="MatMulNBits", shape=(2, 32), domain="com.microsoft", inputs=("x", "c0", "c1"),
                constants=(np.zeros((8, -(-32 // (block or 32)), bytes_of_block or block * bits // 8), "u1"),
                           (8 * -(-32 // (block or 32)),)),
                attributes=dict(K=32, N=8, bits=bits, block_size=block))


CASES = {
    # What a node states
    "types": Case("Add", "Add: inputs 0 and 1 differ in type, f32 and i64: node 'n'", constants=([1, 2, 3, 4],)),
    "shapes": Case("MatMul", "MatMul: cannot multiply 2x4 by 5x3: node 'n'", constants=((5, 3),)),
    "broadcast": Case("Add", "Add: shapes 2x4 and 3 do not broadcast: node 'n'", constants=((3,),)),
    "misspelt": Case("Matmul", "Matmul: ONNX has no such operator: node 'n'; nearest: 'MatMul', 'Mul', 'Gather', "
                     "'Max', 'MaxPool'", constants=((4, 4),)),
    "domain": Case("Foo", "Foo of com.acme: the operator is not known: node 'n'; define it as a function of the model",
                   domain="com.acme"),
    "attribute": Case("Relu", "Relu: attribute 'alpha' = 0.5 is none that the operator has in version 14: node 'n'",
                      attributes={"alpha": 0.5}),
    "attribute-type": Case("Softmax", "Softmax: attribute 'axis' is not an integer: node 'n'",
                           attributes={"axis": 1.5}),
    "axis": Case("Softmax", "Softmax: axis 7 is outside rank 2: node 'n'", attributes={"axis": 7}),
    "inputs": Case("Relu", "Relu: 2 inputs, the operator takes 1: node 'n'", inputs=("x", "x")),
    "input-missing": Case("MatMul", "MatMul: input 1 is missing: node 'n'"),
    "attribute-missing": Case("DepthToSpace", "DepthToSpace: attribute 'blocksize' is missing: node 'n'",
                              shape=(1, 4, 2, 2)),
    "too-new": Case("Attention", "Attention: opset 18 has no such operator: node 'n'; opset 23 brought it, and "
                    "onnx.version_converter converts to it", shape=(1, 2, 4, 8), inputs=("x", "x", "x")),
    "index": Case("Gather", "Gather: index 5 is outside extent 2: node 'n'", constants=([5],)),
    "step": Case("Slice", "Slice: the step along axis 1 is 0: node 'n'", constants=([0], [4], [1], [0])),
    "perm": Case("Transpose", "Transpose: perm is no permutation of 2 dimensions: node 'n'",
                 attributes={"perm": [0, 0]}),
    "reshape": Case("Reshape", "Reshape: cannot reshape 2x4 to 3x2: node 'n'", constants=([3, -1],)),
    "k": Case("TopK", "TopK: takes 9 of 4 elements: node 'n'", constants=([9],)),
    "pad": Case("Pad", "Pad: mode is 'mirror', expected one of constant, edge, reflect, wrap: node 'n'",
                constants=([0, 1, 0, 1],), attributes={"mode": "mirror"}),
    "cast": Case("Cast", "Cast: to ONNX element type 99, which is no number: node 'n'", attributes={"to": 99}),
    "scale": Case("Resize", "Resize: 4 elements times a scale of 1.000e+30, expected 1 to 2147483648 elements: "
                  "node 'n'", shape=(1, 1, 4, 4), inputs=("x", "", "c0"), constants=(np.float32([1, 1, 1e30, 1]),)),
    "norm": Case("LayerNormalization", "LayerNormalization: input 1 of shape 5, expected 4 elements, one for each "
                 "feature: node 'n'", constants=((5,),)),
    "equation": Case("Einsum", "Einsum: its label 'j' has 4 and 2 elements: node 'n'", inputs=("x", "x"),
                     attributes={"equation": "ij,jk->ik"}),
    "heads": Case("MultiHeadAttention", "MultiHeadAttention of com.microsoft: 5 heads do not divide 24 features: "
                  "node 'n'", shape=(1, 4, 24), domain="com.microsoft", inputs=("x", "x", "x"),
                  attributes={"num_heads": 5}),
    "random": Case(says="RandomNormalLike: nothing is drawn at random on the wafer: node 'first', and 1 node that needs it; give "
                   "what it draws, --bind NAME=FILE.npy with the node's name", nodes=two("RandomNormalLike", "Relu")),
    "nameless": Case(says="Det: the operator is not supported: node 'Det_0', and 1 node that needs it" + WRITE,
                     nodes=tuple(helper.make_node(op, [a], [b]) for op, a, b in
                                 (("Det", "x", "t"), ("Relu", "t", "y"))), shape=(2, 2)),
    "quantized": Case("ConvInteger", "ConvInteger: the operator is not supported: node 'n'; quantise with QuantFormat.QDQ, whose "
                      "weights stay integers, or leave these nodes out of it", shape=(1, 1, 4, 4), type=TensorProto.UINT8,
                      constants=(np.ones((1, 1, 2, 2), "u1"),)),
    "branches": Case(says="If: its condition is not one truth value: node 'n'",
                     nodes=branches("If", then_branch=1, else_branch=1), shape=()),
    "sequence": Case(says="SequenceConstruct: the operator is not supported: node 'first', and 1 node that needs it" +
                     WRITE, nodes=two("SequenceConstruct", "Identity")),
    "type-too-new": Case("Conv", "Conv: input 0 is of bf16, which the operator does not take: node 'n'; opset 22 does, "
                         "export for it", shape=(1, 3, 8, 8), type=TensorProto.BFLOAT16, constants=((4, 3, 3, 3),)),
    # Sizes
    "block-2^32": Case("DepthToSpace", "DepthToSpace: blocks of 4294967296 do not fit 1x4x2x2: node 'n'",
                       shape=(1, 4, 2, 2), attributes={"blocksize": 2**32}),
    "window-0": Case("Conv", "Conv: convolves 1x3x8x8 with 4x3x0x0, expected 3 dimensions or more of both, and windows "
                     "with elements: node 'n'", shape=(1, 3, 8, 8), constants=((4, 3, 0, 0),)),
    "window-large": Case("Conv", "Conv: a window of 9 over 4 elements, pads counted: node 'n'", shape=(1, 3, 4, 4),
                         constants=((4, 3, 9, 9),)),
    "window-kernel": Case("Conv", "Conv: kernel_shape is not that of its weights: node 'n'", shape=(1, 3, 8, 8),
                          constants=((4, 3, 3, 3),), attributes={"kernel_shape": [0, 0]}),
    "pads-2^62": Case("Conv", "Conv: pads has 4611686018427387904, expected 0 to 16777216: node 'n'",
                      shape=(1, 3, 8, 8), constants=((4, 3, 3, 3),), attributes={"pads": [2**62] * 4}),
    "strides-2^62": Case("MaxPool", "MaxPool: strides has 4611686018427387904, expected 1 to 16777216: node 'n'",
                         shape=(1, 3, 8, 8), attributes={"kernel_shape": [2, 2], "strides": [2**62] * 2}),
    "taps-pool": Case("MaxPool", "MaxPool: " + TAPS, shape=(1, 1, 250, 250), attributes={"kernel_shape": [245, 245]}),
    "taps-conv": Case("Conv", "Conv: " + TAPS, shape=(1, 1, 250, 250), constants=((1, 1, 245, 245),)),
    "terms": Case("MatMulInteger", "MatMulInteger: sums of 30000000 products, expected 1 to 33025: node 'n'",
                  shape=(1, 30000000), type=TensorProto.UINT8, constants=(np.ones((30000000, 1), "u1"),)),
    "groups": Case("Conv", "Conv: 3 channels for weights of shape 4x3x3x3 in 2 groups: node 'n'", shape=(1, 3, 8, 8),
                   constants=((4, 3, 3, 3),), attributes={"group": 2}),
    "expand": Case("Expand", "Expand: a tensor of shape 1099511627776x4 has more than 2147483647 elements along an axis: node 'n'",
                   constants=([2**40, 4],), shape=(1, 4)),
    "input-size": Case("Relu", "{path}: shape 1099511627776x1099511627776 has too many elements, expected fewer than "
                       "2^63 bytes: input 'x'", shape=(2**40, 2**40)),
    "block-17": Case(says="MatMulNBits of com.microsoft: 32x8 weights of 4 bits in blocks of 17, expected 2, 4 or 8 bits "
                     "in blocks of 16, 32, ..., 1048576: node 'n'", **quantised(17)),
    "block-bytes": Case(says="MatMulNBits of com.microsoft: weights of shape 8x1x15, expected 8x1x16: node 'n'",
                        **quantised(32, 15)),
    # What the model depends on
    "computed-shape": Case("Reshape", "Reshape: shape is computed from the model's inputs: node 'n'; --bind "
                           "x=FILE.npy makes it known", shape=(2,), type=INT64, inputs=("x", "x")),
    "open": Case("Relu", "{path}: 1 dimension of the inputs must be bound: x[0] 'batch'; add --dim batch=N",
                 shape=("batch", 4)),
    "extent-0": Case("MatMul", "{path}: 1 dimension of the inputs must be bound: x[0] (stated as 0); add --shape "
                     "x=Nx4, where 0 stands for no elements", shape=(0, 4), constants=((4, 4),)),
    "f64": Case("Relu", "the wafer has no f64: tensor 'n'; --allow-f64-as-f32 computes in f32",
                type=TensorProto.DOUBLE),
    "strings": Case("Identity", "{path}: elements of type string are not supported: input 'x'" + OUTSIDE, type=STRING),
    # The file
    "opset": Case("Relu", "{path}: the model is of opset 3; opsets 7 to 28 are supported, onnx.version_converter "
                  "converts between them", opset=3),
    "opset-missing": Case("Relu", "{path}: the model does not state its opset of the default domain; add it to "
                          "opset_import", change=lambda model: model.ClearField("opset_import")),
    "data-missing": Case("MatMul", "{path}: its data: there is no 'gone.bin' in '{folder}': tensor 'c0'; name the "
                         "folder that has it with --weights=DIR", constants=((4, 4),),
                         change=stored_in(location="gone.bin")),
    "data-outside": Case("MatMul", "{path}: its data: '../w.bin' leads out of the folder of the weights: tensor 'c0'; "
                         "weight files have relative names without '..', and --weights=DIR names their folder",
                         constants=((4, 4),), change=stored_in(location="../w.bin")),
    "data-short": Case("MatMul", "{path}: '{folder}/short.bin' is too short: it has 12 bytes, 64 are needed at byte 0: tensor "
                       "'c0'", constants=((4, 4),), change=stored_in(location="short.bin", length="64")),
    "data-cut": Case("MatMul", "{path}: 8 bytes are stored, its shape 4x4 of float needs 64: tensor 'c0'",
                     constants=((4, 4),), change=cut),
    "sparse": Case("MatMul", "{path}: sparse initializers are not supported: tensor 'w'; store them dense",
                   inputs=("x", "w"), change=sparse),
    "cycle": Case("Add", "{path}: the graph has a cycle of 1 node\nnote: node 'n' (Add) uses a value of 'n'",
                  inputs=("x", "y")),
}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "short.bin").write_bytes(12 * b"0")
    path, wrong = folder / "model.onnx", 0
    for name, case in CASES.items():
        path.write_bytes(case.model().SerializeToString())
        result = subprocess.run(["wsec", path, "-o", folder / "m.wafer", "--mesh=4x4"], capture_output=True,
                                text=True, check=False, timeout=60)
        expected = "error: " + case.says.replace("{path}", str(path)).replace("{folder}", str(folder)) + "\n"
        if (result.returncode, result.stderr) != (1, expected):
            wrong += 1
            print(f"{name}: expected exit code 1 and\n{expected}got {result.returncode} and\n{result.stderr}")
    print(f"{len(CASES)} models, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
