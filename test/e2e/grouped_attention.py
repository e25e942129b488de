# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GroupQueryAttention with sequences of lengths of their own.

Usage: grouped_attention.py WORK --mesh WxH. The lengths are inputs, inputs bound at compile time, or initializers,
the total length is fed where it may be, but for bound ones; all engines run the model; lengths that a sequence cannot have end the run. Results are held against onnxruntime's, to 1e-5 of the largest element, those of padding,
too. Keys and values of padding and what lies behind the end of a sequence in its cache are not numbers. A line a way
and an engine.
"""

import argparse
import pathlib
import subprocess
import sys
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
from commands import run
from onnx import TensorProto as T
from onnx import helper as h

ENGINES = ["burst", "strips", "wavelet"]
WAYS = ["input", "bound", "initializer"]
TOLERANCE = 1e-5
EPSILON = 1e-3
HEADS, SIZE = 4, 16  # onnxruntime turns heads of multiples of 16
NAMES = ["q", "k", "v", "past_keys", "past_values", "last", "total", "cosines", "sines", "ids", "bias", "sink",
         "key_scale", "value_scale", "query_norm", "key_norm"]


@dataclass(frozen=True)
class Case:
    last: tuple           # seqlens_k
    tokens: int
    total: int
    past: int = 0         # rows of the cache
    groups: int = 2
    packed: bool = False
    rotary: bool = True
    ids: tuple = ()       # positions
    bias: bool = False
    sink: bool = False    # a score of each head beside those of keys
    column: bool = False  # lengths are [batch, 1]
    scales: str = ""      # of a cache of integers
    norms: bool = False   # of each head of queries and keys
    flags: dict = field(default_factory=dict)

    def is_padding(self):
        """[batch, tokens]: behind the last token of a prompt."""
        last = np.array(self.last)[:, None]
        return (np.arange(self.tokens) > last) & (self.total == self.tokens)


CASES = [
    Case((1, 3, 0), 4, 4),                                       # right-padded prompts
    Case((1, 3), 4, 4, past=9, packed=True),                     # into a cache with room
    Case((2, 4), 5, 5, rotary=False, flags={"local_window_size": 2}),
    Case((1, 3), 4, 4, rotary=False, flags={"causal": 0}),       # padding that would be seen
    Case((1, 4), 6, 6, flags={"local_window_size": 2, "softcap": 5.0}),  # whose window ends with the last token
    Case((3, 3), 4, 4, ids=((2, 7, 7, 7), (1, 1, 1, 1))),        # the first one's position
    Case((6, 2, 0), 1, 7, past=6),                               # one more token each
    Case((6, 2), 1, 7, past=6, rotary=False, groups=4, flags={"causal": 0}),
    Case((5, 2), 1, 7, past=10, packed=True, flags={"rotary_interleaved": 1}),
    Case((5, 2), 1, 7, past=6, flags={"local_window_size": 3, "softcap": 5.0}),
    Case((5, 2), 1, 7, past=6, ids=((4,), (9,))),
    Case((6, 3), 1, 7, past=6, rotary=False, bias=True),
    Case((4, 4), 1, 7, past=6, groups=1),                        # all shorter than they might be
    Case((4, 4), 1, 7, past=6, rotary=False, flags={"causal": 0}),
    Case((5,), 3, 9, past=6),                                    # several tokens behind a cache
    Case((8,), 3, 9, past=9, packed=True, flags={"local_window_size": 4}),
    Case((1, 3), 4, 4, sink=True, column=True),
    Case((5, 2), 1, 7, past=6, sink=True, flags={"local_window_size": 3}),
    Case((5, 2), 1, 7, past=9, column=True, flags={"smooth_softmax": 1}),
    Case((5, 2), 1, 7, past=6, norms=True),
    Case((5, 2), 1, 7, past=7, scales="PER_TENSOR"),
    Case((5,), 3, 9, past=6, scales="PER_CHANNEL", flags={"local_window_size": 4}),
    Case((3,), 4, 4, past=9, scales="PER_TENSOR"),
    Case((5,), 3, 9, past=9, norms=True, packed=True, rotary=False),
    Case((3,), 4, 4, past=9),                                    # a whole prompt into a cache
    Case((6,), 3, 7, past=9, flags={"local_window_size": 3, "softcap": 5.0}),
    Case((1, 4), 6, 6, past=9, flags={"local_window_size": 2, "softcap": 5.0}),  # padding in a cache with room
    Case((1, 3), 4, 4, past=9, rotary=False, flags={"causal": 0}),
]

# A case, and lengths that it cannot have.
IMPOSSIBLE = [(CASES[0], (4, 1, 1)), (CASES[0], (-1, 1, 1)), (CASES[6], (7, 2, 0)), (CASES[6], (-1, 2, 0)),
              (CASES[14], (9,)), (CASES[14], (1,)), (CASES[25], (1,))]
# The same of initializers, where the total length is fed: of padding it has to be a prompt's.
IMPOSSIBLE_HELD = [(CASES[25], (1,)), (CASES[23], (0,))]


def hide(array, is_hidden):
    array[is_hidden] = np.nan
    return array


def operands(case, random):
    """What a case is given: queries, keys, values, caches, lengths, ..., by number of the input."""
    batch, shared = len(case.last), case.groups * SIZE
    widths = [HEADS * SIZE + 2 * shared] if case.packed else [HEADS * SIZE, shared, shared]
    given = {i: random.standard_normal((batch, case.tokens, width)).astype("f4") for i, width in enumerate(widths)}
    for i in [0] if case.packed else [1, 2]:
        shared_part = given[i][:, :, HEADS * SIZE if case.packed else 0:]
        hide(shared_part, case.is_padding())
    if case.past:
        starts = np.array(case.last) + 1 - case.tokens if case.total > case.tokens else np.zeros(batch)
        behind = np.arange(case.past) >= starts[:, None]
        for i in (3, 4):
            shape = (batch, case.past, case.groups, SIZE)
            cache = random.integers(-128, 128, shape).astype("i1") if case.scales else hide(
                random.standard_normal(shape).astype("f4"), behind)
            given[i] = np.ascontiguousarray(cache.swapaxes(1, 2))
    given[5] = np.array(case.last, np.int32).reshape([batch, 1] if case.column else [batch])
    given[6] = np.array(case.total, np.int32)
    if case.rotary:
        angles = np.outer(np.arange(16), 100.0 ** (-np.arange(0, SIZE, 2) / SIZE))
        given[7], given[8] = np.cos(angles).astype("f4"), np.sin(angles).astype("f4")
    if case.ids:
        given[9] = np.array(case.ids, np.int64)
    if case.bias:
        given[10] = random.standard_normal((1, HEADS, case.tokens, case.total)).astype("f4")
    if case.sink:
        given[11] = 2 * random.standard_normal(HEADS).astype("f4")
    if case.scales:
        shape = (1, case.groups, 1, SIZE) if case.scales == "PER_CHANNEL" else (1,)
        given[12], given[13] = (random.uniform(0.01, 0.03, shape).astype("f4") for _ in range(2))
    if case.norms:
        given[14], given[15] = (random.standard_normal((2, SIZE)) + 2).astype("f4")
    return given


def is_room(case):
    """Whether nothing but the room of the cache depends on the total length, so that it may be fed."""
    return (case.tokens == 1 or not case.ids) and case.past >= case.total and not case.bias


def attention(case):
    """A node, and its operands by name."""
    given = operands(case, np.random.default_rng(CASES.index(case)))
    names = [NAMES[i] if i in given else "" for i in range(max(given) + 1)]
    node = h.make_node("GroupQueryAttention", names, ["y", "keys", "values"], "attention", domain="com.microsoft",
                       num_heads=HEADS, kv_num_heads=case.groups, do_rotary=int(case.rotary),
                       **({"qk_norm_epsilon": EPSILON} if case.norms else {}),
                       **({"k_quant_type": case.scales, "v_quant_type": case.scales, "kv_cache_bit_width": 8}
                          if case.scales else {}), **case.flags)
    return node, {NAMES[i]: value for i, value in given.items()}


def apart(case, node):
    """The same with norms of their own, which onnxruntime's processor has nowhere else."""
    shared, width = case.groups * SIZE, HEADS * SIZE
    nodes = [h.make_node("Constant", [], ["parts"], value_ints=[width, shared, shared]),
             h.make_node("Split", ["q", "parts"], ["q0", "k0", "v0"], axis=2)] if case.packed else [
                 h.make_node("Identity", [name], [f"{name}0"]) for name in "qkv"]
    for name, scale, count in ("q", "query_norm", HEADS), ("k", "key_norm", case.groups):
        nodes += [h.make_node("Constant", [], [f"{name}1"], value_ints=[0, 0, count, SIZE]),
                  h.make_node("Reshape", [f"{name}0", f"{name}1"], [f"{name}2"]),
                  h.make_node("SimplifiedLayerNormalization", [f"{name}2", scale], [f"{name}3"], epsilon=EPSILON),
                  h.make_node("Constant", [], [f"{name}4"], value_ints=[0, 0, -1]),
                  h.make_node("Reshape", [f"{name}3", f"{name}4"], [f"{name}5"])]
    plain = h.make_node("GroupQueryAttention", ["q5", "k5", "v0", *node.input[3:12]], node.output, "attention",
                        domain="com.microsoft", num_heads=HEADS, kv_num_heads=case.groups,
                        do_rotary=int(case.rotary), **case.flags)
    return [*nodes, plain]


