# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random small models: what exporters write, in all the ways they write it."""

import numpy as np
import onnx
from onnx import TensorProto, helper

import small_models

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
IR_VERSION = 8


class RandomModel(small_models.Graph):
    """A graph under construction: values have known shapes, and choices come
    from one random generator."""

    def __init__(self, seed):
        super().__init__(seed)
        self.opset = int(self.random.choice([13, 14, 17, 18, 20]))
        self.inputs, self.shapes, self.values = [], {}, {}
        self.normalized = False

    # Choices

    def chance(self, probability=0.5):
        return bool(self.random.random() < probability)

    def pick(self, *options):
        return options[self.random.integers(len(options))]

    def extent(self, largest=12):
        return 1 if self.chance(0.15) else int(self.random.integers(1, largest + 1))

    # Values

    def input(self, *shape):
        name = f"x{len(self.inputs)}"
        self.inputs.append((name, FLOAT, list(shape)))
        self.values[name] = self.random.standard_normal(shape).astype(np.float32)
        return self.know(name, shape)

    def know(self, name, shape):
        self.shapes[name] = tuple(int(extent) for extent in shape)
        return name

    def op(self, kind, shape, *inputs, **attributes):
        return self.know(self.add(kind, *inputs, **attributes), shape)

    def floats(self, *shape, scale=1.0):
        """A constant of normal floats."""
        value = self.random.standard_normal(shape) * scale
        return self.know(self.constant(value.astype(np.float32)), shape)

    def indices(self, *values):
        return self.constant(np.array(values, np.int64))

    def activation(self, largest=12):
        """An input of any rank: [F], [T,F], [B,T,F]."""
        rank = self.pick(1, 2, 2, 3, 3, 3)
        shape = [self.extent(largest) for _ in range(rank)]
        shape[-1] = self.extent(2 * largest)
        return self.input(*shape)

    # Operators

    def product(self, x):
        *leading, inner = self.shapes[x]
        if not leading:
            return x
        columns = self.extent(40)
        scale = inner**-0.5
        if len(leading) == 1 and self.chance():
            return self.gemm(x, leading[0], inner, columns, scale)
        y = self.op("MatMul", [*leading, columns], x, self.floats(inner, columns, scale=scale))
        if self.chance(0.6):
            bias = self.floats(*self.pick((columns,), (1, columns), (1,), ()), scale=0.3)
            y = self.op("Add", [*leading, columns], *self.shuffled(y, bias))
        return y

    def gemm(self, x, rows, inner, columns, scale):
        transposed = self.chance()
        weight = self.floats(*((columns, inner) if transposed else (inner, columns)), scale=scale)
        attributes = {"transB": int(transposed)} if transposed or self.chance() else {}
        operands = [x, weight]
        if self.chance(0.7):
            operands.append(self.floats(
                *self.pick((columns,), (1, columns), (rows, columns), (rows, 1), (1,), ())))
        if self.chance(0.4):
            attributes["alpha"] = self.pick(0.5, 2.0, -1.5)
        if self.chance(0.4):
            attributes["beta"] = self.pick(0.5, 2.0, 0.0)
        if self.chance(0.15):
            operands[0] = self.op("Transpose", (inner, rows), x, perm=[1, 0])
            attributes["transA"] = 1
        return self.op("Gemm", (rows, columns), *operands, **attributes)

    def shuffled(self, *operands):
        return operands if self.chance() else operands[::-1]

    def partner(self, shape):
        """A second operand of an element-wise operator: a constant, an input
        or an earlier value that broadcasts to `shape`."""
        same = [v for v, s in self.shapes.items() if s == tuple(shape) and v not in self.constants()]
        if same and self.chance(0.3):
            return self.pick(*same)
        partial = [1 if self.chance(0.4) else extent for extent in shape]
        partial = partial[int(self.random.integers(len(partial) + 1)):]
        if self.chance(0.25):
            return self.input(*partial) if partial else self.input()
        return self.floats(*partial)

    def constants(self):
        return {tensor.name for tensor in self.initializers}

    def binary(self, x):
        shape = self.shapes[x]
        kind = self.pick("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Where", "PRelu")
        other = self.partner(shape)
        if kind == "Div":
            return self.op("Div", shape, x, self.away_from_zero(other))
        if kind == "Pow":
            exponent = self.know(self.constant(np.float32(self.pick(2, 3, 0.5, 1))), ())
            return self.op("Pow", shape, self.positive(x), exponent)
        if kind == "Where":
            compare = self.pick("Less", "Greater", "GreaterOrEqual", "LessOrEqual")
            condition = self.add(compare, x, other)
            if self.chance(0.3):
                condition = self.add("Not", condition)
            return self.op("Where", shape, condition, *self.shuffled(x, self.partner(shape)))
        if kind == "PRelu":
            slope = self.floats(*shape[int(self.random.integers(len(shape))):])
            return self.op("PRelu", shape, x, slope)
        return self.op(kind, shape, *self.shuffled(x, other))

    def positive(self, x):
        y = self.op("Abs", self.shapes[x], x)
        return self.op("Add", self.shapes[x], y, self.constant(np.float32(0.1)))

    def away_from_zero(self, x):
        if x in self.constants():
            tensor = next(t for t in self.initializers if t.name == x)
            value = onnx.numpy_helper.to_array(tensor)
            value = np.where(value < 0, value - 0.5, value + 0.5).astype(np.float32)
            return self.know(self.constant(value), value.shape)
        return self.positive(x)

    def unary(self, x):
        shape = self.shapes[x]
        kind = self.pick("Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Neg", "Abs", "Sqrt", "Log",
                         "Reciprocal", "LeakyRelu", "Clip", "Elu", "Softplus", "HardSigmoid",
                         "Gelu", "Identity", "Cast", "Sin", "Softsign", "HardSwish")
        if kind in ("Sqrt", "Log", "Reciprocal"):
            return self.op(kind, shape, self.positive(x))
        if kind == "Exp":
            return self.op("Exp", shape, self.op("Tanh", shape, x))
        if kind == "Clip":
            low = self.constant(np.float32(-0.5)) if self.chance(0.7) else ""
            high = self.constant(np.float32(0.7)) if self.chance(0.7) else ""
            return self.op("Clip", shape, x, low, high)
        if kind == "LeakyRelu":
            return self.op(kind, shape, x, alpha=0.2)
        if kind == "Cast":
            return self.op(kind, shape, x, to=FLOAT)
        if kind == "Gelu":
            return self.gelu_any(x)
        if kind == "HardSwish" and self.opset < 14:
            return x
        return self.op(kind, shape, x)

    def gelu_any(self, x):
        shape = self.shapes[x]
        if self.opset >= 20 and self.chance():
            return self.op("Gelu", shape, x, approximate=self.pick("none", "tanh"))
        if self.chance():
            return self.know(self.gelu(x), shape)
        cube = self.op("Pow", shape, x, self.constant(np.float32(3)))
        inner = self.add("Add", x, self.add("Mul", cube, self.constant(np.float32(0.044715))))
        inner = self.add("Mul", inner, self.constant(np.float32(np.sqrt(2 / np.pi))))
        outer = self.add("Add", self.add("Tanh", inner), self.constant(np.float32(1)))
        half = self.add("Mul", x, self.constant(np.float32(0.5)))
        return self.op("Mul", shape, half, outer)

    def norm(self, x):
        shape = self.shapes[x]
        width = shape[-1]
        kind = self.pick("layer", "dissolved", "rms", "softmax", "log-softmax")
        if kind == "softmax":
            return self.op("Softmax", shape, x, axis=self.pick(-1, len(shape) - 1))
        if kind == "log-softmax":
            return self.op("LogSoftmax", shape, x, axis=-1)
        if width == 1 or self.normalized:
            return x  # a norm of equal features enlarges rounding
        self.normalized = True
        scale, bias = self.floats(width), self.floats(width, scale=0.3)
        if kind == "layer" and self.opset >= 17:
            operands = [x, scale, bias] if self.chance(0.7) else [x, scale]
            return self.op("LayerNormalization", shape, *operands, epsilon=self.pick(1e-5, 1e-3))
        mean = self.add_reduce("ReduceMean", x, [-1])
        centered = self.add("Sub", x, mean) if kind != "rms" else x
        square = self.add("Pow", centered, self.constant(np.float32(2)))
        variance = self.add("Add", self.add_reduce("ReduceMean", square, [-1]),
                            self.constant(np.float32(1e-5)))
        y = self.add("Div", centered, self.add("Sqrt", variance))
        y = self.op("Mul", shape, y, scale)
        return self.op("Add", shape, y, bias) if self.chance(0.7) else y

    def add_reduce(self, kind, x, axes, keepdims=1):
        """A reduction as the opset writes it."""
        as_input = self.opset >= 18 or (kind == "ReduceSum" and self.opset >= 13)
        if as_input:
            return self.add(kind, x, self.indices(*axes), keepdims=keepdims)
        return self.add(kind, x, axes=axes, keepdims=keepdims)

    def reduce(self, x):
        shape = self.shapes[x]
        axis = self.pick(*range(len(shape)))
        keep = self.chance()
        kind = self.pick("ReduceMean", "ReduceSum", "ReduceMax")
        left = [1 if i == axis else extent for i, extent in enumerate(shape) if keep or i != axis]
        written = self.pick(axis, axis - len(shape))
        return self.know(self.add_reduce(kind, x, [written], int(keep)), left)

    def layout(self, x):
        shape = self.shapes[x]
        kind = self.pick("Flatten", "Unsqueeze", "Split", "Concat", "Slice", "Transpose", "Merge")
        if kind == "Flatten" and len(shape) > 1:
            merged = int(np.prod(shape[:-1]))
            return self.op("Flatten", (merged, shape[-1]), x, axis=len(shape) - 1)
        if kind == "Unsqueeze" and len(shape) < 3:
            return self.op("Unsqueeze", (1, *shape), x, self.indices(0))
        if kind == "Split" and shape[-1] % 2 == 0:
            half = (*shape[:-1], shape[-1] // 2)
            attributes = {"num_outputs": 2} if self.opset >= 18 else {}
            parts = self.add("Split", x, outputs=2, axis=-1, **attributes)
            for part in parts:
                self.know(part, half)
            return self.pick(*parts)
        if kind == "Concat":
            axis = self.pick(*range(len(shape)))
            twice = [2 * extent if i == axis else extent for i, extent in enumerate(shape)]
            return self.op("Concat", twice, x, x, axis=axis)
        if kind == "Slice":
            axis = self.pick(*range(len(shape)))
            start = int(self.random.integers(shape[axis]))
            stop = int(self.random.integers(start, shape[axis])) + 1
            step = self.pick(1, 1, 2, -1)
            size = len(range(start, stop, abs(step)))
            cut = [size if i == axis else extent for i, extent in enumerate(shape)]
            if step < 0:  # from stop - 1 down to start; the end is exclusive
                start, stop = stop - 1, start - 1 if start else -shape[axis] - 1
            return self.op("Slice", cut, x, self.indices(start), self.indices(stop),
                           self.indices(axis), self.indices(step))
        if kind == "Transpose":
            perm = [int(axis) for axis in self.random.permutation(len(shape))]
            return self.op("Transpose", [shape[axis] for axis in perm], x, perm=perm)
        if kind == "Merge" and len(shape) == 3:
            merged = (shape[0] * shape[1], shape[2])
            return self.op("Reshape", merged, x, self.indices(-1, shape[2]))
        return x

    def lookup(self):
        """Rows of a table, by ids that may count from its end."""
        rows, width = self.extent(20), self.extent(24)
        shape = [self.extent(8) for _ in range(self.pick(1, 2, 2))]
        ids = self.random.integers(-rows, rows, shape).astype(np.int64)
        if self.chance(0.7):
            name = f"x{len(self.inputs)}"
            self.inputs.append((name, INT64, shape))
            self.values[name] = ids
        else:
            name = self.constant(ids)
        return self.op("Gather", (*shape, width), self.floats(rows, width), name)

    # Attention

    def attention_any(self):
        batch, tokens, heads, size = (self.extent(4), self.extent(12), self.extent(5),
                                      self.extent(6))
        keys = self.extent(12) if self.chance(0.25) else tokens
        width = heads * size
        x = self.input(batch, tokens, width)
        other = x if keys == tokens else self.input(batch, keys, width)
        q = self.heads_of(x, batch, tokens, heads, size, [0, 2, 1, 3])
        k = self.heads_of(other, batch, keys, heads, size, [0, 2, 3, 1])
        v = self.heads_of(other, batch, keys, heads, size, [0, 2, 1, 3])
        scale = self.constant(np.float32(self.pick(size**-0.5, 0.3, 1.0)))
        where = self.pick("query", "key", "scores", "divide", "none")
        if where == "query":
            q = self.add("Mul", q, scale)
        if where == "key":
            k = self.add("Mul", k, scale)
        scores = self.add("MatMul", q, k)
        if where == "scores":
            scores = self.add("Mul", scores, scale)
        if where == "divide":
            scores = self.add("Div", scores, self.constant(np.float32(1.7)))
        scores = self.masked(scores, batch, tokens, keys)
        probabilities = self.add("Softmax", scores, axis=-1)
        y = self.add("Transpose", self.add("MatMul", probabilities, v), perm=[0, 2, 1, 3])
        y = self.op("Reshape", (batch, tokens, width), y, self.indices(batch, -1, width))
        return self.op("Add", (batch, tokens, width), x, y) if self.chance(0.3) else y

    def heads_of(self, x, batch, tokens, heads, size, perm):
        y = x
        if self.chance(0.8):
            width = heads * size
            y = self.op("MatMul", (batch, tokens, width), x,
                        self.floats(width, width, scale=2 * width**-0.5))
            if self.chance():
                y = self.op("Add", (batch, tokens, width), y, self.floats(width))
        y = self.add("Reshape", y, self.indices(self.pick(0, batch), -1, heads, size))
        return self.add("Transpose", y, perm=perm)

    def masked(self, scores, batch, tokens, keys):
        kind = self.pick("none", "causal", "offset", "keys", "both", "score", "where", "boolean")
        very = self.pick(-1e9, -10000.0, float(np.finfo(np.float32).min), -np.inf)
        causal = np.triu(np.full((tokens, keys), very, np.float32), 1)
        if kind == "causal":
            return self.add("Add", *self.shuffled(scores, self.constant(causal)))
        if kind == "offset":
            ahead = max(keys - tokens, 0) + 1
            late = np.triu(np.full((tokens, keys), very, np.float32), ahead)
            return self.add("Add", scores, self.constant(late))
        if kind == "where":
            allowed = self.constant(np.tril(np.ones((tokens, keys), bool)))
            return self.add("Where", allowed, scores, self.constant(np.float32(very)))
        if kind in ("keys", "both"):
            mask = self.key_mask(batch, keys)
            one = self.add("Sub", self.constant(np.float32(1)), mask)
            bias = self.add("Mul", one, self.constant(np.float32(max(very, -1e9))))
            scores = self.add("Add", *self.shuffled(scores, bias))
            return self.add("Add", scores, self.constant(causal)) if kind == "both" else scores
        if kind == "boolean":
            mask = self.add("Cast", self.key_mask(batch, keys), to=TensorProto.BOOL)
            return self.add("Where", mask, scores, self.constant(np.float32(very)))
        if kind == "score":
            shape = (self.pick(1, batch), 1, self.pick(1, tokens), keys)
            return self.add("Add", scores, self.pick(self.floats, self.input)(*shape))
        return scores

    def key_mask(self, batch, keys):
        """An input [batch, 1, 1, keys] of ones and zeros, the first key kept."""
        mask = self.input(batch, keys)
        kept = (self.random.random((batch, keys)) < 0.7).astype(np.float32)
        kept[:, 0] = 1
        self.values[mask] = kept
        return self.add("Unsqueeze", mask, self.indices(1, 2))

    # Families

    def build(self, family):
        if family == "attention":
            outputs = [self.attention_any()]
        else:
            steps = {"linear": [self.product, self.product, self.unary],
                     "elementwise": [self.binary, self.binary, self.unary],
                     "rows": [self.norm, self.reduce, self.binary],
                     "layout": [self.layout, self.product, self.binary],
                     "mixed": [self.product, self.binary, self.unary, self.norm, self.reduce]}
            y = self.lookup() if self.chance(0.15) else self.activation()
            for _ in range(int(self.random.integers(1, 6))):
                if self.shapes[y]:
                    y = self.pick(*steps[family])(y)
            outputs = [y]
        return outputs

    def write(self, path, outputs):
        results = []
        for index, y in enumerate(outputs):
            results.append((self.add("Identity", y, name=f"y{index}"), self.shapes[y]))
        graph = helper.make_graph(
            self.nodes, "random",
            [helper.make_tensor_value_info(n, t, s) for n, t, s in self.inputs],
            [helper.make_tensor_value_info(n, FLOAT, s) for n, s in results], self.initializers)
        model = helper.make_model(graph, ir_version=IR_VERSION,
                                  opset_imports=[helper.make_opsetid("", self.opset)])
        onnx.checker.check_model(model)
        onnx.save(model, path)


FAMILIES = ["linear", "elementwise", "rows", "layout", "mixed", "attention"]
