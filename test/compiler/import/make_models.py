#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the small ONNX models of these tests: make_models.py NAME FILE.onnx.

Every function below is a model, named as the test that uses it asks for it. Most are sound; others break one rule of the importer.
"""

import os
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def value(name, shape, type=FLOAT):
    return helper.make_tensor_value_info(name, type, shape)


def model(nodes, inputs, outputs, initializers=(), opset=17, opsets=(), **rest):
    graph = helper.make_graph(nodes, "test", inputs, outputs, initializers)
    imports = [helper.make_opsetid("", opset), *opsets]
    return helper.make_model(graph, opset_imports=imports, ir_version=9, **rest)


def save(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def weights(rows, columns):
    return np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)


def add(x_shape=("batch", 4), **rest):
    node = helper.make_node("Add", ["x", "b"], ["y"], name="sum")
    return model([node], [value("x", x_shape)], [value("y", x_shape)],
                 [save("b", np.float32([1, 2, 3, 4]))], **rest)


def two_inputs():
    node = helper.make_node("Add", ["ids", "mask"], ["y"])
    shape = ("batch", "sequence")
    return model([node], [value("ids", shape), value("mask", shape)], [value("y", shape)])


def open_dimensions():
    node = helper.make_node("Sum", ["ids", "past", "x"], ["y"])
    any_rank = helper.make_tensor_value_info("x", FLOAT, None)
    return model([node], [value("ids", ("batch", "past + 1")), value("past", (2, None)), any_rank],
                 [value("y", None)])


def open_axes():
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"])
    return model([node], [value("x", (2, 4)), value("axes", ("count",), TensorProto.INT64)],
                 [value("y", None)])


def large_weight():
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="/fc1/MatMul")
    return model([node], [value("x", (8, 256))], [value("y", (8, 128))],
                 [save("fc1.weight", weights(256, 128)), save("w", weights(256, 128))])


def packed_weight():
    result = large_weight()
    tensor = result.graph.initializer[1]
    tensor.ClearField("raw_data")
    tensor.float_data.extend(weights(256, 128).flatten().tolist())
    return result


def trained(**rename):
    """Two scales that are equal, a table that is used twice, and a scalar."""
    scale = rename.get("scale", "ln_1.weight")
    nodes = [helper.make_node("Gather", ["wte", "ids"], ["e"], name="e"),
             helper.make_node("Mul", ["e", scale], ["a"], name="a"),
             helper.make_node("Mul", ["a", "ln_2.weight"], ["b"], name="b"),
             helper.make_node("Mul", ["b", "half"], ["h"], name="h"),
             helper.make_node("Transpose", ["wte"], ["t"], name="t"),
             helper.make_node("MatMul", ["h", "t"], ["y"], name="y")]
    ones = np.ones(4, np.float32)
    return model(nodes, [value("ids", (3,), TensorProto.INT64)], [value("y", (3, 6))],
                 [save("wte", weights(6, 4)), save(scale, ones), save("ln_2.weight", ones),
                  save("half", np.float32(0.5))])


def trained_names():
    """A parameter is called as the entry, one as that might be called then, another is an output itself."""
    result = trained(scale="main")
    result.graph.initializer.append(save("table", weights(6, 4)))
    result.graph.initializer.append(save("main_1", weights(6, 4)))
    result.graph.node.append(helper.make_node("Identity", ["main_1"], ["other"]))
    result.graph.output.append(value("other", (6, 4)))
    result.graph.output.append(value("table", (6, 4)))
    return result


def numbered():
    """Weight|module: one of a module alone; of two; two of one; of one that has such a weight; with a name of its own; of none."""
    products = "val_0|a val_1|b val_1|c val_2|d val_3|d val_4|e e.weight|e own|f val_5| val_6|g.*".split()
    nodes = [helper.make_node("MatMul", ["x", its.partition("|")[0]], [its]) for its in products]
    for node in nodes:
        node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=str(["", node.output[0].partition("|")[2], "linear"]))
    return model(nodes, [value("x", (4,))], [value("own|f", (4,))], [save(its, weights(4, 4)) for its in sorted({n.input[1] for n in nodes})])


def element_types():
    names = ["f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8", "bool", "u64", "u16", "f8", "i4", "u2"]
    tensors = [
        save("f32", np.float32([1, 2])), save("f16", np.float16([1, 2])),
        helper.make_tensor("bf16", TensorProto.BFLOAT16, [2], [1.0, 2.0]),
        save("f64", np.float64([1, 2])),
        save("i64", np.int64([-1, 2])), save("i32", np.int32([-1, 2])),
        save("i8", np.int8([-1, 2])), save("u8", np.uint8([255, 2])),
        save("bool", np.bool_([True, False])),
        save("u64", np.uint64([2**64 - 1, 2])), save("u16", np.uint16([65535, 2])),
        save("f8", np.array([448, -2], ml_dtypes.float8_e4m3fn)),
        save("i4", np.array([-8, 7, -1], ml_dtypes.int4)),  # an odd one is half a byte
        save("u2", np.array([3, 0, 1, 2, 3], ml_dtypes.uint2)),
    ]
    nodes = [helper.make_node("Cast", [name], ["y_" + name], to=FLOAT) for name in names]
    return model(nodes, [], [value("y_" + t.name, t.dims) for t in tensors], tensors)


def typed_data():
    """The same types in their typed lists instead of raw bytes."""
    tensors = [
        helper.make_tensor("f32", FLOAT, [2], [1.5, 2.5]),
        helper.make_tensor("f16", TensorProto.FLOAT16, [2], [1.5, 2.5]),
        helper.make_tensor("f64", TensorProto.DOUBLE, [2], [1.5, 2.5]),
        helper.make_tensor("i64", TensorProto.INT64, [2], [-1, 2]),
        helper.make_tensor("i32", TensorProto.INT32, [2], [-1, 2]),
        helper.make_tensor("u8", TensorProto.UINT8, [2], [255, 2]),
        helper.make_tensor("bool", TensorProto.BOOL, [2], [True, False]),
        helper.make_tensor("i4", TensorProto.INT4, [3], [-8, 7, -1]),
    ]
    nodes = [helper.make_node("Cast", [t.name], ["y_" + t.name], to=FLOAT) for t in tensors]
    return model(nodes, [], [value("y_" + t.name, t.dims) for t in tensors], tensors)


def constants():
    nodes = [
        helper.make_node("Constant", [], ["a"], name="a", value=save("", np.float32([[1, 2]]))),
        helper.make_node("Constant", [], ["b"], name="b", value_float=1.5),
        helper.make_node("Constant", [], ["c"], name="c", value_floats=[1.0, 2.0]),
        helper.make_node("Constant", [], ["d"], name="d", value_int=-7),
        helper.make_node("Constant", [], ["e"], name="e", value_ints=[1, -1]),
        helper.make_node("Reshape", ["a", "e"], ["y"], name="reshape"),
        helper.make_node("Sum", ["b", "c"], ["z"], name="sum"),
        helper.make_node("Neg", ["d"], ["n"], name="neg"),
    ]
    return model(nodes, [], [value(n, None) for n in "yzn"])


def attributes():
    node = helper.make_node(
        "Resize", ["x", "", "scales"], ["y"], name="resize", mode="nearest", antialias=0,
        cubic_coeff_a=-0.75, axes=[0, 1])
    other = helper.make_node("ConstantOfShape", ["shape"], ["z"],
                             value=save("", np.float32([3])))
    gelu = helper.make_node("FastGelu", ["y"], ["g"], domain="com.microsoft")
    return model([node, other, gelu], [value("x", (2, 2))], [value("g", None), value("z", None)],
                 [save("scales", np.float32([2, 2])), save("shape", np.int64([2]))],
                 opsets=[helper.make_opsetid("com.microsoft", 1)])


def default_input():
    node = helper.make_node("Add", ["x", "b"], ["y"])
    return model([node], [value("x", (4,)), value("b", (4,))], [value("y", (4,))],
                 [save("b", np.float32([1, 2, 3, 4]))])


def names():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"], name="act"),
        helper.make_node("Relu", ["b"], ["y"], name="act"),
    ]
    return model(nodes, [value("x", (4,))], [value("y", (4,))])


def unsorted():
    nodes = [
        helper.make_node("Relu", ["b"], ["y"], name="third"),
        helper.make_node("Neg", ["a"], ["b"], name="second"),
        helper.make_node("Abs", ["x"], ["a"], name="first"),
    ]
    return model(nodes, [value("x", (4,))], [value("y", (4,))])


def cycle():
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="forth"),
        helper.make_node("Neg", ["a"], ["b"], name="back"),
        helper.make_node("Relu", ["b"], ["y"], name="after"),
    ]
    return model(nodes, [value("x", (4,))], [value("y", (4,))])


def undefined():
    node = helper.make_node("Add", ["x", "ghost"], ["y"], name="sum")
    return model([node], [value("x", (4,))], [value("y", (4,)), value("spirit", (4,))])


def no_operator():
    nodes = [helper.make_node("", ["x"], ["y"], name="blank"),
             helper.make_node("Relu", ["x"], [], name="sink")]
    return model(nodes, [value("x", (4,))], [value("y", (4,))])


def uncountable():
    node = helper.make_node("Relu", ["x"], ["y"])
    return model([node], [value("x", (2**62, 4))], [value("y", None)])


def defined_twice():
    nodes = [helper.make_node("Relu", ["x"], ["y"], name=n) for n in ("one", "two")]
    return model(nodes, [value("x", (4,))], [value("y", (4,))])


def no_nodes():
    return model([], [value("x", (4,))], [value("x", (4,))])


def only_constants():
    weights = numpy_helper.from_array(np.arange(4, dtype=np.float32).reshape(2, 2), "w")
    return model([], [], [value("w", (2, 2))], [weights])


def no_outputs():
    return model([helper.make_node("Relu", ["x"], ["y"])], [value("x", (4,))], [])


def nameless_output():
    return model([helper.make_node("Relu", ["x"], ["y"])], [value("x", (4,))],
                 [value("y", (4,)), value("", (4,))])


def opset_6():
    return add(opset=6)


def opset_1():
    """An operator that opset 7 has as it was."""
    return model([helper.make_node("Not", ["x"], ["y"])], [helper.make_tensor_value_info("x", TensorProto.BOOL, [2])],
                 [helper.make_tensor_value_info("y", TensorProto.BOOL, [2])], opset=1)


def opset_99():
    return add(opset=99)


def no_opset():
    result = add()
    result.opset_import[0].domain = "com.microsoft"
    return result


def domain():
    node = helper.make_node("Scaler", ["x"], ["y"], name="scale", domain="ai.onnx.ml")
    return model([node], [value("x", (4,))], [value("y", (4,))],
                 opsets=[helper.make_opsetid("ai.onnx.ml", 3)])


def subgraph():
    body = helper.make_graph([helper.make_node("Relu", ["x"], ["t"])], "body",
                             [value("i", (), TensorProto.INT64), value("c", (), TensorProto.BOOL)],
                             [value("c", (), TensorProto.BOOL), value("t", (4,))])
    node = helper.make_node("Loop", ["n", "c"], ["y"], name="again", body=body)
    return model([node], [value("x", (4,)), value("n", (), TensorProto.INT64),
                          value("c", (), TensorProto.BOOL)], [value("y", (4,))])


def again(name="again"):
    """A Loop of two trips that adds `w`."""
    body = helper.make_graph([helper.make_node("Add", ["h", "w"], ["t"])], "body",
                             [value("i", (), TensorProto.INT64), value("c", (), TensorProto.BOOL), value("h", (4,))],
                             [value("c", (), TensorProto.BOOL), value("t", (4,))])
    return helper.make_node("Loop", ["n", "", "x"], ["y"], name=name, body=body)


def loop_model(node):
    return model([node], [value("x", (4,))], [value("y", None)],
                 [save("n", np.int64(2)), save("w", np.float32([1, 2, 3, 4]))])


def body_default():
    node = again()
    node.attribute[0].g.initializer.append(save("h", np.float32([1, 2, 3, 4])))
    return loop_model(node)


def body_missing():
    node = again()
    del node.attribute[0]
    return loop_model(node)


def body_attribute():
    node = again()
    node.attribute.append(helper.make_attribute("captured", 7))
    return loop_model(node)


def loop_of_function():
    twice = helper.make_function(
        "local", "twice", ["x", "n", "v"], ["y"], [helper.make_node("Neg", ["v"], ["w"]), again()],
        [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])
    return model([helper.make_node("twice", ["x", "n", "v"], ["y"], name="use", domain="local")],
                 [value("x", (4,)), value("v", (4,))], [value("y", None)], [save("n", np.int64(2))],
                 functions=[twice], opsets=[helper.make_opsetid("local", 1)])


def other_subgraph():
    body = helper.make_graph([RELU], "body", [value("x", (4,))], [value("t", (4,))])
    return model([helper.make_node("SequenceMap", ["x"], ["y"], name="map", body=body)], [value("x", (4,))],
                 [value("y", None)])


def branch(nodes, outputs, initializers=()):
    return helper.make_graph(nodes, "branch", [], [value(name, None) for name in outputs], initializers)


def choice(then, otherwise, name="choice", condition="c", outputs=("y",)):
    return helper.make_node("If", [condition], outputs, name=name, then_branch=then, else_branch=otherwise)


def choosing(*nodes, initializers=()):
    return model(nodes, [value("x", (4,)), value("c", ("one",), TensorProto.BOOL)], [value("y", None)],
                 initializers)


def nested_branches():
    """Both branches name nodes and values alike; the inner one uses values of all graphs around it, and a
    weight of its own that stays in the file. The nodes are not in order."""
    inner = branch([helper.make_node("Gemm", ["t", "w"], ["g"], name="weigh"),
                    helper.make_node("Add", ["g", "outer"], ["s"])], ["s"],
                   [save("w", np.ones((256, 256), np.float32))])
    then = branch([choice(inner, branch([helper.make_node("Neg", ["t"], ["s"])], ["s"]), "inner", "c", ["r"]),
                   helper.make_node("Relu", ["x"], ["t"], name="same")], ["r"])
    otherwise = branch([helper.make_node("Sub", ["x", "outer"], ["t"], name="same")], ["t"])
    return model([choice(then, otherwise), helper.make_node("Abs", ["x"], ["outer"], name="outer")],
                 [value("x", (2, 256)), value("c", ("one",), TensorProto.BOOL)], [value("y", None)])


def branch_of_function():
    """A function decides; its branch calls another and uses values of the function."""
    local = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    twice = helper.make_function("local", "twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], local)
    then = branch([helper.make_node("twice", ["h"], ["b"], name="call", domain="local")], ["b"])
    otherwise = branch([], ["one"], [save("one", np.float32([1, 1, 1, 1]))])
    decide = helper.make_function(
        "local", "decide", ["a", "c"], ["b"],
        [helper.make_node("Neg", ["a"], ["h"], name="neg"), choice(then, otherwise, outputs=["b"])], local)
    nodes = [helper.make_node("decide", ["x", "c"], ["y"], name="use", domain="local")]
    return model(nodes, [value("x", (4,)), value("c", (), TensorProto.BOOL)], [value("y", None)],
                 functions=[twice, decide], opsets=[helper.make_opsetid("local", 1)])


RELU = helper.make_node("Relu", ["x"], ["t"], name="relu")


def branch_undefined():
    neg = helper.make_node("Neg", ["nothing"], ["t"], name="neg")
    return choosing(choice(branch([RELU], ["t"]), branch([neg], ["t"])))


def branch_cycle():
    neg = helper.make_node("Neg", ["y"], ["t"], name="neg")
    return choosing(choice(branch([RELU], ["t"]), branch([neg], ["t"])))


def branch_results():
    return choosing(choice(branch([RELU], ["t", "t"]), branch([RELU], ["t"])))


def branch_inputs():
    then = branch([RELU], ["t"])
    then.input.append(value("i", (4,)))
    return choosing(choice(then, branch([RELU], ["t"])))


def branch_missing():
    node = choice(branch([RELU], ["t"]), branch([RELU], ["t"]))
    del node.attribute[1]
    return choosing(node)


def sequence_input():
    x = helper.make_tensor_sequence_value_info("x", FLOAT, None)
    node = helper.make_node("SequenceLength", ["x"], ["y"])
    return model([node], [x, value("s", (2,), TensorProto.STRING)], [value("y", None)])


def unsupported_types():
    tensors = [helper.make_tensor("text", TensorProto.STRING, [1], [b"hi"]),
               save("c64", np.complex64([1]))]
    unknown = save("future", np.float32([1]))
    unknown.data_type = 77
    tensors.append(unknown)
    nodes = [helper.make_node("Identity", [t.name], ["y_" + t.name]) for t in tensors]
    return model(nodes, [], [value("y_" + t.name, None) for t in tensors], tensors)


def floats_for_integers():
    """Few, and so many that they would stay in the file."""
    tensors = [TensorProto(name=f"i{n}", data_type=TensorProto.INT64, dims=[n],
                           float_data=range(2 * n)) for n in (2, 1024)]
    nodes = [helper.make_node("Cast", [t.name], ["y_" + t.name], to=FLOAT) for t in tensors]
    return model(nodes, [], [value("y_" + t.name, None) for t in tensors], tensors)


def two_pieces():
    """A weight whose floats come in two fields: protobuf joins them."""
    result = packed_weight()
    tensor = result.graph.initializer.pop(1)
    half = 128 * 128
    pieces = TensorProto(float_data=tensor.float_data[half:]).SerializeToString()
    del tensor.float_data[half:]
    return result.SerializeToString() + field(7, field(5, tensor.SerializeToString() + pieces))


def field(number, content, size=None):
    """A field of protobuf that holds bytes; `size` if more of them follow."""
    def varint(n):
        return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])
    return varint(number << 3 | 2) + varint(len(content) if size is None else size) + content


def damaged_node():
    return add().SerializeToString() + field(7, field(1, b"\x0f\x00"))


def damaged_input():
    return add().SerializeToString() + field(7, field(11, b"\x0f\x00"))


def giant():
    """A weight of 3 GiB, and so a graph and a model of more."""
    size = 3 << 30
    result = large_weight()
    del result.graph.initializer[:]
    shape = TensorProto(name="w", data_type=FLOAT, dims=[1024, size // 4096])
    tensor = shape.SerializeToString() + field(9, b"", size)
    graph = result.graph.SerializeToString()
    graph += field(5, tensor, len(tensor) + size)
    result.ClearField("graph")
    return result.SerializeToString() + field(7, graph, len(graph) + size), size


def nested_subgraphs():
    """Deeper than Python's protobuf can write."""
    def attribute(name, graph):
        kind = onnx.AttributeProto(name=name, type=onnx.AttributeProto.GRAPH)
        return field(5, kind.SerializeToString() + field(6, graph))
    result = onnx.GraphProto(output=[value("y", None)]).SerializeToString()
    relu = helper.make_node("Relu", ["x"], ["y"]).SerializeToString()
    choice = helper.make_node("If", ["c"], ["y"], name="choice").SerializeToString()
    node = relu
    for _ in range(500):
        node = choice + attribute("then_branch", result + field(1, node)) + attribute(
            "else_branch", result + field(1, relu))
    result = model([], [value("x", (4,)), value("c", (), TensorProto.BOOL)], [value("y", None)])
    return result.SerializeToString() + field(7, field(1, node))