def write(path, nodes, values, constants):
    inputs = [h.make_tensor_value_info(name, h.np_dtype_to_tensor_dtype(value.dtype), value.shape)
              for name, value in values.items() if name not in constants]
    held = T.INT8 if "key_scale" in values else T.FLOAT
    outputs = [h.make_tensor_value_info(name, kind, None) for name, kind in zip(nodes[-1].output, [T.FLOAT, held, held])]
    tensors = [onnx.numpy_helper.from_array(values[name], name) for name in constants]
    onnx.save(h.make_model(h.make_graph(nodes, "grouped", inputs, outputs, tensors), ir_version=10, opset_imports=[
        h.make_opsetid("", 21), h.make_opsetid("com.microsoft", 1)]), path)


def is_right(name, expected, found):
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return False
    if name == "y" and np.isnan(expected).any():
        return False
    return np.allclose(found, expected, rtol=0, atol=TOLERANCE * np.nanmax(np.abs(expected)), equal_nan=True)


def check(case, way, work, mesh):
    """By engine, the names of wrong results."""
    node, values = attention(case)
    lengths = {"last", "ids"} & values.keys()
    constants = {"total", "cosines", "sines", "query_norm", "key_norm", "key_scale", "value_scale"} & values.keys() | (lengths if way == "initializer" else set())
    if way != "bound" and is_room(case):
        constants -= {"total"}
    write(work / "m.onnx", [node], values, sorted(constants))
    write(work / "reference.onnx", apart(case, node) if case.norms else [node], values, sorted(constants))
    inputs = {name: value for name, value in values.items() if name not in constants}
    session = onnxruntime.InferenceSession(work / "reference.onnx")
    expected = dict(zip(node.output, session.run(None, inputs)))
    flags = []
    for name in sorted(lengths) if way == "bound" else []:
        np.save(work / f"{name}.npy", inputs.pop(name))
        flags.append(f"--bind={name}={work / name}.npy")
    np.savez(work / "in.npz", **inputs)
    run(["wsec", work / "m.onnx", "-o", work / "m.wafer", f"--mesh={mesh}", "--quiet", *flags])
    wrong = {}
    for engine in ENGINES:
        run(["wse-run", work / "m.wafer", "--inputs", work / "in.npz", "--outputs", work / "out.npz",
             f"--engine={engine}", "--quiet"])
        with np.load(work / "out.npz") as found:
            wrong[engine] = [name for name in expected if not is_right(name, expected[name], found[name])]
    return wrong


