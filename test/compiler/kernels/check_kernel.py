# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles small wse programs of one kernel, runs them, compares with NumPy.

usage: check_kernel.py KERNEL --work FOLDER [--mesh WxH ...] [--machine NAME|JSON]
                       [--precision f16|bf16] [--precision-opt-level 0|1|2] [--shared] [--few]
                       [--engine NAME] [--engines NAME:PERCENT ...]

Meshes of one row, one column, fewer and more PEs than tokens and features;
batches that share the rows, and that do not fit them. --engines: holds these
to wavelet instead of NumPy, outputs to the bit, the work, and cycles to so many percent.
--precision: tensors on the wafer have 16 bits, those of the host 32.
--shared: beside the kernel something is in all rows, and there are so few colors
that its streams have to be the kernel's, too.
--few: fewer tokens than rows, and one; products have several blocks of each.
--carried: launches carry numbers, what routines repeat is in loops."""

import argparse
import itertools
import json
import math
import os
import sys

import numpy as np
from attention_cases import AttentionCases, softmax
from kernel_programs import Program, expanded, quantized, rounded, tensor_type

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../e2e/models"))
import sparse_masks  # noqa: E402

MESHES = ["1x1", "1x5", "6x1", "3x2", "8x8", "13x7"]
BATCHES = [(1, 6), (2, 5), (9, 3)]  # batch elements, tokens of each
PAIRED = [(1, 16), (2, 8), (9, 4)]  # whose tokens of 16 bits pair up in words
FEW = [(1, 1), (1, 3), (2, 1)]
FEATURES = 17
# Of the largest value. Each rounding to 16 bits is half a unit in the last
# place; a kernel makes a few, of operands, weights and results.
TOLERANCES = {"f32": 1e-5, "f16": 6 * 2.0**-11, "bf16": 6 * 2.0**-8}


class Checker(AttentionCases):
    def __init__(self, arguments):
        self.work, self.machine = arguments.work, arguments.machine
        self.engines = {name: float(percent) for name, percent in (text.split(":") for text in arguments.engines)}
        self.predicted, _, percent = arguments.predicted.partition(":")
        self.limits = self.engines | ({"prediction": float(percent)} if percent else {})
        self.off, self.failed = {its: [] for its in self.limits}, False
        self.engine, self.precision, self.level = arguments.engine, arguments.precision, arguments.precision_opt_level
        self.meshes, self.shared, self.saved = arguments.mesh or MESHES, arguments.shared, 0
        self.few, Program.carried = arguments.few, arguments.carried
        self.random = np.random.default_rng(1)

    def normal(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def program(self, mesh):
        return Program(mesh, self.machine, self.engine, self.precision, self.level)

    def check(self, program, case):
        folder = f"{self.work}/{case}-{program.mesh}"
        if self.shared and program.shared is None:
            program.share(self.normal(1, program.height, FEATURES))
        try:
            if self.limits:
                for engine, off in program.run_engines(folder, self.engines, self.predicted):
                    self.off[engine].append(100 * off)
                    print(f"{case} {program.mesh} cycles of {engine} {100 * off:+.1f} %", flush=True)
                return
            error = program.run(folder)
            # A score of up to 16 that is rounded weighs its value with as many times the error.
            verdict = "ok" if error <= TOLERANCES[self.precision] * (4 if self.level > 1 else 1) else "WRONG"
            print(f"{case} {program.mesh} error {error:.1e} {verdict}", flush=True)
        except RuntimeError as problem:
            verdict = "FAILED"
            print(f"{case} {program.mesh} {verdict}: {problem}", flush=True)
        finally:
            self.saved += program.shared or 0
        self.failed |= verdict != "ok"

    def cases(self):
        for mesh in self.meshes:
            for batch, tokens in FEW if self.few else BATCHES + (PAIRED if self.precision != "f32" else []):
                yield mesh, batch, tokens, f"b{batch}s{tokens}"

    def channels(self):
        """I/O channels of an edge."""
        return json.loads(self.machine).get("channels", 44) if self.machine.startswith("{") else 44

    # ------------------------------------------------------------- kernels

    def load(self):
        for mesh, batch, tokens, case in self.cases():
            x, p = self.normal(batch, tokens, FEATURES), self.program(mesh)
            # No numbers, infinities, what f16 does not hold, and the least it does.
            x.flat[:5] = np.nan, np.inf, -np.inf, 1e6, 2**-24
            x = rounded(x, self.precision)
            p.store(p.load("x", x, p.encoding(batch, tokens)), "y", x)
            p.exact = ("y",)
            row = self.normal(1, tokens, FEATURES)
            repeated = p.load("row", row, p.encoding(batch, tokens), x.shape, (0, FEATURES, 1))
            p.store(repeated, "z", np.broadcast_to(row, x.shape))
            self.check(p, f"load-{case}")

    def store(self):
        """By columns, which share out the channels south of all tokens."""
        for mesh, batch, tokens, case, features in [(*case, FEATURES) for case in self.cases()] + [("8x8", 1, 6, "b1s6f32", 32), ("3x9", 3, 3, "b3s3f12", 12)]:
            x, p = rounded(self.normal(batch, tokens, features), self.precision), self.program(mesh)
            tensor = p.load("x", x, p.encoding(batch, tokens))
            p.store(tensor, "y", x, "by_columns")
            p.store(tensor, "z", x)
            p.exact = ("y", "z")
            self.check(p, f"store-{case}")

    def weight_gradient(self):
        """The output with a row for each feature that moves, and with one for each that stays."""
        sizes = [("balanced", 0, 17, 23), ("balanced", 0, 4, 5), ("heads", 4, 12, 20), ("balanced", 0, 36, 64)]
        cases = [(*case, *size) for case in self.cases() for size in sizes]
        # More than is multicast at once: in parts, of all sizes of blocks; and what two lanes have smaller blocks of.
        for mesh in self.meshes:
            width, height = self.program(mesh).width, self.program(mesh).height
            cases += [(mesh, 1, 2048 * height // (2 * width) + 3, "parts", "balanced", 0, 2 * width, stays) for stays in (5, 40) * (width > 1)] + [(mesh, 1, height, "turns", "balanced", 0, 192, 5 * width)]
        for mesh, batch, tokens, case, columns, head, moves, stays in cases:
            p, encoding = self.program(mesh), self.program(mesh).encoding(batch, tokens, columns, head)
            x, dy = self.normal(batch, tokens, moves), self.normal(batch, tokens, stays)
            cast, kept = p.load("x", x, encoding), p.load("dy", dy, encoding)
            p.weight_gradient(kept, cast, "y", np.einsum("btc,btk->ck", x, dy))
            p.weight_gradient(kept, cast, "z", np.einsum("btc,btk->kc", x, dy), "kept_first")
            if moves == 36:  # in more blocks than the others have
                p.weight_gradient(kept, cast, "s", np.einsum("btc,btk->ck", x, dy), small=True)
                p.weight_gradient(kept, cast, "t", np.einsum("btc,btk->kc", x, dy), "kept_first", small=True, lanes=True)
            p.weight_gradient(kept, cast, "l", np.einsum("btc,btk->ck", x, dy), lanes=True)  # also of exits with few columns, and with none
            self.check(p, f"weight-gradient-{columns}-{moves}x{stays}-{case}")

    def gather(self):
        for mesh, batch, tokens, case in self.cases():
            p, table = self.program(mesh), self.normal(11, FEATURES)
            ids = self.random.integers(-11, 11, (batch, tokens))
            p.declare("ids", ids)
            type = tensor_type((batch, tokens, FEATURES), p.encoding(batch, tokens))
            p.store(p.op(f"gather {p.weight('table', table)} at @ids : {type}", type), "y", table[ids])
            self.check(p, f"gather-{case}")

    def elementwise(self):
        for mesh, batch, tokens, case in self.cases():
            p, vector = self.program(mesh), self.normal(FEATURES)
            x, per_batch = self.normal(batch, tokens, FEATURES), self.normal(batch, 1, FEATURES)
            per_token = self.normal(batch, tokens, 1)
            full = p.load("x", x, p.encoding(batch, tokens))
            shared = p.load("b", per_batch, p.encoding(batch, 1, rows="replicated", span=tokens))
            single = p.load("t", per_token, p.encoding(batch, tokens, "replicated"))
            y = p.op(
                f"elementwise({full[0]}, {shared[0]}, {single[0]}) vectors [{p.weight('v', vector)}]"
                f" : ({full[1]}, {shared[1]}, {single[1]}) -> {full[1]} {{\n"
                """  ^bb0(%x: f32, %b: f32, %t: f32, %v: f32):
    %zero = arith.constant 0.0 : f32
    %0 = arith.addf %x, %v : f32
    %1 = math.tanh %0 : f32
    %2 = arith.cmpf ogt, %x, %zero : f32
    %3 = arith.select %2, %1, %v : f32
    %4 = arith.addf %3, %b : f32
    %5 = arith.mulf %4, %t : f32
    wse.yield %5 : f32
  }""", full[1])
            p.store(y, "y", (np.where(x > 0, np.tanh(x + vector), vector) + per_batch) * per_token)
            self.check(p, f"elementwise-{case}")
            # Temporaries of words, and a result that a last instruction selects.
            p, n = self.program(mesh), self.random.integers(0, 7, x.shape)
            value, type = p.load("x", x, p.encoding(batch, tokens))
            p.declare("n", n)
            its_type = tensor_type(n.shape, p.encoding(batch, tokens), "i32")
            numbers = p.op(f"load @n : {its_type}", its_type)[0]
            y = p.op(f"elementwise({value}, {numbers}) : ({type}, {its_type}) -> {type} {{\n"
                     """  ^bb0(%x: f32, %n: i32):
    %three = arith.constant 3 : i32
    %other = arith.constant -1.5 : f32
    %0 = arith.cmpi slt, %n, %three : i32
    %1 = arith.select %0, %x, %other : f32
    wse.yield %1 : f32
  }""", type)
            p.store(y, "y", np.where(n < 3, x, -1.5))
            self.check(p, f"elementwise-of-integers-{case}")

    def shared_functions(self):
        """Functions of few tokens, which all rows of their batch element compute."""
        for mesh, batch, tokens, features in (("2x9", 1, 1, 60), ("3x9", 2, 1, 100), ("1x8", 1, 3, 40), ("3x10", 3, 2, 65), ("13x7", 1, 1, 800)):
            p, x, z = self.program(mesh), self.normal(batch, tokens, features), self.normal(batch, tokens, features)
            (value, type), (other, _) = (p.load(name, its, p.encoding(batch, tokens)) for name, its in (("x", x), ("z", z)))
            y = p.op(f"elementwise({value}, {other}) : ({type}, {type}) -> {type} {{\n"
                     """  ^bb0(%x: f32, %z: f32):
    %half = arith.constant 0.5 : f32
    %0 = math.tanh %x : f32
    %1 = arith.mulf %0, %z : f32
    %2 = arith.addf %1, %half : f32
    %3 = math.erf %2 : f32
    %4 = arith.mulf %x, %half : f32
    %5 = arith.addf %4, %3 : f32
    %6 = math.exp %5 : f32
    wse.yield %6 : f32
  }""", type)
            erf = np.vectorize(math.erf)
            p.store(y, "y", np.exp(0.5 * x + erf(np.tanh(x) * z + 0.5)).astype("f4"))
            self.check(p, f"shared-functions-b{batch}s{tokens}f{features}")

    def row_kernel(self, name, attributes, reference):
        for mesh, batch, tokens, case in self.cases():
            p, x = self.program(mesh), self.normal(batch, tokens, FEATURES)
            value, type = p.load("x", x, p.encoding(batch, tokens))
            p.store(p.op(f"{name} {value} {attributes(p)} : {type}", type), "y", reference(x))
            self.check(p, f"{name}-{case}")

    def layer_norm(self):
        scale, bias = self.normal(FEATURES), self.normal(FEATURES)

        def reference(x):
            centred = x - x.mean(-1, keepdims=True)
            variance = (centred**2).mean(-1, keepdims=True)
            return centred / np.sqrt(variance + 1e-5) * scale + bias

        self.row_kernel("layer_norm", lambda p: f"scale {p.weight('s', scale)} bias {p.weight('b', bias)} epsilon(1.0e-5)", reference)

    def rms_norm(self):
        scale = self.normal(FEATURES)
        self.row_kernel("rms_norm", lambda p: f"scale {p.weight('s', scale)} epsilon(1.0e-5)",
                        lambda x: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * scale)

    def norm_gradient(self):
        scale = self.normal(FEATURES)
        for (mesh, batch, tokens, case), centred in itertools.product(self.cases(), (True, False)):
            p, arrays = self.program(mesh), [self.normal(batch, tokens, FEATURES) for _ in "xd"]
            (x, type), (dy, _) = (p.load(name, array, p.encoding(batch, tokens)) for name, array in zip(("x", "dy"), arrays))
            values, _ = p.op(f"norm_gradient {x}, {dy} scale {p.weight('s', scale)} epsilon(1.0e-5){' centred' * centred} : {type}", type)
            p.body[-1] = p.body[-1].replace(f"{values} =", f"{values}:2 =")
            mean = lambda array: array.mean(-1, keepdims=True)
            of, g = arrays[0].astype("f8"), arrays[1].astype("f8") * scale
            if centred:
                of, g = of - mean(of), g - mean(g)
            inverse = 1 / np.sqrt(mean(of**2) + 1e-5)
            normal = of * inverse
            for index, (name, expected) in enumerate((("dx", (g - normal * mean(g * normal)) * inverse), ("normal", normal))):
                p.store((f"{values}#{index}", type), name, expected.astype("f4"))
            self.check(p, f"norm-gradient-{'layer' if centred else 'rms'}-{case}")

    def softmax(self):
        self.row_kernel("softmax", lambda p: "", softmax)

    def matmul(self):
        # More and fewer features than columns; whole heads on both sides.
        sizes = [("balanced", 0, 17, 23), ("balanced", 0, 4, 5), ("heads", 4, 12, 20)]
        if self.few:
            sizes += [("balanced", 0, 17, 1100), ("balanced", 0, 1100, 17)]
        for mesh, batch, tokens, case in self.cases():
            width, height = (int(extent) for extent in mesh.split("x"))
            # Where weights stay, rows have as many result features, or some one less.
            rows = [("balanced", 0, 17, 3 * height - 1), ("balanced", 0, 4, height), ("balanced", 0, 5, 2 * height - 1),
                    ("heads", 4, 12, 4 * height - 4)]
            if mesh == "3x2":  # in two buffers in turns, with and without a rest
                rows += [("balanced", 0, 237, 9 * height - 1), ("balanced", 0, 240, 10 * height - 1), ("balanced", 0, 240, 10 * height)]
            for variant in ("reduce", "broadcast", "stationary", "reduce_stored", "broadcast_stored"):
                # Injectors keep words for other rows of their column.
                if variant.endswith("_stored") and (height == 1 or batch * tokens == 1):
                    continue
                if variant == "stationary" and min(width, height) == 1:
                    continue
                for columns, head, k, n in rows if variant == "stationary" else sizes:
                    p, x = self.program(mesh), self.normal(batch, tokens, k)
                    w, bias = self.normal(k, n), self.normal(n)
                    encoding = p.encoding(batch, tokens, columns, head)
                    value, type = p.load("x", x, encoding)
                    result = tensor_type((batch, tokens, n), encoding)
                    y = p.op(f"matmul {value} weight {p.weight('w', w)} bias {p.weight('b', bias)} variant({variant}) : {type} -> {result}", result)
                    p.store(y, "y", x @ w + bias)
                    if self.shared and variant.endswith("_stored"):
                        value, type = p.share(x := self.normal(1, height, k))
                        result = tensor_type((1, height, n), p.encoding(1, height))
                        z = p.op(f"matmul {value} weight {p.weight('w', w)} variant({variant}) : {type} -> {result}", result)
                        p.store(z, "z", x @ w)
                    self.check(p, f"matmul-{variant}-{columns}-{k}x{n}-{case}")
        # So many blocks that the last comes once more, of one line or two.
        for variant, k, n in (("reduce_stored", 400, 512), ("reduce_stored", 400, 514), ("broadcast_stored", 512, 400), ("broadcast_stored", 514, 400)):
            p, x, w = self.program("2x2"), self.normal(1, 4, k), self.normal(k, n)
            value, type = p.load("x", x, p.encoding(1, 4))
            result = tensor_type((1, 4, n), p.encoding(1, 4))
            y = p.op(f"matmul {value} weight {p.weight('w', w)} variant({variant}) : {type} -> {result}", result)
            p.store(y, "y", x @ w)
            self.check(p, f"matmul-{variant}-{k}x{n}")

    def batched_matmul(self):
        """With matrices for each batch element, for some of its tokens, and for several."""
        cases = [(mesh, batch, tokens, matrices, k, n, f"{matrices}x{k}x{n}-{case}") for mesh, batch, tokens, case in self.cases()
                 for matrices in sorted({batch, batch * tokens} - {1}) for k, n in ((9, 23), (4, 5), (1, 9), (18, 3))]
        # Rows with tokens of several matrices, and several chunks of them, with and without a rest.
        cases += [("3x5", 1, 12, 3, 6, 7, "1-batch"), ("8x8", 2, 30, 6, 8, 12, "2-batch"), ("4x7", 1, 96, 12, 9, 5, "many"),
                  ("3x2", 1, 80, 2, 200, 11, "chunks"), ("5x3", 1, 99, 9, 120, 6, "rest"), ("4x3", 7, 9, 7, 120, 10, "sequences")]
        for mesh, batch, tokens, matrices, k, n, case in cases:
            p, x, w = self.program(mesh), self.normal(batch, tokens, k), self.normal(matrices, k, n)
            value, type = p.load("x", x, p.encoding(batch, tokens))
            p.declare("w", w)
            result = tensor_type((batch, tokens, n), p.encoding(batch, tokens))
            y = p.op(f"matmul {value} weight #wse.weight<@w : {tensor_type(w.shape)}> variant(broadcast) : {type} -> {result}", result)
            p.store(y, "y", (x.reshape(matrices, -1, k) @ w).reshape(batch, tokens, n))
            self.check(p, f"batched_matmul-{case}")

    def packed_matmul(self):
        # Integers, block (0: one scale for each result feature, -1: one for all), zero points.
        kinds = [("ui4", 8, "each"), ("i4", 16, "none"), ("ui8", 4, "each"), ("i8", 0, "none"),
                 ("ui8", -1, "one"), ("ui4", 0, "one")]
        sizes = [("balanced", 0, 17, 23), ("balanced", 0, 4, 5), ("heads", 4, 12, 20), ("balanced", 0, 67, 9)]
        if self.few:
            sizes = [("balanced", 0, 67, 600), ("balanced", 0, 600, 67)]
        forms = itertools.cycle(itertools.product(kinds, sizes))
        for mesh, batch, tokens, case in self.cases():
            for variant in ("reduce", "broadcast"):
                for (kind, block, points), (columns, head, k, n) in itertools.islice(forms, 3 if self.few else 10):
                    bits, signed = int(kind.strip("ui")), not kind.startswith("u")
                    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
                    shape = (1, 1) if block < 0 else (1, n) if block == 0 else ((k - 1) // block + 1, n)
                    values = self.random.integers(low, high, (k, n))
                    scales = (0.01 + self.random.random(shape)).astype(np.float32)
                    zeros = None if points == "none" else self.random.integers(low, high, shape)
                    if points == "one":
                        zeros[...] = zeros.flat[0]
                    p, x, bias = self.program(mesh), self.normal(batch, tokens, k), self.normal(n)
                    encoding = p.encoding(batch, tokens, columns, head)
                    value, type = p.load("x", x, encoding)
                    result = tensor_type((batch, tokens, n), encoding)
                    w = p.weight("w", values, quantized(values, scales, zeros, max(block, 1), kind))
                    y = p.op(f"matmul {value} weight {w} bias {p.weight('b', bias)} variant({variant}) packed : {type} -> {result}", result)
                    p.store(y, "y", x @ expanded(values, scales, zeros, block) + bias)
                    # The same with weights that the store makes f32.
                    z = p.op(f"matmul {value} weight {w} bias {p.weight('b', bias)} variant({variant}) : {type} -> {result}", result)
                    p.store(z, "z", x @ expanded(values, scales, zeros, block) + bias)
                    p.equal = ("y", "z") if self.precision == "f32" else ()  # or z's are rounded
                    self.check(p, f"packed_matmul-{variant}-{kind}-{block}-{points}-{columns}-{k}x{n}-{case}")

    def resident_matmul(self):
        """Weights of another entry, result features that rows need not share
        evenly, and may be fewer than rows; tokens in rounds that cut rows."""
        sizes = [("balanced", 0, 17, 23), ("balanced", 0, 17, 13), ("balanced", 0, 4, 5), ("balanced", 0, 17, 32), ("heads", 4, 12, 20)]
        cases = [case for case in self.cases() if "1" not in case[0].split("x")]
        cases += [("3x2", 1, 301, "b1s301"), ("3x2", 3, 151, "b3s151")]
        for mesh, batch, tokens, case in cases:
            for columns, head, k, n in sizes:
                p, x = self.program(mesh), self.normal(batch, tokens, k)
                w, bias = self.normal(k, n), self.normal(n)
                encoding = p.encoding(batch, tokens, columns, head)
                value, type = p.load("x", x, encoding)
                held = tensor_type((1, n, k), p.encoding(1, n, columns, head))
                p.declarations.append(f"parameter @held = {p.weight('w', w.T[None])[len('#wse.weight'):]} resident on @r as {held}")
                p.declarations[-2:] = reversed(p.declarations[-2:])
                p.body.insert(0, 'entry @load { fill @held on @r {nodes = ["w"]} }')
                result = tensor_type((batch, tokens, n), encoding)
                view = f"<@held : {tensor_type(w.shape)} view 0 strides [1, {k}]>"
                y = p.op(f"matmul {value} weight {view} bias {p.weight('b', bias)} variant(stationary) : {type} -> {result}", result)
                p.store(y, "y", x @ w + bias)
                self.check(p, f"matmul-resident-{columns}-{k}x{n}-{case}")

    def products(self):
        """Of a token with matrices of another entry: rows of unlike size, columns without input or result features,
        and results of other columns than the input's."""
        for mesh, sizes in [(mesh, (23, 16, 40)) for mesh in self.meshes if "1" not in mesh.split("x")] + [("5x80", (93, 80))]:
            for k in (17, 4):
                p, x = self.program(mesh), self.normal(1, 1, k)
                value, type = p.load("x", x, p.encoding(1, 1))
                views, types, expected = [], [], []
                for i, n in enumerate(sizes):
                    w, size = self.normal(k, n), 8 if n % 8 == 0 else 0
                    held = tensor_type((1, n, k), p.encoding(1, n))
                    p.declarations.append(f"parameter @held{i} = {p.weight(f'w{i}', w.T[None])[len('#wse.weight'):]} resident on @r as {held}")
                    p.declarations.insert(i, p.declarations.pop())
                    views.append(f"#wse.weight<@held{i} : {tensor_type(w.shape)} view 0 strides [1, {k}]>")
                    types.append(tensor_type((1, 1, n), p.encoding(1, 1, *(("heads", size) if size else ()))))
                    expected.append(x @ w)
                fills = "; ".join(f'fill @held{i} on @r {{nodes = ["w{i}"]}}' for i in range(len(sizes)))
                p.body.insert(0, f"entry @load {{ {fills.replace('; ', chr(10))} }}")
                name, _ = p.op(f"products {value} weights [{', '.join(views)}] : {type} -> {', '.join(types)}", None)
                p.body[-1] = p.body[-1].replace(f"{name} =", f"{name}:{len(sizes)} =")
                for i, (its, y) in enumerate(zip(types, expected)):
                    p.store((f"{name}#{i}", its), f"y{i}", y)
                self.check(p, f"products-{k}")

    def along_rows(self):
        """Products with the norm of their input, whose results stay in the rows, where functions of them are shared by
        columns, or not; and the product of these. Rows and columns of unlike size, and columns without features."""
        for mesh, n, k, last in [("3x2", 23, 17, 5), ("8x8", 17, 40, 16), ("13x7", 14, 9, 29), ("12x5", 93, 24, 24), ("5x80", 160, 12, 6),
                                 ("80x5", 30, 80, 100)]:
            for norm, toward in ((True, True), (True, False), (False, True)):
                p, x = self.program(mesh), self.normal(1, 1, k)
                value, type = p.load("x", x, p.encoding(1, 1))
                result = tensor_type((1, n, 1), p.encoding(1, n, "replicated")) if toward else tensor_type((1, 1, n), p.encoding(1, 1))

                def hold(name, w, its):
                    p.declarations.append(f"parameter @{name} = {p.weight(f'{name}_all', w)[len('#wse.weight'):]} resident on @r as {its}")
                    p.declarations.insert(0, p.declarations.pop())
                    fills.append(f'fill @{name} on @r {{nodes = ["{name}"]}}')
                fills, weights, scale = [], [self.normal(k, n) / 3 for _ in "gu"], self.normal(k)
                for name, w in zip("gu", weights):
                    hold(name, w.T[None], tensor_type((1, n, k), p.encoding(1, n)))
                views = ", ".join(f"#wse.weight<@{name} : {tensor_type((k, n))} view 0 strides [1, {k}]>" for name in "gu")
                a = x
                if norm:
                    hold("s", scale, tensor_type((1, k), f"#wse.dist<rows = [replicated over {p.height}], columns = [1]>"))
                    a = x / np.sqrt((x * x).mean() + 0.01) * scale
                form = f"norm <@s : {tensor_type((k,))}> epsilon(0.01) " * norm
                name, _ = p.op(f"products {value} {form}weights [{views}] : {type} -> {result}, {result}", None)
                p.body[-1] = p.body[-1].replace(f"{name} =", f"{name}:2 =")
                m = p.op(f"elementwise({name}#0, {name}#1) : ({result}, {result}) -> {result} {{\n"
                         """  ^bb0(%g: f32, %u: f32):
    %0 = math.tanh %g : f32
    %1 = arith.mulf %0, %u : f32
    wse.yield %1 : f32
  }""", result)
                expected = np.tanh(a @ weights[0]) * (a @ weights[1])
                if toward:
                    w = self.normal(n, last) / 3
                    hold("d", w[:, None], tensor_type((n, 1, last), p.encoding(n, 1)))
                    its = tensor_type((1, 1, last), p.encoding(1, 1))
                    m = p.op(f"products {m[0]} weights [#wse.weight<@d : {tensor_type(w.shape)} view 0 strides [{last}, 1]>] : {result} -> {its}", its)
                    expected = expected @ w
                p.body.insert(0, "entry @load {\n" + "\n".join(fills) + "\n}")
                p.store(m, "y", expected)
                self.check(p, f"along_rows-{norm}-{toward}-{k}x{n}")

    def turned(self):
        """A token that is made to lie along the rows, products of it there and with its norm, and back: columns without
        features, and of heads of other size."""
        for mesh, k, sizes in [("3x2", 17, (23,)), ("8x8", 40, (17, 8)), ("13x7", 9, (29, 5)), ("12x5", 93, (24, 3)), ("5x80", 160, (12, 6)),
                               ("80x5", 30, (100, 7)), ("1x6", 14, ())]:
            p, x = self.program(mesh), self.normal(1, 1, k)
            value, type = p.load("x", x, p.encoding(1, 1))
            along = tensor_type((1, k, 1), p.encoding(1, k, "replicated"))
            turned = p.op(f"redistribute {value} : {type} -> {along}", along)[0]
            p.store(p.op(f"redistribute {turned} : {along} -> {type}", type), "back", x)
            p.exact = ("back",) if self.precision == "f32" else ()
            scale, fills, views, types, expected = self.normal(k), [], [], [], []
            for name, w, its in [("s", scale, along), *(
                    (f"w{n}", self.normal(k, n) / 3, tensor_type((k, 1, n), p.encoding(k, 1))) for n in sizes)] if sizes else []:
                shaped = w if name == "s" else w[:, None]
                p.declarations.append(f"parameter @{name} = {p.weight(f'{name}_all', shaped)[len('#wse.weight'):]} resident on @r as {its}")
                p.declarations.insert(0, p.declarations.pop())
                fills.append(f'fill @{name} on @r {{nodes = ["{name}"]}}')
                if name != "s":
                    size = 3 if w.shape[1] % 3 == 0 else 0
                    if size:
                        p.declarations[0] = p.declarations[0].replace(p.encoding(k, 1), p.encoding(k, 1, "heads", size))
                    views.append(f"#wse.weight<@{name} : {tensor_type(w.shape)} view 0 strides [{w.shape[1]}, 1]>")
                    types.append(tensor_type((1, 1, w.shape[1]), p.encoding(1, 1, *(("heads", size) if size else ()))))
                    expected.append(x / np.sqrt((x * x).mean() + 0.01) * scale @ w)
            if fills:
                form = f"norm <@s : {tensor_type((k,))}> epsilon(0.01)"
                name, _ = p.op(f"products {turned} {form} weights [{', '.join(views)}] : {along} -> {', '.join(types)}", None)
                p.body[-1] = p.body[-1].replace(f"{name} =", f"{name}:{len(sizes)} =")
                for i, (its, y) in enumerate(zip(types, expected)):
                    p.store((f"{name}#{i}" if len(types) > 1 else name, its), f"y{i}", y)
                p.body.insert(0, "entry @load {\n" + "\n".join(fills) + "\n}")
            self.check(p, f"turned-{k}")

    def sparse_matmul(self):
        # One group, several with a rest and without; nothing kept of the rest.
        sizes = [("balanced", 0, 17, 23, 8, 3, 2), ("balanced", 0, 4, 5, 8, 0, 2), ("heads", 4, 12, 20, 4, 1, 0),
                 ("balanced", 0, 9, 31, 5, 5, 0)] + [("balanced", 0, 17, 1100, 64, 3, 1)] * self.few
        for mesh, batch, tokens, case in self.cases():
            methods = itertools.cycle(("random", "topk", "topk"))
            # Transposed, more activations than a PE hears at once.
            large = [("balanced", 0, 1000, 12, 64, 5, 3)] * ((batch, tokens, mesh) == (1, 6, "6x1"))
            for method, (columns, head, k, n, group, kept, rest) in zip(methods, sizes + large):
                p, x = self.program(mesh), self.normal(batch, tokens, k)
                w, bias = self.normal(k, n), self.normal(n)
                encoding = p.encoding(batch, tokens, columns, head)
                value, type = p.load("x", x, encoding)
                result = tensor_type((batch, tokens, n), encoding)
                sparsity = f"<keep {kept} of {group} rest {rest} {method} seed 5>"
                y = p.op(f"sparse_matmul {value} weight {p.weight('w', w)} bias {p.weight('b', bias)} sparsity {sparsity} : {type} -> {result}", result)
                score = sparse_masks.scores("w", w, method, 5)
                p.store(y, "y", x @ (w * sparse_masks.highest(score, group, kept, rest)) + bias)
                # Groups of input features.
                v, rest = self.normal(k, n), min(rest, k % group)
                z = p.op(f"sparse_matmul {value} weight {p.weight('v', v)} bias {p.weight('b', bias)} "
                         f"sparsity <keep {kept} of {group} rest {rest} {method} seed 5> transposed : {type} -> {result}", result)
                score = sparse_masks.scores("v", v, method, 5).T
                p.store(z, "z", x @ (v * sparse_masks.highest(score, group, kept, rest).T) + bias)
                self.check(p, f"sparse_matmul-{method}-{columns}-{k}x{n}-{case}")

    def reduce_tokens(self):
        for mesh, batch, tokens, case in [*self.cases(), ("3x100", 1, 130, "tall"), ("2x91", 1, 91, "tall")]:
            for kind, function in (("sum", np.sum), ("mean", np.mean), ("max", np.max)):
                p, x = self.program(mesh), self.normal(batch, tokens, FEATURES)
                (value, type), result = p.load("x", x, p.encoding(batch, tokens)), tensor_type((batch, 1, FEATURES), p.encoding(batch, 1))
                y = p.op(f"reduce_tokens {kind} {value} : {type} -> {result}", result)
                p.body[-1] = p.body[-1].replace("{nodes", "{wse.two_phases, nodes" if case == "tall" else "{nodes")
                p.store(y, "y", function(x, axis=1, keepdims=True))
                self.check(p, f"reduce_tokens-{kind}-{case}")

    def running_sum(self):
        """Floats and integers, both ways, with and without the token itself."""
        for mesh, batch, tokens, case in self.cases():
            for how in ("", "exclusive", "reverse", "exclusive reverse"):
                def sums(x):
                    x = np.flip(x, 1) if "reverse" in how else x
                    y = np.cumsum(x, 1, dtype=x.dtype) - (x if "exclusive" in how else 0)
                    return np.flip(y, 1) if "reverse" in how else y

                p, x = self.program(mesh), rounded(self.normal(batch, tokens, FEATURES), self.precision)
                value, type = p.load("x", x, p.encoding(batch, tokens))
                p.store(p.op(f"running_sum {value} {how} : {type}", type), "y", sums(x))
                n = self.random.integers(-1 << 20, 1 << 20, (batch, tokens, 3))
                p.declare("n", n)
                its_type = tensor_type(n.shape, p.encoding(batch, tokens), "i32")
                value, _ = p.op(f"load @n : {its_type}", its_type)
                p.store(p.op(f"running_sum {value} {how} no_wrap : {its_type}", its_type), "z", sums(n))
                p.exact = ("z",)
                self.check(p, f"running_sum-{how.replace(' ', '-') or 'plain'}-{case}")

    def top_k(self):
        """Equal features, infinities, no numbers of both signs; more columns than features."""
        # With numbers of the features from 0 on, or given.
        sizes = [(FEATURES, 1, "", False), (FEATURES, 4, "smallest", True), (5, 5, "", False), (53, 7, "", True),
                 (53, 1, "smallest", True), (80, 1, "", False)]
        for mesh, batch, tokens, case in self.cases():
            for features, count, which, given in sizes:
                p, x = self.program(mesh), np.round(2 * self.normal(batch, tokens, features)) / 2
                x.flat[::5], x.flat[1::11], x.flat[2::13], x.flat[3::17] = -np.inf, np.inf, np.nan, -np.nan
                x.flat[4::7] = -0.0
                value, type = p.load("x", x, p.encoding(batch, tokens))
                keys = np.where(np.isnan(x), 0, x if which else -x), np.isnan(x) ^ (not which)
                best = np.lexsort(keys, axis=-1)[..., :count]  # by the last key, then the other; equal ones stay in order
                results = [tensor_type(best.shape, p.encoding(batch, tokens, "replicated"), element) for element in ("i32", "f32")]
                numbers, how, its_type = np.broadcast_to(np.arange(features), x.shape), "", ""
                if given:
                    numbers = np.sort(self.random.integers(0, 1 << 24, x.shape))
                    p.declare("n", numbers)
                    its_type = tensor_type(x.shape, p.encoding(batch, tokens), "i32")
                    how = f"numbers {p.op(f'load @n : {its_type}', its_type)[0]}"
                    its_type = f" numbers {its_type}"
                name, _ = p.op(f"top_k {value} {how} {which} : {type}{its_type} -> {', '.join(results)}", None)
                p.body[-1] = p.body[-1].replace(f"{name} =", f"{name}:2 =")
                p.store((f"{name}#0", results[0]), "indices", np.take_along_axis(numbers, best, -1))
                p.store((f"{name}#1", results[1]), "values", np.take_along_axis(x, best, -1))
                p.exact = ("indices", "values")
                self.check(p, f"top_k-{count}-of-{features}-{which or 'largest'}-{case}")

    def heads(self):
        """Norms of heads, and parts of them."""
        for mesh, batch, tokens, case in self.cases():
            for heads, size in ((1, 6), (3, 4), (7, 2)):
                p, x = self.program(mesh), self.normal(batch, tokens, heads * size)
                scale = self.normal(heads * size)
                value, type = p.load("x", x, p.encoding(batch, tokens, "heads", size))
                y = p.op(f"rms_norm {value} scale {p.weight('g', scale)} epsilon(1.0e-3) by_head : {type}", type)
                xh = x.reshape(batch, tokens, heads, size)
                normal = xh / np.sqrt(np.mean(xh * xh, -1, keepdims=True) + np.float32(1e-3))
                p.store(y, "y", normal.reshape(x.shape) * scale)
                part = tensor_type((batch, tokens, heads * (size - 1)), p.encoding(batch, tokens, "heads", size - 1))
                z = p.op(f"slice_heads {value} start(1) : {type} -> {part}", part)
                p.store(z, "z", xh[..., 1:].reshape(batch, tokens, -1))
                self.check(p, f"heads-{heads}x{size}-{case}")

    def redistribute(self):
        for mesh, batch, tokens, case in self.cases():
            p, x = self.program(mesh), self.normal(batch, tokens, 12)
            value, type = p.load("x", x, p.encoding(batch, tokens, "heads", 4))
            for name, columns in (("y", "balanced"), ("z", "replicated")):
                result = tensor_type(x.shape, p.encoding(batch, tokens, columns))
                p.store(p.op(f"redistribute {value} : {type} -> {result}", result), name, x)
            for heads, size in ((3, 4), (4, 3), (2, 6)):  # each twice; over two columns where there are enough
                spread = 2 if size % 4 == 0 and int(mesh.split("x")[0]) >= 4 * heads else 1
                result = tensor_type((batch, tokens, 24), p.encoding(batch, tokens, "heads", size, head_columns=spread))
                p.store(p.op(f"redistribute {value} repeat(2) : {type} -> {result}", result), f"twice{size}",
                        np.repeat(x.reshape(batch, tokens, heads, size), 2, axis=2).reshape(batch, tokens, 24))
            self.check(p, f"redistribute-{case}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel")
    parser.add_argument("--work", required=True)
    parser.add_argument("--mesh", action="append")
    parser.add_argument("--machine", default="wse2")
    parser.add_argument("--precision", default="f32", choices=list(TOLERANCES))
    parser.add_argument("--precision-opt-level", type=int, default=0)
    for flag in ("--shared", "--few", "--carried"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--engines", nargs="+", default=[], metavar="NAME:PERCENT")
    parser.add_argument("--predicted", default="", metavar="KIND:PERCENT")
    parser.add_argument("--engine", default="burst")
    arguments = parser.parse_args()
    checker = Checker(arguments)
    getattr(checker, arguments.kernel)()
    for engine, off in checker.off.items():
        least, median, most = np.percentile(off or [np.inf], [0, 50, 100])
        print(f"cycles of {engine}, by which it is off: {least:+.1f} % to {most:+.1f} %, "
              f"half of {len(off)} cases below {median:+.1f} %")
        checker.failed |= bool(max(-least, most) > checker.limits[engine])
    if checker.shared:
        print(f"{checker.saved} streams less where they are shared")
    print("all cases agree" if not checker.failed else "some cases differ")
    return checker.failed


if __name__ == "__main__":
    sys.exit(main())
