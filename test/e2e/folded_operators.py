# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants fold as PEs compute: every operator that folds, of the edges of every type it takes.

Usage: folded_operators.py WORK [TYPE ...]

A model a type has each operator twice, of inputs and of the same numbers as constants. Both have to be what numpy, or
integers without bounds that wrap afterwards, say: integers and truth values equal, floats the same bits but for the
sign of a zero, functions within a few units in the last place. What the wafer refuses, and ends by name (differences
without a sign of 64 bits, sums along axes), folds only. Integers of 64 bits run within 32, which PEs have. A line a type and operator that differs; exit code 0 or 1.
"""

import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

OPSET = 21
KINDS = {"i1": T.INT8, "u1": T.UINT8, "i2": T.INT16, "u2": T.UINT16, "i4": T.INT32, "u4": T.UINT32, "i8": T.INT64,
         "u8": T.UINT64, "f2": T.FLOAT16, "f4": T.FLOAT, "?": T.BOOL}
FLOATS = [0, 1, 2, 0.5, 1.5, 2.5, 3, 1e-3, 7.25, 300, 60000, np.inf]


def quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a, b):
    if b >= 0:
        return pow(a, b, 1 << 64) if abs(a) > 1 else a**(b % 2 + 2 * (b > 0))
    return {1: 1, -1: (-1)**(b % 2)}.get(a, 0)


# Of two operands: (of integers without bounds, of floats).
PAIRS = {
    "Add": (lambda a, b: a + b, np.add), "Sub": (lambda a, b: a - b, np.subtract),
    "Mul": (lambda a, b: a * b, np.multiply), "Div": (quotient, np.divide), "Pow": (power, np.power),
    "Min": (min, np.minimum), "Max": (max, np.maximum), "Sum": (lambda a, b: a + b, np.add),
    "Equal": (lambda a, b: a == b, np.equal), "Less": (lambda a, b: a < b, np.less),
    "LessOrEqual": (lambda a, b: a <= b, np.less_equal), "Greater": (lambda a, b: a > b, np.greater),
    "GreaterOrEqual": (lambda a, b: a >= b, np.greater_equal), "And": (lambda a, b: a and b, None),
    "Or": (lambda a, b: a or b, None), "Xor": (lambda a, b: a != b, None),
    "BitwiseAnd": (lambda a, b: a & b, None), "BitwiseOr": (lambda a, b: a | b, None),
    "BitwiseXor": (lambda a, b: a ^ b, None), "Mod": (lambda a, b: a - b * (a // b), np.mod),
    "Mod fmod=1": (lambda a, b: a - b * quotient(a, b), np.fmod),
}
SINGLES = {
    "Neg": (lambda a: -a, np.negative), "Abs": (abs, np.abs), "Sign": (lambda a: (a > 0) - (a < 0), np.sign),
    "Relu": (lambda a: max(a, 0), lambda x: np.maximum(x, 0)), "BitwiseNot": (lambda a: ~a, None),
    "Not": (lambda a: not a, None), "Floor": (None, np.floor), "Ceil": (None, np.ceil), "Round": (None, np.rint),
    "Sqrt": (None, np.sqrt), "Reciprocal": (None, lambda x: 1 / x), "Exp": (None, np.exp), "Log": (None, np.log),
    "Sigmoid": (None, lambda x: 1 / (1 + np.exp(-x))), "Softplus": (None, lambda x: np.logaddexp(x, 0)),
    "IsNaN": (None, np.isnan),
}
# Along the last axis.
REDUCTIONS = {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceProd": np.prod,
              "ReduceSumSquare": lambda x, axis: np.sum(x * x, axis), "ReduceL1": lambda x, axis: np.sum(abs(x), axis)}
UNITS = {"Pow": 2, "Exp": 2, "Log": 2, "Sigmoid": 2, "Softplus": 2}  # in the last place, of a chain that of 1 at least
BEYOND = {("Sub", "u8"), ("BitwiseNot", "u8")}  # of small numbers what 32 bits do not hold
# Operands that shape a result, the same of both.
KNOWN = {"axis": [1], "three": [3], "starts": [0], "ends": [-1], "back": [-2], "repeats": [2, 1], "wide": [3, 2],
         "around": [0, 1, 0, 1]}
# Of constants, too: numbers of 64 bits that 32 do not hold do not get there.
WAFER = {"ArgMax", "ArgMin", "TopK", "Pad edge", "Pad reflect", "Expand"}
COMPARES = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "IsNaN"}


def takes(operator, kind):
    schema = onnx.defs.get_schema(operator, OPSET)
    names = {variable.type_param_str: variable.allowed_type_strs for variable in schema.type_constraints}
    name = np.dtype(kind).name
    word = {"float32": "float", "bool": "bool"}.get(name, name)
    return all(f"tensor({word})" in names.get(operand.type_str, [operand.type_str]) for operand in schema.inputs[:2]
               if operand.name not in ("axes", "axis"))


def accepts(operator, kind):
    """Whether the operand that it arranges may be of this type."""
    schema = onnx.defs.get_schema(operator, OPSET)
    names = {variable.type_param_str: variable.allowed_type_strs for variable in schema.type_constraints}
    word = {"float32": "float"}.get(np.dtype(kind).name, np.dtype(kind).name)
    return f"tensor({word})" in names[schema.inputs[operator == "Where"].type_str]


def edges(kind, folded):
    """Numbers at which something changes."""
    if kind == "?":
        return np.array([False, True])
    if kind[0] == "f":
        return np.array([sign * x for x in FLOATS for sign in (1, -1)] + [np.nan], kind)
    limits = np.iinfo(kind)
    # Sums and products of 64 bits fit into 32 where they run.
    few = kind[1] == "8" and not folded
    low, high = (max(limits.min, -30000), 30000) if few else (limits.min, limits.max)
    inside = [x for x in (-7, -2, -1, 0, 1, 2, 3, 7, 100, high // 2, high // 2 + 1) if low <= x <= high]
    return np.array(sorted({low, low + 1, high - 1, high, *inside}), kind)


def wrapped(values, kind):
    """Integers of any size as ones of a type."""
    if kind == "?":
        return np.array([bool(x) for x in values])
    bits = 8 * np.dtype(kind).itemsize
    return np.array([int(x) % (1 << bits) for x in values], "u8").astype(f"u{bits // 8}").view(kind)


class Case:
    """A node, and what it gives."""

    def __init__(self, name, operands, attributes, result, expected, runs=True, place=0):
        self.name, self.operands, self.attributes = name, operands, attributes
        self.result, self.expected, self.runs = result, expected, runs
        self.place = place  # of the result


def cases(kind, folded):
    numbers = edges(kind, folded)
    a, b = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    exact = kind[0] != "f"
    operands = {"a": a, "b": b}
    # Small exponents do not end runs of 64 bits; none divides by 0.
    operands["e"] = np.clip(b, 0 if kind[0] == "u" else -3, 3) if kind == "i8" and not folded else b
    operands["d"] = np.where(b == 0, np.ones_like(b), b) if exact else b
    if kind == "i8" and not folded:
        operands["a3"] = np.clip(a, -50, 50)
    wide = lambda x: x.astype("f8")
    found = []
    for name, (of_integers, of_floats) in PAIRS.items():
        operator, _, flag = name.partition(" ")
        function = of_integers if exact else of_floats
        if function is None or not takes(operator, kind):
            continue
        first = "a3" if operator == "Pow" and "a3" in operands else "a"
        second = {"Pow": "e", "Div": "d", "Mod": "d"}.get(operator, "b")
        x, y = operands[first], operands[second]
        result = "?" if operator in COMPARES or kind == "?" else kind
        with np.errstate(all="ignore"):
            value = wrapped([function(int(i), int(j)) for i, j in zip(x, y)], result) if exact else \
                function(wide(x), wide(y)).astype(result)
        found.append(Case(name, [first, second], {"fmod": 1} if flag else {}, result, value,
                          runs=(name, kind) not in BEYOND))
    for name, (of_integers, of_floats) in SINGLES.items():
        function = of_integers if exact else of_floats
        if function is None or not takes(name, kind):
            continue
        result = "?" if name in COMPARES else kind
        with np.errstate(all="ignore"):
            value = wrapped([function(int(i)) for i in a], result) if exact else function(wide(a)).astype(result)
        found.append(Case(name, ["a"], {}, result, value, runs=(name, kind) not in BEYOND))
    for to in KINDS if kind != "?" else []:
        if exact and (folded or to != "u8") and not (to == "i8" and kind in ("u4", "u8") and not folded):
            with np.errstate(over="ignore"):
                value = wrapped([int(x) for x in a], to) if to[0] != "f" else a.astype("f4").astype(to)
            found.append(Case(f"Cast to {to}", ["a"], {"to": KINDS[to]}, to, value))
    if exact and kind != "?":
        for name, function in REDUCTIONS.items():
            if takes(name, kind):
                rows = a.astype(object).reshape(len(numbers), -1)
                found.append(Case(name, ["rows", "axis"], {}, kind, wrapped(function(rows, axis=1), kind)[:, None],
                                  runs=name in ("ReduceMax", "ReduceMin") and kind != "u4"))
        operands |= {"rows": a.reshape(len(numbers), -1)}
    return found, operands


def casts_of_floats(kind, folded):
    """From floats to what holds them, from truth values to all."""
    numbers = edges(kind, folded)
    operands, found = {}, []
    for to in KINDS:
        if kind == "?":
            kept = numbers
        elif kind[0] != "f" or to[0] == "f":
            kept = numbers if kind[0] == "f" or to == "?" else None
        else:
            limits = np.iinfo(to) if to != "?" else None
            low, high = (max(limits.min, -2**31), min(limits.max, 2**31 - 1)) if limits else (-np.inf, np.inf)
            with np.errstate(all="ignore"):
                whole = np.trunc(numbers.astype("f8"))
                kept = numbers[(whole >= low) & (whole <= high)] if limits else numbers
        if kept is None or to == kind:
            continue
        with np.errstate(all="ignore"):
            value = kept != 0 if to == "?" else kept.astype("f4").astype(to) if to[0] == "f" else wrapped(
                np.trunc(kept.astype("f8")), to)
        operands[f"to_{to}"] = kept
        found.append(Case(f"Cast to {to}", [f"to_{to}"], {"to": KINDS[to]}, to, value))
    return found, operands


def arranged(kind, folded):
    """What chooses, orders, moves and adds up elements: (name, operands, attributes, kind of the result, what it is)."""
    numbers = edges(kind, folded)
    count = len(numbers)
    table = np.stack([np.roll(numbers, shift) for shift in range(count)])
    plain = table if kind[0] != "f" else np.stack([np.roll(numbers[~np.isnan(numbers)], s) for s in range(4)])
    ids = np.array([[0, -1], [1, 0]])
    places = np.array([[0, count - 1, 0], [1, 1, count - 1]])[:, :min(3, count)]
    zero, few = np.zeros((), kind), table[:2, :places.shape[1]]
    some = {"table": table, "plain": plain, "chosen": table % 2 > 0 if kind != "?" and kind[0] != "f" else table > 0,
            "other": table[::-1].copy(), "few": few, "low": np.array(sorted(plain.flat)[1]), "high": np.array(sorted(plain.flat)[-2]),
            "ids": ids, "places": places, "tuples": np.array([[0, 1], [1, 0]]), "pair": table[0, :2]}
    yield some
    with np.errstate(all="ignore"):
        yield "Where", ["chosen", "table", "other"], {}, kind, np.where(some["chosen"], table, some["other"])
        yield "Clip", ["table", "low", "high"], {}, kind, np.minimum(np.maximum(table, some["low"]), some["high"])
        yield "Clip below", ["table", "low"], {}, kind, np.maximum(table, some["low"])
        yield "IsInf", ["table"], {}, "?", np.isinf(table) if kind[0] == "f" else None
    for last in 0, 1:
        at = {"axis": 1, "keepdims": 0, "select_last_index": last}
        for name, of in ("ArgMax", np.argmax), ("ArgMin", np.argmin):
            where = plain.shape[1] - 1 - of(plain[:, ::-1], 1) if last else of(plain, 1)
            yield f"{name} last={last}", ["plain"], at, "i8", where.astype("i8")
    for largest in 0, 1:
        exact = plain.astype(object) if kind != "?" else plain
        order = np.array([sorted(range(len(row)), key=lambda i, row=row: (-row[i] if largest else row[i], i))[:3]
                          for row in exact]) if kind != "?" else np.zeros((1, 3), int)
        at = {"axis": 1, "largest": largest}
        yield f"TopK largest={largest}", ["plain", "three"], at, kind, np.take_along_axis(plain, order, 1)
        yield f"TopK places {largest}", ["plain", "three"], at, "i8", order.astype("i8")
    for exclusive, reverse in (0, 0), (1, 0), (0, 1), (1, 1):
        rows = table.astype(object) if kind != "?" else table
        rows = rows[:, ::-1] if reverse else rows
        sums = np.cumsum(rows, 1) - (rows if exclusive else 0) if kind[0] in "iu" else None
        if sums is not None:
            sums = wrapped((sums[:, ::-1] if reverse else sums).flat, kind).reshape(table.shape)
        yield f"CumSum {exclusive}{reverse}", ["table", "axis"], {"exclusive": exclusive, "reverse": reverse}, kind, sums
    for upper in 0, 1:
        keep = np.triu(np.ones(table.shape), 0) if upper else np.tril(np.ones(table.shape), 0)
        yield f"Trilu {upper}", ["table"], {"upper": upper}, kind, np.where(keep > 0, table, zero)
    yield "Gather", ["table", "ids"], {"axis": 1}, kind, np.take(table, ids, 1)
    yield "GatherElements", ["table", "places"], {"axis": 1}, kind, np.take_along_axis(table[:2], places, 1)
    yield "GatherND", ["table", "tuples"], {}, kind, table[[0, 1], [1, 0]]
    put = table.copy()
    for (row, column), at in np.ndenumerate(places):
        put[row, at] = few[row, column]
    yield "ScatterElements", ["table", "places", "few"], {"axis": 1}, kind, put
    put = table.copy()
    put[[0, 1], [1, 0]] = some["pair"]
    yield "ScatterND", ["table", "tuples", "pair"], {}, kind, put
    yield "Concat", ["table", "other"], {"axis": 1}, kind, np.concatenate([table, some["other"]], 1)
    yield "Transpose", ["table"], {}, kind, table.T
    yield "Slice", ["table", "ends", "starts", "axis", "back"], {}, kind, table[:, -1:0:-2]
    yield "Tile", ["table", "repeats"], {}, kind, np.tile(table, (2, 1))
    yield "Expand", ["pair", "wide"], {}, kind, np.broadcast_to(some["pair"], (3, 2))
    for mode in "constant", "edge", "reflect":
        yield f"Pad {mode}", ["table", "around"], {"mode": mode}, kind, np.pad(table, ((0, 0), (1, 1)), mode)


def cases_of(kind, folded):
    """All of a type."""
    found, operands = cases(kind, folded)
    more, theirs = casts_of_floats(kind, folded)
    found, operands = found + more, operands | theirs
    made = arranged(kind, folded)
    operands |= next(made) | {name: np.array(value) for name, value in KNOWN.items()}
    for name, names, attributes, result, value in made:
        operator = name.split()[0]
        if value is not None and accepts(operator, kind) and not (
                folded and WAFER.intersection([name, operator])):
            found.append(Case(name, names, attributes, result, np.ascontiguousarray(value), place=int("places" in name),
                              runs=(operator, kind) not in BEYOND))
    return found, operands


def model(found, operands, runs):
    """Each node, of inputs where it runs, and of constants."""
    nodes, outputs = [], []
    fed = [name for name in operands if name not in KNOWN]
    for number, case in enumerate(found):
        for source in ["", "c_"] if runs and case.runs else ["c_"]:
            names = [name if name in KNOWN or not name else source + name for name in case.operands]
            output = f"{source or 'x_'}{number}"
            nodes.append(h.make_node(case.name.split()[0], names, [*[""] * case.place, output], name=output,
                                     **case.attributes))
            outputs.append(h.make_tensor_value_info(output, KINDS[case.result], case.expected.shape))
    inputs = [h.make_tensor_value_info(name, h.np_dtype_to_tensor_dtype(operands[name].dtype), operands[name].shape)
              for name in fed if runs]
    constants = [onnx.numpy_helper.from_array(value, name if name in KNOWN else "c_" + name)
                 for name, value in operands.items()]
    # Programs compute something.
    one = [h.make_tensor_value_info("one", T.FLOAT, [1])]
    graph = h.make_graph([*nodes, h.make_node("Abs", ["one"], ["abs"], name="abs")], "folded", inputs + one,
                         [*outputs, h.make_tensor_value_info("abs", T.FLOAT, [1])], constants)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", OPSET)], ir_version=10), fed if runs else []


def call(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {result.stderr}{result.stdout}")


def problem(case, got):
    """Where `got` is not what is expected, or None."""
    expected = case.expected
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"is {got.dtype}{got.shape}, expected {expected.dtype}{expected.shape}"
    same = got == expected
    if expected.dtype.kind == "f":
        same |= np.isnan(got) & np.isnan(expected)
        units = UNITS.get(case.name, 0)
        least = np.asarray(case.name == "Softplus", expected.dtype)
        with np.errstate(all="ignore"):
            unit = np.spacing(np.maximum(np.abs(expected), least)).astype("f8")
            same |= np.abs(got.astype("f8") - expected) <= units * unit
    if same.all():
        return None
    at = int(np.argmin(same))
    return f"element {at} is {got.flat[at]!r}, expected {expected.flat[at]!r} ({(~same).sum()} wrong)"


def check(kind, folded, work):
    """Lines of what is wrong, and how many results there were."""
    found, operands = cases_of(kind, folded)
    whole, fed = model(found, operands, not folded)
    onnx.save(whole, work / "m.onnx")
    call("wsec", work / "m.onnx", "-o", work / "m.wafer", "--mesh=8x8", "--quiet")
    np.savez(work / "in.npz", one=np.ones(1, "f4"), **{name: operands[name] for name in fed})
    call("wse-run", work / "m.wafer", "--inputs", work / "in.npz", "--outputs", work / "out.npz", "--quiet")
    lines, count = [], 0
    with np.load(work / "out.npz") as outputs:
        for name in outputs.files:
            if name == "abs":
                continue
            source, number = name.split("_")
            what = problem(found[int(number)], outputs[name])
            count += 1
            if what:
                lines.append(f"{found[int(number)].name} of {kind}, {'folded' if source == 'c' else 'run'}: {what}")
    return lines, count


def main():
    work = pathlib.Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for kind in sys.argv[2:] or KINDS:
        for folded in [False, True] if kind in ("i8", "u8") else [False]:
            lines, count = check(kind, folded, work)
            wrong += len(lines)
            print("\n".join([*lines, f"{kind}{', all of its numbers' if folded else ''}: {count - len(lines)} of {count}"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
