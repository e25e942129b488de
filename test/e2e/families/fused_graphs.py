# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders and an encoder of two layers in operators of com.microsoft, as the model
builder of onnxruntime-genai writes them and onnxruntime's optimizer for
transformers.

`write(name, path)` writes the model, an .npz of inputs beside it, and a .bind of
the names of inputs that are bound at compile time.
"""

from dataclasses import dataclass

import numpy as np
import onnx
import small_models
from onnx import TensorProto, helper

BATCH, TOKENS, WORDS, WIDTH, HEADS, SIZE, INNER = 2, 7, 61, 64, 4, 16, 48
PAST = 6
EXPERTS = 4
SWIGLU = (("activation_type", "swiglu"), ("swiglu_fusion", 1), ("activation_alpha", 1.702),
          ("activation_beta", 1.0), ("swiglu_limit", 7.0), ("k", 2),
          ("normalize_routing_weights", 1))
FLOAT, INT64, INT32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32


@dataclass(frozen=True)
class Decoder:
    groups: int = 2             # heads of keys and values
    past: int = 0               # tokens in the cache
    batch: int = BATCH
    tokens: int = TOKENS
    packed: bool = False        # one product for queries, keys and values
    rotary: str = "inside"      # of the attention; or "node", or "" for none
    bits: int = 0               # of weights; 0 for floats
    block: int = 16
    zero_points: bool = False
    head_norms: bool = False    # of queries and keys
    gelu: str = ""              # instead of SiLU and a gate
    experts: tuple = ()         # attributes of MoE with four experts instead
    expert_bits: int = 0        # of their weights: QMoE
    sinks: bool = False         # a score of each head beside those of keys
    norm: str = "SkipSimplifiedLayerNormalization"
    attention: str = "GroupQueryAttention"
    options: tuple = ()         # more attributes of the attention
    bind: tuple = ()            # inputs that are constants
    lengths: tuple = ()         # of the sequences, where they differ


class FusedGraph(small_models.Graph):
    def fused(self, op, *inputs, outputs=1, **attributes):
        return self.add(op, *inputs, outputs=outputs, domain="com.microsoft", **attributes)

    def vector(self, size):
        return self.constant((1 + 0.1 * self.random.standard_normal(size)).astype(np.float32))

    def product(self, x, rows, columns, how):
        if not how.bits:
            return self.add("MatMul", x, self.weight(rows, columns))
        blocks, packed = -(-rows // how.block), how.block * how.bits // 8
        weights = self.random.integers(0, 256, (columns, blocks, packed)).astype(np.uint8)
        scales = (0.02 + 0.01 * self.random.random((columns, blocks))).astype(np.float32)
        inputs = [self.constant(weights), self.constant(scales)]
        if how.zero_points:
            bytes_each = -(-blocks * how.bits // 8)
            inputs.append(self.constant(
                self.random.integers(0, 256, (columns, bytes_each)).astype(np.uint8)))
        return self.fused("MatMulNBits", x, *inputs, K=rows, N=columns, bits=how.bits,
                          block_size=how.block)

    def skip_norm(self, x, skip, how):
        """The norm of the sum, and the sum."""
        inputs = [x, skip, self.vector(WIDTH)]
        if how.norm == "SkipLayerNormalization":
            inputs.append(self.weight(WIDTH, scale=0.1))
        label = f"norm_{self.count}"
        outputs = [f"{label}_out", "", "", f"{label}_sum"]
        self.nodes.append(helper.make_node(how.norm, inputs, outputs, label, None,
                                           "com.microsoft", epsilon=1e-5))
        return outputs[0], outputs[3]

    def rope(self):
        angles = np.outer(np.arange(32), 10000.0 ** (-np.arange(0, SIZE, 2) / SIZE))
        return [self.constant(np.cos(angles).astype(np.float32)),
                self.constant(np.sin(angles).astype(np.float32))]

    def normed_heads(self, x, heads):
        split = self.constant(np.array([0, -1, SIZE], np.int64))
        whole = self.constant(np.array([0, -1, heads * SIZE], np.int64))
        normed = self.add("SimplifiedLayerNormalization", self.add("Reshape", x, split),
                          self.vector(SIZE), axis=-1, epsilon=1e-6, stash_type=1)
        return self.add("Reshape", normed, whole)

    def group_query_attention(self, q, k, v, layer, lengths, caches, how):
        label = f"attention_{layer}"
        outputs = [f"{label}_out", f"present.{layer}.key", f"present.{layer}.value"]
        flags = dict(how.options)
        inputs = [q, k, v, f"past_key_values.{layer}.key", f"past_key_values.{layer}.value",
                  *lengths]
        if how.rotary == "inside":
            inputs += caches
            flags["do_rotary"] = 1
        if how.sinks:
            inputs += [""] * (11 - len(inputs)) + [self.weight(HEADS, scale=1)]
        self.nodes.append(helper.make_node(
            "GroupQueryAttention", inputs, outputs, label, None, "com.microsoft",
            num_heads=HEADS, kv_num_heads=how.groups, scale=SIZE**-0.5, **flags))
        return outputs[0]

    def multi_head_attention(self, q, k, v, layer, how):
        label = f"attention_{layer}"
        outputs = [f"{label}_out", f"present.{layer}.key", f"present.{layer}.value"]
        inputs = [q, k, v, "", "", "", f"past_key_values.{layer}.key",
                  f"past_key_values.{layer}.value"]
        self.nodes.append(helper.make_node(
            "MultiHeadAttention", inputs, outputs, label, None, "com.microsoft",
            num_heads=HEADS, scale=SIZE**-0.5, unidirectional=1))
        return outputs[0]

    def attention(self, x, layer, lengths, caches, how):
        shared = how.groups * SIZE
        if how.packed:
            q, k, v = self.product(x, WIDTH, WIDTH + 2 * shared, how), "", ""
        else:
            q, k, v = (self.product(x, WIDTH, columns, how)
                       for columns in (WIDTH, shared, shared))
        if how.head_norms:
            q, k = self.normed_heads(q, HEADS), self.normed_heads(k, how.groups)
        if how.rotary == "node":
            q, k = (self.fused("RotaryEmbedding", part, "position_ids", *caches)
                    for part in (q, k))
        if how.attention == "MultiHeadAttention":
            y = self.multi_head_attention(q, k, v, layer, how)
        else:
            y = self.group_query_attention(q, k, v, layer, lengths, caches, how)
        return self.product(y, WIDTH, WIDTH, how)

    def mixture(self, x, how):
        def stack(*shape):
            numbers = 0.2 * self.random.standard_normal((EXPERTS, *shape))
            return self.constant(numbers.astype(np.float32))

        rows = self.add("Reshape", x, self.constant(np.array([-1, WIDTH], np.int64)))
        scores = self.add("MatMul", rows, self.weight(WIDTH, EXPERTS))
        inner = INNER * (2 if ("activation_type", "swiglu") in how.experts else 1)
        if not how.expert_bits:
            return self.fused("MoE", x, scores, stack(inner, WIDTH), stack(inner),
                              stack(WIDTH, INNER), stack(WIDTH), **dict(how.experts))

        def packed(rows, columns):
            bytes_each = columns * how.expert_bits // 8
            weights = self.random.integers(0, 256, (EXPERTS, rows, bytes_each)).astype(np.uint8)
            scales = self.random.uniform(0.3, 1.1, (EXPERTS, rows)) / (1 << how.expert_bits)
            return self.constant(weights), self.constant(scales.astype(np.float32)), stack(rows)

        return self.fused("QMoE", x, scores, *packed(inner, WIDTH), *packed(WIDTH, INNER),
                          expert_weight_bits=how.expert_bits, **dict(how.experts))

    def feed_forward(self, x, how):
        if how.experts:
            return self.mixture(x, how)
        if how.gelu:
            inner = self.product(x, WIDTH, INNER, how)
            bias = [self.weight(INNER, scale=0.1)] if how.gelu in ("BiasGelu", "FastGelu") else []
            return self.product(self.fused(how.gelu, inner, *bias), INNER, WIDTH, how)
        gate, up = (self.product(x, WIDTH, INNER, how) for _ in range(2))
        silu = self.add("Mul", gate, self.add("Sigmoid", gate))
        return self.product(self.add("Mul", silu, up), INNER, WIDTH, how)

    def lengths(self):
        """What a decoder of onnxruntime-genai makes of its attention mask."""
        one = self.constant(np.array([1], np.int64))
        taken = self.add("ReduceSum", "attention_mask", one, keepdims=0)
        last = self.add("Cast", self.add("Sub", taken, one), to=INT32)
        total = self.add("Gather", self.add("Shape", "attention_mask"),
                         self.constant(np.array(1, np.int64)))
        return last, self.add("Cast", total, to=INT32)


def decoder(graph, how):
    table = graph.weight(WORDS, WIDTH, scale=1)
    x = graph.add("Gather", table, "input_ids")
    lengths = graph.lengths() if how.attention == "GroupQueryAttention" else ()
    caches = graph.rope() if how.rotary else []
    if how.norm == "SkipLayerNormalization":
        y = graph.layer_norm(x, WIDTH, "norm_first")
    else:
        y = graph.add("SimplifiedLayerNormalization", x, graph.vector(WIDTH), axis=-1,
                      epsilon=1e-5, stash_type=1)
    for layer in range(2):
        y, x = graph.skip_norm(x, graph.attention(y, layer, lengths, caches, how), how)
        y, x = graph.skip_norm(x, graph.feed_forward(y, how), how)
    graph.add("MatMul", y, graph.weight(WIDTH, WORDS), name="logits")


def decoder_values(how):
    """The inputs with their arrays, and the outputs."""
    random = np.random.default_rng(1)
    cache = (how.batch, how.groups, how.past, SIZE)
    total = how.past + how.tokens
    inputs = {"input_ids": random.integers(0, WORDS, (how.batch, how.tokens))}
    if how.attention == "GroupQueryAttention":
        lengths = np.array(how.lengths or [total] * how.batch)
        inputs["attention_mask"] = (np.arange(total) < lengths[:, None]).astype(np.int64)
    if how.rotary == "node":
        inputs["position_ids"] = np.tile(np.arange(how.past, total), (how.batch, 1))
    outputs = {"logits_out": (how.batch, how.tokens, WORDS)}
    for layer in range(2):
        for part in ("key", "value"):
            inputs[f"past_key_values.{layer}.{part}"] = (
                random.standard_normal(cache).astype(np.float32))
            outputs[f"present.{layer}.{part}"] = (how.batch, how.groups, total, SIZE)
    return inputs, outputs


def encoder(graph):
    """BERT of onnxruntime's optimizer."""
    tables = [graph.weight(count, WIDTH, scale=1) for count in (WORDS, 16, 2)]
    outputs = ["embedded", "mask_index"]
    graph.nodes.append(helper.make_node(
        "EmbedLayerNormalization", ["input_ids", "segment_ids", *tables, graph.vector(WIDTH),
                                    graph.weight(WIDTH, scale=0.1), "attention_mask"],
        outputs, "embed", None, "com.microsoft", epsilon=1e-12))
    x, mask = outputs
    for layer in range(2):
        y = graph.fused("Attention", x, graph.weight(WIDTH, 3 * WIDTH),
                        graph.weight(3 * WIDTH, scale=0.1), mask, num_heads=HEADS)
        y = graph.add("MatMul", y, graph.weight(WIDTH, WIDTH))
        x = graph.fused("SkipLayerNormalization", y, x, graph.vector(WIDTH),
                        graph.weight(WIDTH, scale=0.1), graph.weight(WIDTH, scale=0.1),
                        epsilon=1e-12)
        y = graph.fused("BiasGelu", graph.add("MatMul", x, graph.weight(WIDTH, INNER)),
                        graph.weight(INNER, scale=0.1))
        y = graph.add("MatMul", y, graph.weight(INNER, WIDTH))
        x = graph.fused("SkipLayerNormalization", y, x, graph.vector(WIDTH),
                        graph.weight(WIDTH, scale=0.1), graph.weight(WIDTH, scale=0.1),
                        name="last" if layer else None, epsilon=1e-12)


