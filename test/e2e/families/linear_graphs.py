# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder of two layers in the operators that opset 27 has for recurrences: short convolutions
(CausalConvWithState), then a matrix for each head that each token updates (LinearAttention)."""

import numpy as np
import onnx
import small_models
from onnx import TensorProto, helper

BATCH, TOKENS, WORDS, WIDTH, HEADS, SIZE, INNER, TAPS = 2, 13, 61, 32, 4, 8, 48, 4
CHANNELS = 3 * HEADS * SIZE
# Rule of the update, and whether it decays and has a rate.
RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}
GRAPHS = {f"linear-{rule.replace('_', '-')}.opset-27-{call}": (rule, call) for rule in RULES
          for call in ("prompt", "decode")}


class Graph(small_models.Graph):
    def named(self, op, inputs, outputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, f"{op}_{outputs[0]}", **attributes))
        return outputs[0]

    def shaped(self, x, *shape):
        return self.add("Reshape", x, self.constant(np.array(shape, np.int64)))

    def product(self, x, rows, columns):
        return self.add("MatMul", x, self.weight(rows, columns))

    def norm(self, x):
        scale = self.constant((1 + 0.1 * self.random.standard_normal(WIDTH)).astype("f4"))
        return self.add("RMSNormalization", x, scale, epsilon=1e-5)

    def unit(self, x):
        """Each head of length 1, as delta rules need keys."""
        heads = self.shaped(x, 0, -1, HEADS, SIZE)
        return self.shaped(self.add("LpNormalization", heads, axis=-1, p=2), 0, -1, HEADS * SIZE)

    def convolved(self, x, layer):
        x = self.add("Transpose", x, perm=[0, 2, 1])
        y = self.named("CausalConvWithState",
                       [x, self.constant(self.random.standard_normal((CHANNELS, 1, TAPS)).astype("f4") / 2),
                        self.weight(CHANNELS, scale=0.1), f"past_key_values.{layer}.conv"],
                       [f"convolved_{layer}", f"present.{layer}.conv"], activation="silu")
        return self.add("Transpose", y, perm=[0, 2, 1])

    def layer(self, x, layer, rule):
        y = self.norm(x)
        mixed = self.convolved(self.product(y, WIDTH, CHANNELS), layer)
        q, k, v = (f"{part}_{layer}" for part in "qkv")
        self.named("Split", [mixed], [q, k, v], axis=2, num_outputs=3)
        decays, updates = RULES[rule]
        decay = self.add("Neg", self.add("Softplus", self.product(y, WIDTH, HEADS))) if decays else ""
        rate = self.add("Sigmoid", self.product(y, WIDTH, HEADS)) if updates else ""
        y = self.named("LinearAttention", [self.unit(q), self.unit(k), v, f"past_key_values.{layer}.recurrent",
                                           decay, rate],
                       [f"attended_{layer}", f"present.{layer}.recurrent"], q_num_heads=HEADS, kv_num_heads=HEADS,
                       update_rule=rule)
        x = self.add("Add", x, self.product(y, HEADS * SIZE, WIDTH))
        y = self.norm(x)
        gate = self.add("Swish", self.product(y, WIDTH, INNER))
        y = self.add("Mul", gate, self.product(y, WIDTH, INNER))
        return self.add("Add", x, self.product(y, INNER, WIDTH))


def write(name, path):
    rule, call = GRAPHS[name]
    tokens, graph = 1 if call == "decode" else TOKENS, Graph(sum(name.encode()))
    x = graph.add("Gather", graph.weight(WORDS, WIDTH, scale=1), "input_ids")
    for layer in range(2):
        x = graph.layer(x, layer, rule)
    graph.named("MatMul", [graph.norm(x), graph.weight(WIDTH, WORDS)], ["logits"])
    random = np.random.default_rng(1)
    states = {f"{layer}.{kind}": random.standard_normal(shape).astype("f4") * (call == "decode") for layer in range(2)
              for kind, shape in (("conv", (BATCH, CHANNELS, TAPS - 1)), ("recurrent", (BATCH, HEADS, SIZE, SIZE)))}
    ids = random.integers(0, WORDS, (BATCH, tokens))
    value = helper.make_tensor_value_info
    inputs = [value("input_ids", TensorProto.INT64, ids.shape),
              *(value(f"past_key_values.{key}", TensorProto.FLOAT, its.shape) for key, its in states.items())]
    outputs = [value("logits", TensorProto.FLOAT, (BATCH, tokens, WORDS)),
               *(value(f"present.{key}", TensorProto.FLOAT, its.shape) for key, its in states.items())]
    onnx.save(helper.make_model(helper.make_graph(graph.nodes, name, inputs, outputs, graph.initializers), ir_version=10,
                                opset_imports=[helper.make_opsetid("", 27)]), path)
    np.savez(path.with_suffix(".npz"), input_ids=ids, **{f"past_key_values.{key}": its for key, its in states.items()})