def short_data():
    result = add()
    result.graph.initializer[0].raw_data = b"\0" * 12
    return result


def functions(recursive=False, opset=17):
    """scale(x) {factor = 2} = x * factor, and twice(x) = scale(scale(x))."""
    local = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    constant = helper.make_node("Constant", [], ["f"])
    constant.attribute.append(onnx.AttributeProto(
        name="value_float", type=onnx.AttributeProto.FLOAT, ref_attr_name="factor"))
    scale = helper.make_function(
        "local", "scale", ["x"], ["y"],
        [constant, helper.make_node("Mul", ["x", "f"], ["y"], name="mul")], local,
        attribute_protos=[helper.make_attribute("factor", 2.0)])
    inner = "twice" if recursive else "scale"
    twice = helper.make_function(
        "local", "twice", ["x"], ["y"],
        [helper.make_node(inner, ["x"], ["h"], name="a", domain="local"),
         helper.make_node("scale", ["h"], ["y"], name="b", domain="local", factor=5.0)], local)
    call = helper.make_node("twice", ["x"], ["y"], name="call", domain="local")
    return model([call], [value("x", (4,))], [value("y", (4,))],
                 opsets=[helper.make_opsetid("local", 1)], functions=[scale, twice])


def recursion():
    return functions(recursive=True)


