# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many nodes of a kind in one model: equations of Einsum, windows of pools and convolutions, products of
integers, images that grow or shrink, Fourier transforms, largest elements, attributes that are operands today.

Usage: operator_models.py WORK NAME --mesh WxH, NAME one of MODELS. All engines run the model; results are
held against onnxruntime, or numpy where it lacks a case: integers exactly, floats to 1e-5 of the largest
element. A line an engine.
"""

import argparse
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper as h

ENGINES = ["burst", "strips", "wavelet"]
TOLERANCE = 1e-5
RESULTS = {"MatMulInteger": T.INT32, "QLinearMatMul": T.UINT8, "ArgMax": T.INT64, "ArgMin": T.INT64, "Identity": T.INT64}

EXTENTS = dict(zip("abcdhijklv", (3, 2, 3, 4, 3, 5, 6, 4, 2, 7)))
# Products, attention's two, outer products, diagonals, sums, ellipses that broadcast, chains of three and four.
EQUATIONS = """ij,jk->ik bij,bjk->bik bhid,bhjd->bhij bhij,bhjd->bhid i,j->ij ij->ji ii->i ii iij->ij iji->j bii->b
bid,hd->bhid ij,ij-> ij,ij->i ij,jk,kl->il ij,jk,kl,lc->ic bid,bjd,bd->bij ...ij,...jk->...ik ...i->i...
b...i,b...i->b... i,i->i ij,k->kij bcij,ck->bkij ij,jk ba,ca bijc,bkjc->bikj bijk->bk ij,->ij iiji->ij""".split()


def einsum():
    """Each equation on computed operands, and with a constant last one."""
    random = np.random.default_rng(0)
    nodes, inputs, constants = [], {}, {}
    for index, equation in enumerate(EQUATIONS):
        terms = equation.split("->")[0].split(",")
        for is_constant in (False, True) if len(terms) > 1 else (False,):
            names = []
            for number, term in enumerate(terms):
                # The ellipsis of the first operand has one dimension more.
                dots = [2, 3] if number == 0 else [3]
                before, _, behind = term.partition("...")
                shape = [EXTENTS[label] for label in before]
                shape += (dots if "..." in term else []) + [EXTENTS[label] for label in behind]
                names.append(f"x{index}_{number}_{is_constant}")
                last = is_constant and number == len(terms) - 1
                (constants if last else inputs)[names[-1]] = random.standard_normal(shape).astype("f4")
            nodes.append(h.make_node("Einsum", names, [f"y{len(nodes)}"], equation=equation))
    return nodes, inputs, constants


def pools():
    """Patches, overlaps, gaps, pads, last windows that begin on the image and reach beyond the pads."""
    x = np.random.default_rng(1).standard_normal((2, 3, 9, 8)).astype("f4")
    nodes = []
    for operator in ("AveragePool", "MaxPool", "LpPool"):
        for kernel_shape, strides, more in [
                ((3, 2), (3, 2), {}), ((2, 2), (2, 2), {}), ((3, 3), (2, 2), {"pads": [1, 1, 1, 1]}),
                ((3, 3), (2, 3), {"pads": [1, 0, 1, 1], "ceil_mode": 1}),
                ((3, 3), (2, 2), {"pads": [1, 1, 0, 0], "ceil_mode": 1}), ((2, 2), (1, 1), {"dilations": [2, 2]}),
                ((3, 3), (2, 2), {"auto_pad": "SAME_UPPER"}), ((3, 2), (2, 2), {"auto_pad": "SAME_LOWER"}),
                ((4, 4), (4, 4), {"pads": [1, 1, 1, 1], "ceil_mode": 1}), ((9, 8), (1, 1), {})]:
            if operator == "LpPool" and "ceil_mode" in more:
                continue  # onnxruntime's has none
            for counts in {"AveragePool": [{"count_include_pad": 0}, {"count_include_pad": 1}],
                           "LpPool": [{"p": 1}, {}, {"p": 3}]}.get(operator, [{}]):
                nodes.append(h.make_node(operator, ["x"], [f"y{len(nodes)}"], kernel_shape=kernel_shape,
                                         strides=strides, **more, **counts))
    return nodes, {"x": x}, {}


def integers():
    """More terms than one sum in f32 holds; zero points and scales of matrices, rows and columns."""
    random = np.random.default_rng(2)
    inputs = {"a": random.integers(0, 256, (5, 600), "u1"), "b": random.integers(-128, 128, (600, 7), "i1"),
              "c": random.integers(0, 256, (2, 5, 40), "u1"), "d": random.integers(0, 256, (2, 40, 3), "u1")}
    constants = {"one": np.uint8(120), "rows": random.integers(0, 256, 5, "u1"),
                 "columns": random.integers(-128, 128, 7, "i1"), "scale": np.float32(0.02),
                 "scales": random.uniform(0.01, 0.03, 7).astype("f4"), "wide": np.float32(9), "zero": np.uint8(128)}
    nodes = [h.make_node("MatMulInteger", ["a", "b"], ["y0"]),
             h.make_node("MatMulInteger", ["a", "b", "one", "columns"], ["y1"]),
             h.make_node("MatMulInteger", ["c", "d", "one", "zero"], ["y2"]),
             h.make_node("QLinearMatMul", ["a", "scale", "one", "b", "scales", "columns", "wide", "zero"], ["y3"]),
             h.make_node("QLinearMatMul", ["c", "scale", "one", "d", "scale", "zero", "scale", "one"], ["y4"])]
    return nodes, inputs, constants


def convolutions():
    """Groups, filters of one channel each, with constant and computed weights."""
    random = np.random.default_rng(3)
    inputs = {"x": random.standard_normal((2, 20, 6, 5)).astype("f4"),
              "computed": random.standard_normal((20, 1, 2, 2)).astype("f4")}
    constants = {"each": random.standard_normal((20, 1, 3, 3)).astype("f4"),
                 "bias": random.standard_normal(20).astype("f4"),
                 "groups": random.standard_normal((8, 5, 3, 2)).astype("f4"),
                 "twice": random.standard_normal((40, 10, 1, 1)).astype("f4")}
    nodes = []
    for weight, group, more in [
            ("each", 20, {"pads": [1, 1, 1, 1]}), ("each", 20, {"strides": [2, 1], "pads": [0, 1, 2, 1]}),
            ("each", 20, {"auto_pad": "SAME_UPPER"}),
            ("each", 20, {"dilations": [1, 2]}), ("groups", 4, {}), ("twice", 2, {}),
            ("computed", 20, {"strides": [2, 2]})]:
        bias = ["bias"] if weight in ("each", "computed") else []
        nodes.append(h.make_node("Conv", ["x", weight, *bias], [f"y{len(nodes)}"], group=group, **more))
    return nodes, inputs, constants


def spreads():
    """Convolutions from results to images: strides, gaps, pads that cut and that fill, groups, stated extents."""
    random = np.random.default_rng(10)
    inputs = {"x": random.standard_normal((2, 4, 5, 3)).astype("f4"),
              "computed": random.standard_normal((4, 3, 2, 3)).astype("f4")}
    constants = {"w": random.standard_normal((4, 3, 3, 2)).astype("f4"), "b": random.standard_normal(3).astype("f4"),
                 "point": random.standard_normal((4, 2, 1, 1)).astype("f4"),
                 "halves": random.standard_normal((4, 3, 2, 2)).astype("f4"), "b6": random.standard_normal(6).astype("f4")}
    nodes = []
    for operands, attributes in [
            (["w"], {}), (["w", "b"], {"strides": [2, 3], "pads": [1, 0, 0, 1], "output_padding": [1, 2]}),
            (["computed", "b"], {"strides": [2, 1], "dilations": [2, 2]}), (["w"], {"pads": [2, 1, 2, 1]}),
            (["w"], {"strides": [2, 2], "auto_pad": "SAME_UPPER"}), (["w"], {"strides": [3, 2], "auto_pad": "SAME_LOWER"}),
            (["w"], {"strides": [3, 2], "output_shape": [13, 7]}), (["halves", "b6"], {"group": 2, "strides": [2, 2]}),
            (["point"], {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]})]:
        nodes.append(h.make_node("ConvTranspose", ["x", *operands], [f"y{len(nodes)}"], **attributes))
    inputs["columns"] = random.standard_normal((2, 12, 12)).astype("f4")
    constants |= {"image": np.array([5, 5]), "block": np.array([2, 3])}
    nodes.append(h.make_node("Col2Im", ["columns", "image", "block"], ["image0"]))
    constants["small"] = np.array([6, 5])
    nodes.append(h.make_node("Col2Im", ["columns", "small", "block"], ["image1"], pads=[1, 2, 0, 1], strides=[2, 1],
                             dilations=[2, 2]))
    return nodes, inputs, constants


def grids():
    """Images read at places, on them, at their borders, and beyond; channels around a channel; sequences backwards."""
    random = np.random.default_rng(11)
    inputs = {"x": random.standard_normal((2, 3, 5, 4)).astype("f4"),
              "places": random.uniform(-1.6, 1.6, (2, 4, 6, 2)).astype("f4"),
              "sequences": random.standard_normal((4, 3, 6)).astype("f4")}
    constants = {"three": np.array([3, 2, 4]), "four": np.array([1, 0, 3, 2]), "extents": np.array([6, 3])}
    # A PE has the code of so many.
    nodes = [h.make_node("GridSample", ["x", "places"], [f"{mode}{padding}{corners}"], mode=mode, padding_mode=padding,
                         align_corners=corners)
             for mode, padding, corners in [("bilinear", "zeros", 0), ("bilinear", "border", 1),
                                            ("nearest", "reflection", 0)]]
    nodes += [h.make_node("LRN", ["x"], ["lrn5"], size=5, alpha=0.5, beta=0.75, bias=1.5),
              h.make_node("LRN", ["x"], ["lrn3"], size=3), h.make_node("LRN", ["x"], ["lrn7"], size=7, beta=0.5),
              h.make_node("ReverseSequence", ["sequences", "three"], ["backwards"]),
              h.make_node("ReverseSequence", ["sequences", "four"], ["batches"], batch_axis=0, time_axis=1),
              h.make_node("CenterCropPad", ["x", "extents"], ["centre"], axes=[-2, 1])]
    return nodes, inputs, constants


def older():
    """What opset 9 states as attributes."""
    x = np.random.default_rng(4).standard_normal((2, 5, 7)).astype("f4")
    nodes = []
    for operator, attributes in [
            ("Slice", {"starts": [1, -3], "ends": [4, 1000], "axes": [1, 2]}),
            ("Slice", {"starts": [0, 1], "ends": [1, 3]}), ("Pad", {"pads": [0, 1, 2, 0, 2, 1], "value": 1.5}),
            ("Pad", {"pads": [0, 1, 2, 0, 2, 1], "mode": "edge"}), ("Clip", {"min": -0.3, "max": 0.4}),
            ("Clip", {"min": 0.0}), ("Clip", {}), ("TopK", {"k": 3})]:
        more = [f"places{len(nodes)}"] if operator == "TopK" else []
        nodes.append(h.make_node(operator, ["x"], [f"y{len(nodes)}", *more], **attributes))
    return nodes, {"x": x}, {}


def resizes():
    """Images that grow and shrink, in all modes."""
    x = np.random.default_rng(5).standard_normal((1, 3, 5, 4)).astype("f4")
    nodes, constants = [], {"roi": np.array([0, 0, 0.1, 0.3, 1, 1, 0.8, 1.2], "f4")}
    modes = [({"mode": "linear", "coordinate_transformation_mode": how}, size)
             for how in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")
             for size in ([1, 3, 7, 3], [1.0, 1.0, 2.0, 0.5])]
    modes += [({"nearest_mode": how, "coordinate_transformation_mode": "asymmetric"}, [1.0, 1.0, 1.5, 0.7])
              for how in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")]
    modes += [({"mode": "cubic"}, [1, 3, 8, 2]), ({"mode": "cubic", "exclude_outside": 1}, [1, 3, 8, 2]),
              ({"mode": "linear", "antialias": 1}, [1, 3, 2, 3]), ({"mode": "cubic", "antialias": 1}, [1, 3, 2, 3]),
              ({"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize",
                "extrapolation_value": 9.0}, [1, 3, 4, 6])]
    for attributes, size in modes:
        is_scale = isinstance(size[0], float)
        constants[f"size{len(nodes)}"] = np.array(size, "f4" if is_scale else "i8")
        sizes = [f"size{len(nodes)}"] if is_scale else ["", f"size{len(nodes)}"]
        nodes.append(h.make_node("Resize", ["x", "roi", *sizes], [f"y{len(nodes)}"], **attributes))
    return nodes, {"x": x}, constants


def spectra():
    """Discrete Fourier transforms: of real and complex numbers, along all axes, cut off and filled up, and back."""
    random = np.random.default_rng(6)
    inputs = {"real": random.standard_normal((2, 6, 5, 1)).astype("f4"),
              "complex": random.standard_normal((2, 6, 5, 2)).astype("f4")}
    constants = {f"n{number}": np.array(number, "i8") for number in (0, 1, 2, 4, 5, 6, 7, 8, -3)}
    nodes = []
    for x, length, axis, attributes in [
            ("real", "", "", {}), ("real", "", "n1", {}), ("real", "", "n0", {}), ("complex", "", "n-3", {}),
            ("complex", "", "", {"inverse": 1}), ("complex", "n4", "n1", {}), ("complex", "n8", "n1", {"inverse": 1}),
            ("real", "", "n1", {"onesided": 1}), ("real", "n7", "n2", {"onesided": 1}), ("real", "n4", "", {"onesided": 1}),
            ("complex", "", "n1", {"inverse": 1, "onesided": 1}), ("complex", "n7", "n2", {"inverse": 1, "onesided": 1}),
            ("complex", "n4", "n1", {"inverse": 1, "onesided": 1})]:
        operands = [x, length, axis]
        while not operands[-1]:
            operands.pop()
        nodes.append(h.make_node("DFT", operands, [f"y{len(nodes)}"], **attributes))
    return nodes, inputs, constants


def spectrum(node, values):
    """numpy's transform."""
    operands = [values.get(name) for name in node.input] + [None, None]
    x, length, axis = operands[0].astype("f8"), operands[1], -2 if operands[2] is None else int(operands[2])
    axis = axis % x.ndim
    flags = {attribute.name for attribute in node.attribute}
    numbers = x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    if flags == {"inverse", "onesided"}:
        return np.fft.irfft(numbers, length, axis)[..., None].astype("f4")
    function = np.fft.ifft if "inverse" in flags else np.fft.rfft if "onesided" in flags else np.fft.fft
    y = function(numbers.real if function is np.fft.rfft else numbers, length, axis)
    return np.stack([y.real, y.imag], -1).astype("f4")


