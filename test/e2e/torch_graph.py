# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX graphs evaluated by PyTorch in f64, so that its autograd has the gradients of all they are computed of."""

import numpy as np
import onnx
import torch
from onnx import numpy_helper

import torch_fused

F = torch.nn.functional
FLOAT = torch.float64  # of all floating-point values


class Lacking(Exception):
    """There is no rule for an operator, or none for the form that it has."""


def ints(x):
    return [int(i) for i in x.flatten()]


def axes_of(node, operand):
    """Of an attribute in older opsets, an operand in newer ones."""
    axes = operand(1)
    return node.get("axes") if axes is None else ints(axes)


def reduction(function):
    def evaluate(node, operand):
        x = operand(0)
        axes = axes_of(node, operand)
        if axes is None:
            axes = list(range(x.dim()))
        return function(x, axes, bool(node.get("keepdims", 1)))
    return evaluate


def gemm(node, operand):
    a, b = operand(0), operand(1)
    a, b = a.T if node.get("transA") else a, b.T if node.get("transB") else b
    y = node.get("alpha", 1.0) * (a @ b)
    return y if operand(2) is None else y + node.get("beta", 1.0) * operand(2)


def layer_norm(node, operand):
    x = operand(0)
    axis = node.get("axis", -1) % x.dim()
    return F.layer_norm(x, x.shape[axis:], operand(1), operand(2), node.get("epsilon", 1e-5))


def rms_norm(node, operand):
    x = operand(0)
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + node.get("epsilon", 1e-5)) * operand(1)


