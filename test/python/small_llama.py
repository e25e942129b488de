# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small random LLaMA as a GGUF file, written by the format's own package, and its logits in numpy."""

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, KEY_HEADS, FEATURES, INNER, POSITIONS = 2, 64, 4, 2, 16, 96, 64
BASE, EPSILON = 5000.0, 1e-5
CONTROL = ["<|end|>", "<|user|>", "<|assistant|>"]
TEMPLATE = ("{% for message in messages %}{% if message['role'] not in ('user', 'assistant') %}"
            "{{ raise_exception('no role but user and assistant') }}{% endif %}"
            "<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
            "{% if add_generation_prompt %}<|assistant|>{% endif %}")
MERGES = ["h e", "l l", "he ll", "Ġ t"]


def _letters():
    """What byte-level BPE writes for each byte, of GPT-2."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) for byte in plain] + [chr(256 + i) for i in range(len(others))]


VOCABULARY = CONTROL + _letters() + ["he", "ll", "hell", "Ġt"]


class SmallLlama:
    """`weights`, name -> f32 array, as the file has them, dequantised."""

    def __init__(self, path, tied=True, words=VOCABULARY, metadata=lambda writer: None, tensors=(), changed={}):
        random = np.random.default_rng(11)
        writer = gguf.GGUFWriter(path, "llama")
        for add, value in (("block_count", LAYERS), ("embedding_length", WIDTH), ("head_count", HEADS),
                           ("head_count_kv", KEY_HEADS), ("feed_forward_length", INNER), ("context_length", POSITIONS),
                           ("rope_freq_base", BASE), ("layer_norm_rms_eps", EPSILON),
                           ("rope_dimension_count", FEATURES), ("tokenizer_model", "gpt2"),
                           ("tokenizer_pre", "smollm"), ("token_list", words), ("token_merges", MERGES),
                           ("token_types", [3 if word in CONTROL else 1 for word in words]), ("eos_token_id", 0),
                           ("chat_template", TEMPLATE)):
            getattr(writer, f"add_{add}")(changed.get(add, value))
        metadata(writer)
        shapes = {"token_embd": (len(words), WIDTH), "output_norm": (WIDTH,)}
        if not tied:
            shapes["output"] = (len(words), WIDTH)
        keys = KEY_HEADS * FEATURES
        for i in range(LAYERS):
            for name, shape in (("attn_norm", (WIDTH,)), ("attn_q", (HEADS * FEATURES, WIDTH)), ("attn_k", (keys, WIDTH)),
                                ("attn_v", (keys, WIDTH)), ("attn_output", (WIDTH, HEADS * FEATURES)),
                                ("ffn_norm", (WIDTH,)), ("ffn_gate", (INNER, WIDTH)), ("ffn_up", (INNER, WIDTH)),
                                ("ffn_down", (WIDTH, INNER))):
                shapes[f"blk.{i}.{name}"] = shape
        kinds = (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_1, gguf.GGMLQuantizationType.F16)
        self.weights = {}
        for i, (name, shape) in enumerate([*shapes.items(), *tensors]):
            array = random.standard_normal(shape).astype("f4") * (len(shape) == 2 and 2 * shape[-1] ** -0.5)
            array += len(shape) == 1
            kind = kinds[i % 3] if len(shape) == 2 else gguf.GGMLQuantizationType.F32
            packed = gguf.quantize(array, kind)
            writer.add_tensor(f"{name}.weight", packed, raw_dtype=kind)
            self.weights[name] = gguf.dequantize(packed, kind).astype("f8")
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def logits(self, ids):
        """f64[tokens, vocabulary], with the file's pairs of rotary features beside each other."""
        weights, tokens = self.weights, len(ids)
        angles = np.arange(tokens)[:, None] * BASE ** (-np.arange(FEATURES // 2) / (FEATURES // 2))
        turn = np.exp(1j * angles)[:, None]

        def normed(x, name):
            return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weights[name]

        def rotated(x, heads):
            pairs = x.reshape(tokens, heads, -1, 2)
            turned = (pairs[..., 0] + 1j * pairs[..., 1]) * turn
            return np.stack([turned.real, turned.imag], -1).reshape(tokens, heads, FEATURES)

        x = weights["token_embd"][ids]
        for i in range(LAYERS):
            name = f"blk.{i}."
            y = normed(x, name + "attn_norm")
            q = rotated(y @ weights[name + "attn_q"].T, HEADS)
            k = rotated(y @ weights[name + "attn_k"].T, KEY_HEADS).repeat(HEADS // KEY_HEADS, 1)
            v = (y @ weights[name + "attn_v"].T).reshape(tokens, KEY_HEADS, -1).repeat(HEADS // KEY_HEADS, 1)
            scores = np.einsum("qhf,khf->hqk", q, k) / np.sqrt(FEATURES)
            scores[:, np.triu(np.ones((tokens, tokens), bool), 1)] = -np.inf
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            shares /= shares.sum(-1, keepdims=True)
            mixed = np.einsum("hqk,khf->qhf", shares, v).reshape(tokens, -1)
            x = x + mixed @ weights[name + "attn_output"].T
            y = normed(x, name + "ffn_norm")
            gate = y @ weights[name + "ffn_gate"].T
            x = x + (gate / (1 + np.exp(-gate)) * (y @ weights[name + "ffn_up"].T)) @ weights[name + "ffn_down"].T
        return normed(x, "output_norm") @ weights.get("output", weights["token_embd"]).T

    def greedy(self, ids, most, ends=(0,)):
        """The likeliest tokens behind `ids`."""
        made = []
        while len(made) < most and not (made and made[-1] in ends):
            made.append(int(self.logits([*ids, *made])[-1].argmax()))
        return made