def norms():
    """Scales and biases that differ between heads, as many as features or not, by several axes, computed or not."""
    random = np.random.default_rng(8)
    x = random.standard_normal((2, 3, 4, 8)).astype("f4")
    inputs, constants, nodes = {"x": x, "square": x[..., :4].copy()}, {}, []
    for operator in ("LayerNormalization", "RMSNormalization"):
        for of, shape, axis, where in [("x", (4, 8), -1, constants), ("square", (4, 1), -1, constants),
                                       ("x", (4, 8), -1, inputs), ("x", (8,), -2, constants),
                                       ("x", (4, 8), -2, constants), ("x", (1, 1, 8), -1, constants),
                                       ("x", (1,), -1, inputs)]:
            number = len(nodes)
            names = [f"s{number}", f"b{number}"][:2 if operator[0] == "L" else 1]
            where.update({name: random.standard_normal(shape).astype("f4") for name in names})
            nodes.append(h.make_node(operator, [of, *names], [f"y{number}"], axis=axis, epsilon=1e-3))
    return nodes, inputs, constants


def extremes():
    """Places of the largest and the smallest, and the best few, along all axes, of what is computed; many are equal."""
    x = np.round(np.random.default_rng(9).standard_normal((2, 7, 45)) * 4).astype("f4") / 4
    nodes, constants = [h.make_node("Mul", ["x", "x"], ["square"])], {}
    for axis in (0, 1, 2):
        nodes += [h.make_node(operator, [of], [f"{operator}{of}{axis}{last}"], axis=axis, keepdims=last, select_last_index=last)
                  for operator in ("ArgMax", "ArgMin") for of in ("x", "square") for last in (0, 1)]
        for number, (of, count, largest) in enumerate([("x", 1, 1), ("square", 2, 1), ("x", 2, 0), ("square", x.shape[axis], 1)]):
            name = f"{number}{axis}"
            constants[f"k{name}"] = np.array([count], "i8")
            nodes += [h.make_node("TopK", [of, f"k{name}"], [f"v{name}", f"i{name}"], axis=axis, largest=largest),
                      h.make_node("Identity", [f"i{name}"], [f"places{name}"])]
    return nodes, {"x": x}, constants


