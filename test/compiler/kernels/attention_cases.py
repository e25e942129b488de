# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of check_kernel.py for attention."""

import numpy as np

# What terms there are, by mode.
LATER = "later {} : f32"
LOW, INFINITE = LATER.format("-3.40282347e38"), LATER.format("0xFF800000")
TERMS = {
    "key_bias": ["add operand 0"], "score_bias": ["add operand 0"], "head_bias": ["add operand 0"],
    "both": ["add operand 0", "replace operand 1"], "causal": [f"add {LOW}"], "raised": ["raise to -2.0 : f32"],
    "lowest": ["add operand 0", f"replace {LOW}"], "added": [f"add operand 0 {LOW}"],
    "replaced": [f"replace operand 0 {LOW}"], "ten thousand": [f"add operand 0 {LATER.format('-9984.0')}"],
    "nan": ["add operand 0", f"replace {INFINITE}"], "zero": ["add operand 0", f"replace {INFINITE}", "zero_empty"],
    "one key": ["replace operand 0", "zero_nan"], "guarded": [f"add operand 0 {INFINITE}", "zero_nan"], "hidden": [f"add operand 0 {INFINITE}", "zero_hidden"],
}
# By what all keys of the first query are hidden, and modes in which it gets 0 then, not the mean of all values, or
# that by its scores, or NaN. Of ten thousand it is the nearest number that bfloat16 has, as the mask is loaded in it.
LOWEST = dict.fromkeys(("lowest", "added", "replaced"), np.finfo(np.float32).min)
EMPTY = LOWEST | {"ten thousand": -9984} | dict.fromkeys(("nan", "zero", "guarded", "hidden"), -np.inf)
ZEROS = ("zero", "guarded", "hidden", "one key")


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