def encoder_values():
    random = np.random.default_rng(1)
    mask = np.ones((BATCH, TOKENS), np.int32)
    mask[1, TOKENS - 2:] = 0
    return ({"input_ids": random.integers(0, WORDS, (BATCH, TOKENS)).astype(np.int32),
             "segment_ids": random.integers(0, 2, (BATCH, TOKENS)).astype(np.int32),
             "attention_mask": mask}, {"last_out": (BATCH, TOKENS, WIDTH)})


GRAPHS = {
    "fused-genai.prefill": Decoder(),
    "fused-genai.prefill-packed": Decoder(packed=True),
    "fused-genai.decode": Decoder(past=PAST, tokens=1, bind=("attention_mask",)),
    "fused-genai.prefill-padded": Decoder(lengths=(3, TOKENS)),
    "fused-genai.decode-apart": Decoder(past=PAST, tokens=1, lengths=(PAST + 1, 3)),
    "fused-genai.decode-apart-bound": Decoder(past=PAST, tokens=1, lengths=(2, 6), packed=True,
                                              bind=("attention_mask",)),
    "fused-genai.extend-computed": Decoder(past=PAST, batch=1, tokens=3, lengths=(8,)),
    "fused-genai.extend": Decoder(past=PAST, batch=1, tokens=3, bind=("attention_mask",)),
    "fused-genai.rotary-node": Decoder(rotary="node", head_norms=True),
    "fused-genai.interleaved": Decoder(options=(("rotary_interleaved", 1),)),
    "fused-genai.window-softcap": Decoder(options=(("local_window_size", 3), ("softcap", 20.0))),
    "fused-genai.int4": Decoder(bits=4),
    "fused-genai.int4-zero-points": Decoder(bits=4, block=32, zero_points=True, packed=True),
    "fused-genai.int8": Decoder(bits=8),
    "fused-genai.multi-head": Decoder(groups=HEADS, rotary="node",
                                      attention="MultiHeadAttention"),
    "fused-genai.fast-gelu": Decoder(gelu="FastGelu", norm="SkipLayerNormalization"),
    "fused-genai.quick-gelu": Decoder(gelu="QuickGelu"),
    # With silu, onnxruntime 1.31 gives other logits once its inputs are outputs, too.
    "fused-genai.experts-swiglu": Decoder(experts=SWIGLU),
    "fused-genai.experts-decode": Decoder(experts=SWIGLU, past=PAST, tokens=1,
                                          bind=("attention_mask",)),
    "fused-bert.embed": None,
}