def vocabulary():
    """The best of more logits than SRAM has room for; many are equal."""
    random = np.random.default_rng(10)
    whole = lambda *shape: random.integers(-2, 3, shape).astype("f4")
    constants = {"head": whole(8, 6000), "other": whole(8, 5999), "k": np.array([9], "i8")}
    nodes = [h.make_node("MatMul", ["x", "other"], ["a"]), h.make_node("ArgMax", ["a"], ["best"], axis=-1),
             h.make_node("MatMul", ["x", "head"], ["b"]), h.make_node("TopK", ["b", "k"], ["values", "i"], axis=-1),
             h.make_node("Identity", ["i"], ["places"])]
    return nodes, {"x": whole(1, 5, 8)}, constants


def long_rows():
    """The best of rows that SRAM has no room for, many are equal."""
    x = np.round(np.random.default_rng(16).standard_normal((2, 30011)) * 9).astype("f4")
    constants = {"k": np.array([7], "i8")}
    nodes = [h.make_node("TopK", ["x", "k"], ["values", "i"]), h.make_node("Identity", ["i"], ["places"]), h.make_node("TopK", ["x", "k"], ["least", "j"], largest=0),
             h.make_node("Identity", ["j"], ["itsplaces"]), h.make_node("ArgMax", ["x"], ["best"], axis=-1)]
    return nodes, {"x": x}, constants


