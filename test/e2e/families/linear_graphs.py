# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder of two layers in the operators that opset 27 has for recurrences: short convolutions
(CausalConvWithState), then a matrix for each head that each token updates (LinearAttention).

usage: linear_graphs.py RULE FILE.onnx [--attention]     calls of any number of sequences and tokens

--attention: a layer of it stands between them, whose past grows from call to call.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).parent.parent / "models"))
import small_models  # noqa: E402

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

    def attention(self, x, layer):
        y = self.norm(x)
        pasts, presents = ([f"{which}.{layer}.{kind}" for kind in ("key", "value")] for which in ("past_key_values", "present"))
        y = self.named("Attention", [*(self.product(y, WIDTH, HEADS * SIZE) for _ in range(3)), "", *pasts],
                       [f"attended_{layer}", *presents], q_num_heads=HEADS, kv_num_heads=HEADS, is_causal=1)
        return self.add("Add", x, self.product(y, HEADS * SIZE, WIDTH))

    def decoder(self, rule, batch, tokens, attends=False):
        """The model, and what its states are."""
        kinds = [("conv", (batch, CHANNELS, TAPS - 1)), ("recurrent", (batch, HEADS, SIZE, SIZE))]
        states = {f"{layer}.{kind}": shape for layer in range(2) for kind, shape in kinds}
        x = self.add("Gather", self.weight(WORDS, WIDTH, scale=1), "input_ids")
        x = self.layer(x, 0, rule)
        if attends:
            x = self.attention(x, 2)
            states |= {f"2.{kind}": (batch, HEADS, "past", SIZE) for kind in ("key", "value")}
        x = self.layer(x, 1, rule)
        self.named("MatMul", [self.norm(x), self.weight(WIDTH, WORDS)], ["logits"])
        value, floats = helper.make_tensor_value_info, TensorProto.FLOAT
        inputs = [value("input_ids", TensorProto.INT64, (batch, tokens)),
                  *(value(f"past_key_values.{key}", floats, shape) for key, shape in states.items())]
        outputs = [value("logits", floats, (batch, tokens, WORDS)),
                   *(value(f"present.{key}", floats, ["total" if extent == "past" else extent for extent in shape])
                     for key, shape in states.items())]
        made = helper.make_graph(self.nodes, rule, inputs, outputs, self.initializers)
        return helper.make_model(made, ir_version=10, opset_imports=[helper.make_opsetid("", 27)]), states


def write(name, path):
    rule, call = GRAPHS[name]
    tokens = 1 if call == "decode" else TOKENS
    model, states = Graph(sum(name.encode())).decoder(rule, BATCH, tokens)
    onnx.save(model, path)
    random = np.random.default_rng(1)
    pasts = {f"past_key_values.{key}": random.standard_normal(shape).astype("f4") * (call == "decode")
             for key, shape in states.items()}
    np.savez(path.with_suffix(".npz"), input_ids=random.integers(0, WORDS, (BATCH, tokens)), **pasts)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("rule", choices=RULES)
    words.add_argument("file")
    words.add_argument("--attention", action="store_true")
    words = words.parse_args()
    model, _ = Graph(0).decoder(words.rule, "batch", "sequence", words.attention)
    onnx.save(model, words.file)


if __name__ == "__main__":
    main()