# gpt-oss as the model builder of onnxruntime-genai writes it.
GPT_OSS = dict(tokens=13, experts=SWIGLU, sinks=True)
GPT_OSS_TOKEN = dict(GPT_OSS, tokens=1, past=13, bind=("attention_mask",))
NEWER_GRAPHS = {
    "fused-gpt-oss.prompt": Decoder(**GPT_OSS),
    "fused-gpt-oss.prompt-window": Decoder(**GPT_OSS, options=(("local_window_size", 4),)),
    "fused-gpt-oss.prompt-smooth": Decoder(**dict(GPT_OSS, sinks=False), options=(("smooth_softmax", 1),)),
    "fused-gpt-oss.prompt-int4": Decoder(**GPT_OSS, bits=4, block=32, expert_bits=4),
    "fused-gpt-oss.prompt-int8": Decoder(**GPT_OSS, bits=4, block=32, expert_bits=8),
    "fused-gpt-oss.decode": Decoder(**GPT_OSS_TOKEN),
    "fused-gpt-oss.decode-window": Decoder(**GPT_OSS_TOKEN, options=(("local_window_size", 4),)),
    "fused-gpt-oss.decode-int4": Decoder(**GPT_OSS_TOKEN, bits=4, block=32, expert_bits=4),
    "fused-qwen3-moe.prompt": Decoder(tokens=13, experts=SWIGLU, rotary="node", head_norms=True),
    "fused-qwen3-moe.decode-int4": Decoder(tokens=1, past=13, experts=SWIGLU, rotary="node", head_norms=True,
                                           bind=("attention_mask",), bits=4, expert_bits=4),
}


def symbolic(name, shape):
    """A cache names its length, and so does the mask over it."""
    dims = list(shape)
    if name.startswith("past"):
        dims[2] = "past_sequence_length"
    elif name.startswith("present"):
        dims[2] = "total_sequence_length"
    elif name == "attention_mask":
        dims[1] = "total_sequence_length"
    return dims


def write(name, path):
    how = (GRAPHS | NEWER_GRAPHS)[name]
    graph = FusedGraph(sum(name.encode()))
    if how:
        decoder(graph, how)
        inputs, outputs = decoder_values(how)
    else:
        encoder(graph)
        inputs, outputs = encoder_values()
    values = [helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(value.dtype),
                                            symbolic(key, value.shape))
              for key, value in inputs.items()]
    results = [helper.make_tensor_value_info(key, FLOAT, symbolic(key, shape))
               for key, shape in outputs.items()]
    model = helper.make_model(
        helper.make_graph(graph.nodes, name, values, results, graph.initializers), ir_version=10,
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])
    onnx.save(model, path)
    np.savez(path.with_suffix(".npz"), **inputs)
    path.with_suffix(".bind").write_text("\n".join(how.bind if how else ()))