def depths():
    """Products of many deep matrices, in sums over parts of their depth: alike, unlike, of transposed and of repeated operands."""
    random = np.random.default_rng(6)
    inputs = {name: random.standard_normal(shape).astype("f4") for name, shape in {
        "a": (6, 4, 600), "b": (6, 600, 23), "c": (2, 3, 4, 601), "d": (2, 3, 601, 23), "e": (6, 600, 4),
        "f": (2, 1, 4, 600), "g": (2, 3, 600, 23)}.items()}
    nodes = [h.make_node("MatMul", ["a", "b"], ["y0"]), h.make_node("MatMul", ["c", "d"], ["y1"]),
             h.make_node("Einsum", ["e", "b"], ["y2"], equation="bki,bkj->bij"),
             h.make_node("MatMul", ["f", "g"], ["y3"]), h.make_node("Sigmoid", ["y0"], ["y4"])]
    return nodes, inputs, {}


def scatters():
    """Updates at known places: runs at the begin, in the middle, at the end and of all; boxes; places in another order, twice, of a part."""
    random = np.random.default_rng(11)
    nodes, inputs, constants = [], {"x": random.standard_normal((4, 5, 6)).astype("f4")}, {}

    def add(operator, places, shape, **more):
        index = len(nodes)
        constants[f"i{index}"] = np.array(places, "i8")
        inputs[f"u{index}"] = random.standard_normal(shape).astype("f4")
        nodes.append(h.make_node(operator, ["x", f"i{index}", f"u{index}"], [f"y{index}"], **more))

    for places in ([0], [1, 2], [-2, 3], [0, 1, 2, 3], [2, 1], [3, 0]):
        for reduction in ("none", "add", "mul", "max", "min"):
            add("ScatterND", np.reshape(places, (-1, 1)), (len(places), 5, 6), reduction=reduction)
    add("ScatterND", [[1], [1]], (2, 5, 6), reduction="add")
    add("ScatterND", [[1, 2], [1, 3]], (2, 6))
    # Boxes: the whole, the end of an axis, a part of all axes and of the first two; the last one out of turn.
    for begin, end in (((0, 0, 0), (4, 5, 6)), ((0, 0, 2), (4, 5, 6)), ((1, 2, 3), (3, 4, 5)), ((0, 1), (4, 3))):
        box = np.moveaxis(np.indices(np.subtract(end, begin)), 0, -1) + begin
        for reduction in ("none", "add"):
            add("ScatterND", box, (*box.shape[:-1], *(4, 5, 6)[len(begin):]), reduction=reduction)
    add("ScatterND", box[:, ::-1], (4, 2, 6))
    for axis in range(3):
        for places in ([0], [-1], [1, 2], [2, 1]):
            shape = [4, 5, 6]
            shape[axis] = len(places)
            wide = np.broadcast_to(np.reshape(places, [-1 if d == axis else 1 for d in range(3)]), shape)
            add("ScatterElements", wide, shape, axis=axis)
            add("ScatterElements", wide, shape, axis=axis, reduction="add")
            add("ScatterElements", wide[:2, :2, :2], wide[:2, :2, :2].shape, axis=axis)
    return nodes, inputs, constants