class AttentionCases:
    """What a Checker tries of it."""

    def attention(self):
        cases = [(3, 4, "plain"), (3, 4, "key_bias"), (3, 4, "score_bias"), (2, 3, "causal"), (2, 3, "fewer"), (2, 3, "more"),
                 (2, 3, "softcap"), (2, 3, "raised"), (3, 4, "both"), *((2, 3, mode) for mode in EMPTY)]
        for mesh, batch, tokens, case in self.cases():
            for heads, size, mode in cases:
                if mode in LOWEST and self.precision != "f32" or self.shared and mode not in ("plain", "more"):
                    continue  # an infinity; what hears keys is the same
                keys = {"fewer": 2, "more": 11}.get(mode, tokens)
                self.attend(mesh, batch, tokens, keys, heads, size, mode, f"attention-{mode}-{case}")
                columns = min(int(mesh.split("x")[0]) // heads, size)
                for spread in {columns, 2} if columns > 1 else {}:  # all that there are, and two
                    self.attend(mesh, batch, tokens, keys, heads, size, mode,
                                f"attention-{mode}-{spread}-columns-{case}", spread)
            self.attend(mesh, batch, tokens, tokens + 2, 3, 4, "head_bias", f"attention-head_bias-{case}")
            self.attend(mesh, batch, tokens, 1, 3, 4, "one key", f"attention-one_key-{case}")
        for mode in ("plain", "causal"):  # scores too large for one block
            self.attend("3x2", 1, 80, 80, 3, 4, mode, f"attention-{mode}-blocks")
            self.attend("8x2", 1, 80, 80, 3, 4, mode, f"attention-{mode}-blocks-2-columns", 2)
        for mode in ("softcap", "head_bias", "both", *(mode for mode in EMPTY if self.precision == "f32" or mode not in LOWEST)):
            self.attend("3x2", 1, 80, 80, 3, 4, mode, f"attention-{mode}-blocks")
        for mesh, columns in (("3x2", 1), ("8x2", 2)):
            self.attend(mesh, 1, 80, 80, 3, 4, "causal", "attention-few-scores", columns, few=True)
        self.attend("4x8", 1, 200, 200, 2, 50, "plain", "attention-few-scores-slices", 2, few=True)
        # Keys and values from the store, in rounds of 64, of one, and of 40 keys.
        for mode in ("plain", "causal", "softcap", "key_bias") if self.precision == "f32" else ():
            for mesh, tokens, size, columns in (("3x4", 128, 4, 1), ("7x5", 17, 4, 2), ("8x3", 80, 50, 2)):
                self.attend(mesh, 1, tokens, tokens, 3, size, mode, f"attention-{mode}-stored-{mesh}", columns, stored=True)
            self.attend("3x4", 1, 128, 128, 3, 4, mode, f"attention-{mode}-few-scores-stored", stored=True, few=True)
        # A key of every row is too much at a time: rows in two bands, of which all or some have the last tokens. The second is
        # a minute of steps, in which burst is 1.2 % fast.
        stepped = self.engine == "wavelet" or self.engines
        for mesh, tokens, mode in (("2x90", 4140, "plain"), ("4x101", 4120, "causal"))[:1 if stepped else 2]:
            self.attend(mesh, 1, tokens, tokens, 2, 4, mode, f"attention-{mode}-bands", int(mesh[0]) // 2)
        if not stepped:  # bands that bring all their keys; burst is 1.4 % fast
            self.attend("4x175", 1, 500, 500, 2, 4, "causal", "attention-few-scores-bands", 2, few=True)
        self.attend("4x250", 1, 260, 260, 2, 4, "causal", "attention-two-bands", 2, bands=2)
        self.attend("4x60", 1, 250, 250, 2, 4, "causal", "attention-three-bands-of-several-keys", 2, bands=3)
        self.attend("2x241", 1, 241, 241, 2, 1, "plain", "attention-tall")
        # More keys than a buffer takes of all own features.
        self.attend("4x8", 1, 200, 200, 2, 50, "causal", "attention-slices-2-columns", 2)

    def attend(self, mesh, batch, tokens, keys, heads, size, mode, case, head_columns=1, stored=False, few=False, bands=0):
        p = self.program(mesh)
        self.attend_in_all_rows(p, batch, heads, size)
        arrays = [self.normal(batch, count, heads * size) for count in (tokens, keys, keys)]
        q, k, v = (p.load(name, array, p.encoding(batch, array.shape[1], "heads", size, head_columns=head_columns))
                   for name, array in zip("qkv", arrays))
        bias, placed, masks, mask_types, terms = 0, 0, [], [], TERMS.get(mode)
        if mode in ("key_bias", "both"):
            mask = np.where(self.random.random((batch, 1, keys)) < 0.3, -1e4, 0).astype(np.float32)
            value, type = p.load("m", mask, p.encoding(batch, 1, "replicated", rows="replicated", span=tokens))
            bias, masks, mask_types = mask[:, None], [value], [type]
        if mode in ("score_bias", "both"):
            scores = self.normal(1, tokens, keys)
            if mode == "both":  # half of which stand in place of scores
                scores = placed = scores * (self.random.random(scores.shape) < 0.5)
            else:
                bias = scores[:, None]
            value, type = p.load("s", scores, p.encoding(batch, tokens, "replicated"), (batch, tokens, keys), (0, keys, 1))
            masks.append(value)
            mask_types.append(type)
        if mode in ("head_bias", "one key"):
            scores = self.normal(1, heads, tokens, keys)
            if mode == "one key":  # which some heads see, and others do not
                scores = placed = np.where(scores < 0, -np.inf, 0).astype(np.float32)
            by_token = scores.transpose(0, 2, 1, 3).reshape(1, tokens, heads * keys)
            value, type = p.load("m", by_token, p.encoding(batch, tokens, "heads", keys),
                                 (batch, tokens, heads * keys), (0, heads * keys, 1))
            bias, masks, mask_types = 0 if mode == "one key" else scores, [value], [type]
        if mode in EMPTY:  # the first query sees no key: the later ones hide themselves, the bias its own
            hidden = np.float32(EMPTY[mode])
            scores = np.zeros((batch, 1, keys), np.float32)
            scores[:, :, 0] = hidden
            value, type = p.load("m", scores, p.encoding(batch, 1, "replicated", rows="replicated", span=tokens))
            bias = scores[:, None] + np.triu(np.full((tokens, keys), hidden, np.float32), 1)
            bias = np.maximum(bias, hidden)
            masks, mask_types = [value], [type]
        if mode == "causal":
            bias = np.triu(np.full((tokens, keys), -1e30, np.float32), 1)
        operand, types = ((f" masks {', '.join(words)}" if words else "" for words in (masks, mask_types)))
        flags = " softcap(0.75)" if mode == "softcap" else ""
        if terms:
            flags += f" terms [{', '.join(f'#onnx.term<{term}>' for term in terms)}]"
        y = p.op(f"attention {q[0]}, {k[0]}, {v[0]}{operand} heads({heads}) scale(0.5){flags}"
                 f" : {q[1]}, {k[1]}, {v[1]}{types} -> {q[1]}", q[1])
        if few or bands:
            p.body[-1] = p.body[-1].replace("{nodes", f"{{{'few_scores' if few else f'wse.bands = {bands} : i64'}, nodes")
        if stored:
            held, features = f"tensor<2x{keys}x{heads * size}xf32>", heads * size
            p.declarations.append(f"intermediate @kv : {held}")
            p.body[-1:] = [f'store {tensor[0]} to "kv" at {i * keys * features} strides [{keys * features}, {features}, 1] on @r : {tensor[1]} to {held}'
                           for i, tensor in enumerate((k, v))] + [p.body[-1].replace("{nodes", f"{{wse.stored = #wse.weight<@kv : {held}>, nodes")]
        qh, kh, vh = (a.reshape(batch, -1, heads, size).transpose(0, 2, 1, 3) for a in arrays)
        scores = qh @ kh.transpose(0, 1, 3, 2) * np.float32(0.5)
        if mode == "softcap":
            scores = np.float32(0.75) * np.tanh(scores / np.float32(0.75))
        with np.errstate(all="ignore"):
            scores = np.where(placed != 0, placed, scores + bias)
            result = softmax(np.maximum(scores, -2) if mode == "raised" else scores)
        result = (np.nan_to_num(result) if mode in ZEROS else result) @ vh
        p.store(y, "y", result.transpose(0, 2, 1, 3).reshape(batch, tokens, heads * size))
        self.check(p, case)

    def attend_in_all_rows(self, p, batch, heads, size):
        """Where streams are shared, an attention in all rows of the same groups."""
        if not self.shared or batch > p.height:
            return
        other = self.normal(batch, p.height // batch, heads * size)
        value, type = p.load("others", other, p.encoding(batch, other.shape[1], "heads", size))
        z = p.op(f"attention {value}, {value}, {value} heads({heads}) scale(0.5) : {type}, {type}, {type} -> {type}", type)
        oh = other.reshape(batch, -1, heads, size).transpose(0, 2, 1, 3)
        oh = softmax(oh @ oh.transpose(0, 1, 3, 2) * np.float32(0.5)) @ oh
        p.store(z, "z", oh.transpose(0, 2, 1, 3).reshape(other.shape))

    def rotary(self):
        """Heads whole in their column, and over several; all of a head, and some features."""
        for mesh, batch, tokens, case in self.cases():
            width = int(mesh.split("x")[0])
            for heads, size, turned, which in ((1, 6, 6, ""), (3, 4, 4, "interleaved"), (2, 8, 6, ""), (1, 8, 6, "interleaved"), (2, 300, 300, "")):
                if size == 300 and width < 8:
                    continue  # PEs lack SRAM
                half, spread = turned // 2, min(max(1, width // heads), 3 if size == 8 else size)
                for angles in (half, turned):
                    p, x = self.program(mesh), self.normal(batch, tokens, heads * size)
                    cos, sin = (self.normal(batch, tokens, angles) for _ in "ab")
                    value, type = p.load("x", x, p.encoding(batch, tokens, "heads", size, head_columns=spread))
                    c, its = p.load("c", cos, p.encoding(batch, tokens, "replicated"))
                    s, _ = p.load("s", sin, p.encoding(batch, tokens, "replicated"))
                    y = p.op(f"rotary {value}, {c}, {s} dim({turned}) {which} : {type}, {its}", type)
                    xh, expected = x.reshape(batch, tokens, heads, size), x.reshape(batch, tokens, heads, size).copy()
                    first, second = ((slice(0, turned, 2), slice(1, turned, 2)) if which else (slice(0, half), slice(half, turned)))
                    for own, other, sign in ((first, second, -1), (second, first, 1)):
                        a, b = (its[..., None, own] if angles == turned else its[..., None, :] for its in (cos, sin))
                        expected[..., own] = xh[..., own] * a + sign * xh[..., other] * b
                    p.store(y, "y", expected.reshape(x.shape))
                    self.check(p, f"rotary-{heads}x{size}-{turned}{which}-{angles}-{case}")

    def attention_gradient(self):
        """Fewer and more keys than queries; later keys hidden by an addend or replaced; keys in rounds and features in slices."""
        modes = ["plain", "fewer", "more", f"add {LATER.format('-9984.0')}", f"replace {INFINITE}"]
        for mesh, batch, tokens, case in self.cases():
            for mode in modes[:3] if self.shared else modes:
                for heads, size, value_size in ((2, 3, 3), (3, 4, 2)):
                    columns = min(int(mesh.split("x")[0]) // heads, value_size)
                    for spread in {1, columns, 2} if columns > 1 else {1}:
                        self.differentiate(mesh, batch, tokens, heads, (size, value_size), mode, case, spread)
        if self.shared or self.few:
            return
        for mesh, columns in (("3x2", 1), ("8x2", 2), ("2x1", 1), ("8x3", 2), ("3x7", 1)):
            for mode in ("plain", f"add {INFINITE}"):
                self.differentiate(mesh, 1, 80, 3, (4, 4), mode, "rounds", columns)
            self.differentiate(mesh, 1, 80, 3, (4, 4), mode, "few-scores", columns, few=True)
        self.differentiate("4x8", 1, 200, 2, (50, 49), f"replace {LOW}", "slices", 2)
        # Three bands of rows that bring all their keys, and all keys at once, in which burst is 1.3 % slow.
        for mesh, tokens in (("4x90", 250), ("4x130", 255))[:1 if self.engines else 2]:
            self.differentiate(mesh, 1, tokens, 2, (4, 4), f"add {INFINITE}", "bands", 2, few=True)
        # In a tall column, whose sums and words go north in two phases.
        self.differentiate("4x250", 1, 260, 2, (4, 3), f"replace {LOW}", "two-bands", 2, bands=2)
        self.differentiate("2x241", 1, 241, 2, (1, 1), "plain", "tall")
        # Queries one by one, of which some rows have one less.
        for mesh, tokens, mode, columns in (("4x24", 605, f"add {INFINITE}", 2), ("2x25", 600, "plain", 1), ("3x31", 599, f"replace {LOW}", 1)):
            self.differentiate(mesh, 1, tokens, 2, (4, 3), mode, "one-by-one", columns, few=True)

    def differentiate(self, mesh, batch, tokens, heads, sizes, mode, case, columns=1, few=False, bands=0):
        p, keys = self.program(mesh), {"fewer": 2, "more": 11}.get(mode, tokens)
        self.attend_in_all_rows(p, batch, heads, sizes[0])
        counts, size = (tokens, keys, keys, tokens, tokens), (sizes[0], sizes[0], sizes[1], sizes[1], sizes[1])
        arrays = [self.normal(batch, count, heads * each) for count, each in zip(counts, size)]
        q, k, v, _, dy = (a.astype(float).reshape(batch, -1, heads, each).transpose(0, 2, 1, 3)
                          for a, each in zip(arrays, size))
        scores = 0.5 * q @ k.transpose(0, 1, 3, 2)
        terms = ""
        if "later" in mode:
            scores[:, :, np.triu(np.ones((tokens, keys), bool), 1)] = -np.inf
            terms = f" terms [#onnx.term<{mode}>]"
        weights = softmax(scores)
        y = weights @ v
        slopes = weights * (dy @ v.transpose(0, 1, 3, 2) - (dy * y).sum(-1, keepdims=True))
        expected = [0.5 * slopes @ k, 0.5 * slopes.transpose(0, 1, 3, 2) @ q, weights.transpose(0, 1, 3, 2) @ dy]
        arrays[3] = y.transpose(0, 2, 1, 3).reshape(batch, tokens, -1).astype(np.float32)
        loaded = [p.load(name, array, p.encoding(batch, array.shape[1], "heads", each, head_columns=columns))
                  for name, array, each in zip(("q", "k", "v", "y", "dy"), arrays, size)]
        name, _ = p.op(f"attention_gradient {', '.join(value for value, _ in loaded)} heads({heads}) scale(0.5){terms}"
                       f" : {', '.join(type for _, type in loaded[:4])}", None)
        p.body[-1] = p.body[-1].replace(f"{name} =", f"{name}:3 =")
        if few or bands:
            p.body[-1] = p.body[-1].replace("{nodes", f"{{{'few_scores' if few else f'wse.bands = {bands} : i64'}, nodes")
        for i, gradient in enumerate(expected):
            p.store((f"{name}#{i}", loaded[i][1]), "qkv"[i] + "_gradient",
                    gradient.transpose(0, 2, 1, 3).reshape(arrays[i].shape).astype(np.float32))
        kind = mode.split()[0]
        self.check(p, f"attention_gradient-{kind}-{heads}x{sizes[0]}-{columns}-columns-{case}")