def runs_impossible(case, last, held, work, mesh):
    """Whether lengths that cannot be go through."""
    node, values = attention(case)
    constants = {"total", "cosines", "sines", "query_norm", "key_norm"} & values.keys() - ({"total"} if is_room(case) else set())
    values["last"] = np.array(last, np.int32)
    constants |= {"last"} if held else set()
    write(work / "m.onnx", [node], values, sorted(constants))
    np.savez(work / "in.npz", **{name: value for name, value in values.items() if name not in constants})
    run(["wsec", work / "m.onnx", "-o", work / "m.wafer", f"--mesh={mesh}", "--quiet"])
    result = subprocess.run(["wse-run", work / "m.wafer", "--inputs", work / "in.npz", "--outputs",
                             work / "out.npz", "--quiet"], capture_output=True, text=True, check=False)
    return result.returncode != 1 or " of 'seqlens_k of attention, " not in result.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--mesh", required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    good = True
    for way in WAYS:
        right = dict.fromkeys(ENGINES, 0)
        for number, case in enumerate(CASES):
            for engine, wrong in check(case, way, options.work, options.mesh).items():
                right[engine] += not wrong
                if wrong:
                    print("wrong:", way, engine, number, *wrong)
        print(way, options.mesh, *(f"{engine} {count} of {len(CASES)}" for engine, count in right.items()), flush=True)
        good &= all(count == len(CASES) for count in right.values())
    impossible = [(*its, held) for held, all_of in enumerate((IMPOSSIBLE, IMPOSSIBLE_HELD)) for its in all_of]
    for case, last, held in impossible:
        if runs_impossible(case, last, held, options.work, options.mesh):
            print("wrong: lengths", *last)
            good = False
    print(f"{len(impossible)} lengths that cannot be")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