def sums():
    """Running sums along every axis, of what comes and of what is computed; int32 wraps, int64 has large numbers."""
    random = np.random.default_rng(14)
    inputs = {"x": random.standard_normal((3, 7, 5)).astype("f4"), "line": random.standard_normal(19).astype("f4"),
              "n": random.integers(-2**31, 2**31, (2, 6, 3)).astype("i4"), "m": random.integers(-2**26, 2**26, (4, 9)),
              "four": random.standard_normal((2, 3, 4, 5)).astype("f4")}
    constants = {f"axis{axis}": np.int64(axis) for axis in range(-2, 3)}
    nodes = [h.make_node("Tanh", ["x"], ["t"])]
    for name, axes in (("x", (0, 1, 2)), ("t", (0, 1, -1)), ("line", (0,)), ("n", (0, 1, 2)), ("m", (0, -1)), ("four", (1, -2))):
        for axis in axes:
            for exclusive, reverse in ((0, 0), (1, 0), (0, 1), (1, 1)):
                nodes.append(h.make_node("CumSum", [name, f"axis{axis}"], [f"y{len(nodes)}"], exclusive=exclusive,
                                         reverse=reverse))
    return nodes, inputs, constants


def bits():
    """The absolute value, the next number and twice the number, by the bits of floats."""
    random = np.random.default_rng(15)
    inputs = {"x": random.standard_normal((3, 7)).astype("f4"), "n": random.integers(-2**31, 2**31, (5, 4)).astype("i4")}
    constants = {"low": np.int32(2**31 - 1), "one": np.int32(1), "exponent": np.int32(1 << 23), "half": np.float32(0.5)}
    nodes = [h.make_node("Mul", ["x", "half"], ["p"])]
    for operator, number in (("BitwiseAnd", "low"), ("Add", "one"), ("Add", "exponent")):
        i = f"i{len(nodes)}"
        nodes += [h.make_node("BitCast", ["p"], [i], to=T.INT32), h.make_node(operator, [i, number], [i + "c"]),
                  h.make_node("BitCast", [i + "c"], [f"y{len(nodes)}"], to=T.FLOAT)]
    nodes += [h.make_node("BitCast", ["n"], ["f"], to=T.FLOAT), h.make_node("BitCast", ["f"], ["back"], to=T.INT32)]
    return nodes, inputs, constants