def doubling(levels):
    """f0(x) = Relu(x), and each next one calls the one before twice."""
    local = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    relu = helper.make_node("Relu", ["x"], ["y"])
    result = [helper.make_function("local", "f0", ["x"], ["y"], [relu], local)]
    for level in range(1, levels + 1):
        calls = [helper.make_node(f"f{level - 1}", [x], [y], name=y, domain="local")
                 for x, y in (("x", "h"), ("h", "y"))]
        result.append(helper.make_function("local", f"f{level}", ["x"], ["y"], calls, local))
    call = helper.make_node(f"f{levels}", ["x"], ["y"], name="call", domain="local")
    return model([call], [value("x", (4,))], [value("y", (4,))],
                 opsets=[helper.make_opsetid("local", 1)], functions=result)


def unfolding():
    return doubling(40)


def nesting():
    return doubling(100)


def inlined_name():
    result = doubling(1)
    result.graph.node.append(helper.make_node("Neg", ["x"], ["z"], name="call/h/Relu_0"))
    result.graph.output.append(value("z", (4,)))
    return result


def function_opset():
    return functions(opset=13)


def function_inputs():
    result = functions()
    result.graph.node[0].input.append("x")
    return result


def external(location="weights.bin", offset=0, length=None):
    result = large_weight()
    for index, tensor in enumerate(result.graph.initializer):
        size = len(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        entries = {"location": location, "offset": str(offset + index * size),
                   "length": str(length or size)}
        for key, text in entries.items():
            entry = tensor.external_data.add()
            entry.key, entry.value = key, text
    return result


def external_climbs():
    return external("../weights.bin")


def external_absolute():
    return external("/etc/passwd")


def external_missing():
    return external("missing.bin")


def external_link():
    return external("link.bin")


def external_short():
    return external(offset=262144)


def external_length():
    return external(length=4)


def main():
    name, path = sys.argv[1:]
    result = globals()[name]()
    # Some are bytes already, and bytes that a hole in the file follows.
    data, hole = result if isinstance(result, tuple) else (result, 0)
    if not isinstance(data, bytes):
        data = data.SerializeToString()
    with open(path, "wb") as file:
        file.write(data)
        file.truncate(len(data) + hole)
    if name.startswith("external"):
        # Beside the model: its data, and a link to a file elsewhere.
        folder = os.path.dirname(path) or "."
        data = weights(256, 128).tobytes()
        with open(os.path.join(folder, "weights.bin"), "wb") as file:
            file.write(data + data)
        link = os.path.join(folder, "link.bin")
        if not os.path.islink(link):
            os.symlink(os.path.abspath(__file__), link)


if __name__ == "__main__":
    main()