def slice_of(node, operand):
    x = operand(0)
    starts, ends = ints(operand(1)), ints(operand(2))
    axes = ints(operand(3)) if operand(3) is not None else list(range(len(starts)))
    steps = ints(operand(4)) if operand(4) is not None else [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        x = x.index_select(axis % x.dim(), torch.tensor(range(*slice(start, end, step).indices(x.shape[axis])), dtype=torch.long))
    return x


def reshape(node, operand):
    x, shape = operand(0), ints(operand(1))
    return x.reshape([x.shape[i] if n == 0 and not node.get("allowzero") else n for i, n in enumerate(shape)])


def split(node, operand):
    x, axis = operand(0), node.get("axis", 0)
    sizes = node.get("split") if operand(1) is None else ints(operand(1))
    if sizes is None:
        return x.tensor_split(node.get("num_outputs") or len(node["outputs"]), axis)
    return x.split(sizes, axis)


def gather(node, operand):
    x, ids, axis = operand(0), operand(1), node.get("axis", 0)
    axis %= x.dim()
    ids = positive(ids.long(), x.shape[axis])
    taken = x.index_select(axis, ids.flatten())
    return taken.reshape(x.shape[:axis] + ids.shape + x.shape[axis + 1:])


def one_hot(node, operand):
    ids, count, values = operand(0), int(operand(1)), operand(2)
    y = F.one_hot(positive(ids.long(), count), count)
    return torch.where(y.movedim(-1, node.get("axis", -1)).bool(), values[1], values[0])


def gather_nd(node, operand):
    x, ids = operand(0), operand(1)
    assert not node.get("batch_dims")
    return x[tuple(ids.unbind(-1))]


def dft(node, operand):
    """Of pairs of a real and an imaginary part, or of real numbers."""
    if node.get("onesided") or operand(1) is not None:
        raise Lacking("DFT of a length of its own, or of one side")
    x, axis = operand(0), operand(2)
    axis = (node.get("axis", 1) if axis is None else int(axis)) % x.dim()
    pairs = torch.view_as_complex(x.contiguous()) if x.shape[-1] == 2 else x[..., 0].to(torch.complex128)
    return torch.view_as_real((torch.fft.ifft if node.get("inverse") else torch.fft.fft)(pairs, dim=axis))


def positive(ids, extent):
    return torch.where(ids < 0, ids + extent, ids)


def alike(x, y):
    """Both in the wider type: a graph's zeros are f32 where what is written is f64."""
    return x.to(torch.promote_types(x.dtype, y.dtype)), y.to(torch.promote_types(x.dtype, y.dtype))


def scatter_nd(node, operand):
    x, ids = operand(0), operand(1)
    if node.get("reduction", "none") not in ("none", "add"):
        raise Lacking(f"ScatterND with {node['reduction']}")
    places = tuple(positive(its, extent) for its, extent in zip(ids.unbind(-1), x.shape))
    x, source = alike(x, operand(2))
    return x.index_put(places, source, accumulate=node.get("reduction") == "add")


def scatter_elements(node, operand):
    x, axis = operand(0), node.get("axis", 0)
    ids = positive(operand(1), x.shape[axis])
    kinds = {"none": None, "add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    kind = kinds[node.get("reduction", "none")]
    x, source = alike(x, operand(2))
    return x.scatter(axis, ids, source) if kind is None else x.scatter_reduce(axis, ids, source, kind)


def squeeze(node, operand):
    x, axes = operand(0), axes_of(node, operand)
    return x.squeeze() if axes is None else x.squeeze([axis % x.dim() for axis in axes])


def unsqueeze(node, operand):
    x, axes = operand(0), axes_of(node, operand)
    for axis in sorted(axis % (x.dim() + len(axes)) for axis in axes):
        x = x.unsqueeze(axis)
    return x


def cum_sum(node, operand):
    x, axis = operand(0), int(operand(1))
    turned = (lambda y: y.flip(axis)) if node.get("reverse") else (lambda y: y)
    return turned(turned(x).cumsum(axis)) - (x if node.get("exclusive") else 0)


def conv(node, operand):
    x, w = operand(0), operand(1)
    function = [F.conv1d, F.conv2d, F.conv3d][w.dim() - 3]
    rank = w.dim() - 2
    if node.get("auto_pad", b"NOTSET") != b"NOTSET":
        raise Lacking("Conv with auto_pad")
    return function(F.pad(x, turned_pads(node.get("pads", [0] * 2 * rank))), w, operand(2), node.get("strides", [1] * rank), 0, node.get("dilations", [1] * rank),
                    node.get("group", 1))


def cast(node, operand):
    kind = onnx.helper.tensor_dtype_to_np_dtype(node["to"])
    return operand(0).to(FLOAT if kind.kind == "f" else torch.bool if kind.kind == "b" else torch.int64)



def variadic(function):
    def evaluate(node, operand):
        y = operand(0)
        for i in range(1, len(node["inputs"])):
            y = function(y, operand(i))
        return y
    return evaluate


def softmax_cross_entropy(node, operand):
    z = operand(0)
    weight = operand(2)
    function = F.nll_loss if node["op"] == "NegativeLogLikelihoodLoss" else F.cross_entropy
    loss = function(z, operand(1), weight, ignore_index=node.get("ignore_index", -100),
                    reduction=node.get("reduction", "mean"))
    return (loss, F.log_softmax(z, 1))


def rotary_embedding(node, operand):
    """Of [batch, heads, tokens, size] or [batch, tokens, features], with angles of each token."""
    x, cos, sin = operand(0), operand(1).unsqueeze(1), operand(2).unsqueeze(1)
    if x.dim() == 3:
        x = x.unflatten(-1, (node["num_heads"], -1)).transpose(1, 2)
    part = node.get("rotary_embedding_dim") or x.shape[-1]
    turned, rest = x[..., :part], x[..., part:]
    if node.get("interleaved"):
        a, b = turned[..., 0::2], turned[..., 1::2]
        pairs = torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
    else:
        a, b = turned.chunk(2, -1)
        pairs = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
    y = torch.cat([pairs, rest], -1)
    return y if operand(0).dim() == 4 else y.transpose(1, 2).flatten(-2)


def attention(node, operand):
    """Of [batch, tokens, features] or [batch, heads, tokens, size]: masked by what is added, by truths, or as causal."""
    if any(operand(i) is not None for i in (4, 5)) or len(node["outputs"]) > 1 or node.get("softcap"):
        raise Lacking("Attention with a cache, softcap, or several results")
    q, k, v = (operand(i) for i in range(3))
    if q.dim() == 3:
        heads, groups = node["q_num_heads"], node["kv_num_heads"]
        q, k, v = (x.unflatten(-1, (n, -1)).transpose(1, 2) for x, n in zip((q, k, v), (heads, groups, groups)))
    y = F.scaled_dot_product_attention(q, k, v, operand(3), is_causal=bool(node.get("is_causal")), scale=node.get("scale"),
                                       enable_gqa=q.shape[1] != k.shape[1])
    return y if operand(0).dim() == 4 else y.transpose(1, 2).flatten(-2)


def clip(node, operand):
    low, high = (operand(i) for i in (1, 2))
    low = node.get("min") if low is None else low.item()
    high = node.get("max") if high is None else high.item()
    return operand(0) if low is None and high is None else torch.clamp(operand(0), low, high)


def constant(node, operand):
    if "value" in node:
        return tensor(numpy_helper.to_array(node["value"]))
    return torch.tensor(next(node[k] for k in ("value_int", "value_ints", "value_float", "value_floats") if k in node))


UNARY = {"Abs": torch.abs, "Neg": torch.neg, "Exp": torch.exp, "Log": torch.log, "Sqrt": torch.sqrt, "Tanh": torch.tanh,
         "Erf": torch.erf, "Sigmoid": torch.sigmoid, "Sin": torch.sin, "Cos": torch.cos, "Atan": torch.atan, "Tan": torch.tan,
         "Floor": torch.floor, "Ceil": torch.ceil, "Round": torch.round, "Sign": torch.sign, "Reciprocal": torch.reciprocal,
         "Relu": torch.relu, "Softplus": F.softplus, "Softsign": F.softsign, "Not": torch.logical_not,
         "IsNaN": torch.isnan, "Identity": lambda x: x, "HardSwish": F.hardswish, "Mish": F.mish,
         "Asin": torch.asin, "Acos": torch.acos, "Sinh": torch.sinh, "Cosh": torch.cosh, "Asinh": torch.asinh,
         "Acosh": torch.acosh, "Atanh": torch.atanh}
BINARY = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Pow": torch.pow, "MatMul": torch.matmul, "Equal": torch.eq,
          "Less": torch.lt, "LessOrEqual": torch.le, "Greater": torch.gt, "GreaterOrEqual": torch.ge,
          "And": torch.logical_and, "Or": torch.logical_or, "PRelu": lambda x, slope: torch.where(x < 0, x * slope, x)}
RULES = {
    "Attention": attention,
    "Div": lambda n, o: o(0) / o(1) if o(0).is_floating_point() else torch.div(o(0), o(1), rounding_mode="trunc"),
    "Mod": lambda n, o: torch.fmod(o(0), o(1)) if n.get("fmod") else torch.remainder(o(0), o(1)),
    "Min": variadic(torch.minimum), "Max": variadic(torch.maximum), "Sum": variadic(torch.add),
    "Mean": lambda n, o: sum(o(i) for i in range(len(n["inputs"]))) / len(n["inputs"]),
    "Where": lambda n, o: torch.where(o(0), o(1), o(2)), "Gemm": gemm, "LayerNormalization": layer_norm,
    "RMSNormalization": rms_norm, "SimplifiedLayerNormalization": rms_norm,
    "Softmax": lambda n, o: torch.softmax(o(0), n.get("axis", -1)),
    "LogSoftmax": lambda n, o: torch.log_softmax(o(0), n.get("axis", -1)),
    "Slice": slice_of, "Reshape": reshape, "Split": split, "Gather": gather, "GatherND": gather_nd,
    "OneHot": one_hot, "CumSum": cum_sum,
    "TopK": lambda n, o: torch.topk(o(0), int(o(1)), n.get("axis", -1), bool(n.get("largest", 1))),
    "GatherElements": lambda n, o: torch.gather(o(0), n.get("axis", 0), positive(o(1), o(0).shape[n.get("axis", 0)])),
    "DFT": dft, "Tile": lambda n, o: o(0).repeat(ints(o(1))), "ScatterND": scatter_nd, "ScatterElements": scatter_elements,
    "Trilu": lambda n, o: (torch.triu if n.get("upper", 1) else torch.tril)(o(0), 0 if o(1) is None else int(o(1))),
    "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Conv": conv, "Cast": cast, "Clip": clip, "Constant": constant,
    "Transpose": lambda n, o: o(0).permute(n.get("perm", list(reversed(range(o(0).dim()))))),
    "Concat": lambda n, o: torch.cat([o(i) for i in range(len(n["inputs"]))], n["axis"]),
    "Expand": lambda n, o: o(0).expand(torch.broadcast_shapes(tuple(ints(o(1))), o(0).shape)),
    "Flatten": lambda n, o: o(0).reshape(int(np.prod(o(0).shape[:n.get("axis", 1)])), -1),
    "Shape": lambda n, o: torch.tensor(o(0).shape[n.get("start", 0):n.get("end")]),
    "ConstantOfShape": lambda n, o: torch.full(ints(o(0)), tensor(numpy_helper.to_array(n["value"])).item() if "value" in n else 0.0),
    "ReduceSum": reduction(lambda x, a, k: x.sum(a, k)), "ReduceMean": reduction(lambda x, a, k: x.mean(a, k)),
    "ReduceMax": reduction(lambda x, a, k: x.amax(a, k)), "ReduceMin": reduction(lambda x, a, k: x.amin(a, k)),
    "ReduceSumSquare": reduction(lambda x, a, k: (x * x).sum(a, k)), "ReduceL2": reduction(lambda x, a, k: (x * x).sum(a, k).sqrt()),
    "ReduceL1": reduction(lambda x, a, k: x.abs().sum(a, k)),
    "ReduceLogSumExp": reduction(torch.logsumexp),
    "Gelu": lambda n, o: F.gelu(o(0), approximate=n.get("approximate", b"none").decode()),
    "LeakyRelu": lambda n, o: F.leaky_relu(o(0), n.get("alpha", 0.01)),
    "Elu": lambda n, o: F.elu(o(0), n.get("alpha", 1.0)), "Celu": lambda n, o: F.celu(o(0), n.get("alpha", 1.0)),
    "HardSigmoid": lambda n, o: torch.clamp(n.get("alpha", 0.2) * o(0) + n.get("beta", 0.5), 0, 1),
    "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
    "NegativeLogLikelihoodLoss": lambda n, o: softmax_cross_entropy(n, o)[0],
    "RotaryEmbedding": rotary_embedding,
    "Einsum": lambda n, o: torch.einsum(n["equation"].decode(), *(o(i) for i in range(len(n["inputs"])))),
    "Pad": lambda n, o: F.pad(o(0), turned_pads(ints(o(1)))), "Range": lambda n, o: torch.arange(o(0).item(), o(1).item(), o(2).item()),
    **{name: (lambda f: lambda n, o: f(o(0)))(f) for name, f in UNARY.items()},
    **{name: (lambda f: lambda n, o: f(o(0), o(1)))(f) for name, f in BINARY.items()},
}


def turned_pads(pads):
    """As PyTorch has them: the last axis first."""
    rank = len(pads) // 2
    return [pads[axis + half * rank] for axis in reversed(range(rank)) for half in (0, 1)]


def tensor(array):
    array = np.array(array)
    if array.dtype.kind == "f":
        return torch.from_numpy(array.astype("f8")).to(FLOAT)
    return torch.from_numpy(array.astype("?" if array.dtype.kind == "b" else "i8"))


def evaluate(graph, values):
    """All values of an onnx.GraphProto, by name; `values` are those of inputs and, if they are not to be the graph's, of
    initializers."""
    values = {**{i.name: tensor(numpy_helper.to_array(i)) for i in graph.initializer if i.name not in values}, **values}
    for n in graph.node:
        node = {"op": n.op_type, "inputs": n.input, "outputs": n.output,
                **{a.name: onnx.helper.get_attribute_value(a) for a in n.attribute}}
        if isinstance(node.get("reduction"), bytes):
            node["reduction"] = node["reduction"].decode()
        rules = {**RULES, **torch_fused.RULES} if n.domain == "com.microsoft" else RULES
        if n.op_type not in rules:
            raise Lacking(n.op_type)
        result = rules[n.op_type](node, lambda i: values[n.input[i]] if i < len(n.input) and n.input[i] else None)
        results = result if isinstance(result, (tuple, list)) else [result]
        values.update(zip(n.output, results))
    return values


def gradients(model, feeds, loss, wanted):
    """The loss, a function of all values by name, as a number, and its gradients by the names of `wanted`, inputs or
    initializers, of the model: arrays of f64; zeros where it does not depend on one."""
    arrays = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer} | feeds
    values = {name: tensor(value) for name, value in feeds.items()}
    for name in wanted:
        values[name] = tensor(arrays[name]).requires_grad_()
    number = loss(evaluate(model.graph, values))
    found = torch.autograd.grad(number, [values[name] for name in wanted], allow_unused=True)
    return number.item(), {name: (torch.zeros_like(values[name]) if g is None else g).numpy()
                           for name, g in zip(wanted, found)}