def by_bits(inputs):
    """What the outputs of `bits` are."""
    p = (inputs["x"] * np.float32(0.5)).view("i4")
    return [(p & 2**31 - 1).view("f4"), (p + 1).view("f4"), (p + (1 << 23)).view("f4"), inputs["n"]]


MODELS = {"einsum": einsum, "pools": pools, "integers": integers, "convolutions": convolutions, "spreads": spreads, "grids": grids,
          "resizes": resizes, "older": older, "spectra": spectra, "norms": norms, "extremes": extremes, "vocabulary": vocabulary,
          "depths": depths, "scatters": scatters, "sums": sums, "bits": bits, "long_rows": long_rows}
INNER = {"vocabulary": ["a", "b"], "sums": ["t"], "bits": ["p", "f", *(f"i{n}{c}" for n in (1, 4, 7) for c in ("", "c"))]}  # no outputs
OPSETS = {"older": 9, "spectra": 20, "norms": 23, "bits": 26}


def type_of(node, inputs):
    """Of the result of a node."""
    if node.op_type == "BitCast":
        return node.attribute[0].i
    if node.op_type == "CumSum" and node.input[0] in inputs:
        return h.np_dtype_to_tensor_dtype(inputs[node.input[0]].dtype)
    return RESULTS.get(node.op_type, T.FLOAT)


def tool(*words):
    result = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(result.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("what", choices=list(MODELS))
    parser.add_argument("--mesh", required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    nodes, inputs, constants = MODELS[options.what]()
    results = [node for node in nodes if node.output[0] not in INNER.get(options.what, [])]
    names = [node.output[0] for node in results]
    graph = h.make_graph(nodes, options.what,
                         [h.make_tensor_value_info(name, h.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in inputs.items()],
                         [h.make_tensor_value_info(name, type_of(node, inputs), None) for name, node in zip(names, results)],
                         [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()])
    path, program = options.work / "model.onnx", options.work / "model.wafer"
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", OPSETS.get(options.what, 19))],
                            ir_version=10), path)
    values = {**inputs, **constants}
    if options.what == "spectra":
        expected = [spectrum(node, values) for node in nodes]
    elif options.what == "bits":
        expected = by_bits(inputs)
    elif options.what == "einsum":
        expected = [np.einsum(node.attribute[0].s.decode(), *(values[name] for name in node.input)) for node in nodes]
    else:
        expected = onnxruntime.InferenceSession(path).run(None, inputs)
    feed, outputs = options.work / "in.npz", options.work / "out.npz"
    np.savez(feed, **inputs)
    tool("wsec", path, "-o", program, f"--mesh={options.mesh}", "--quiet")
    good = True
    for engine in ENGINES:
        tool("wse-run", program, "--inputs", feed, "--outputs", outputs, f"--engine={engine}", "--quiet")
        with np.load(outputs) as found:
            wrong = [node for node, name, value in zip(results, names, expected)
                     if found[name].shape != value.shape or found[name].dtype != value.dtype
                     or not np.abs(found[name].astype("f8") - value).max() <= (
                         TOLERANCE * max(np.abs(value).max(), 1) if value.dtype.kind == "f" else 0)]
        for node in wrong:
            print(engine, "wrong:", h.printable_node(node))
        print(engine, options.mesh, f"{len(results) - len(wrong)} of {len(results)}", flush=True)
        good &= not wrong
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
