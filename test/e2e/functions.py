# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds every function of one element against others: those in the table of instructions (runtime/program/Opcodes.def)
against numpy, those in the table of chains (compiler/infer/Functions.cpp) against onnxruntime, or, of what it lacks, ONNX:
of special values, of the ends of what floats can be, and of random bits.

Usage: functions.py WORK

As PEs compute it, in f32 and f16, to a unit in the last place, by `wavelet`;
of a row that ONNX has, too, its operator in a model, computed and folded. Chains to 1e-5 in f32, of few numbers also
in f16, to 32 units in the last place. A line a function.
"""

import math
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper as h
from onnx.reference import ReferenceEvaluator

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "runtime/program/Opcodes.def"
CHAINS = ROOT / "compiler/infer/Functions.cpp"
# What is not numpy's function of the same name, and what is none of numbers.
REFERENCES = {"erf": np.vectorize(math.erf, [float]), "neg": np.negative, "reciprocal": lambda x: 1 / x,
              "round": np.rint, "rsqrt": lambda x: 1 / np.sqrt(x),
              "sigmoid": lambda x: 1 / (1 + np.exp(-x))}
OTHERS = {"mov", "not"}
ELEMENTS = ["f32", "f16"]
SCALED = {"ScaledSiLU"}  # whose second operand is a number
UNKNOWN = {"SwiGLU"}  # to onnxruntime
ROUNDINGS = {"rsqrt": 2}  # units in the last place, of what is two instructions of a processor; 1 of others


def table():
    """name -> whether ONNX has it, and its name there."""
    rows = {}
    for line in TABLE.read_text().splitlines():
        function = re.match(r"WSEC_FUNCTION\((\w+), (\w+), ", line)
        instruction = re.match(r"WSEC_INSTRUCTION\((\w+), (\w+), 1, ", line)
        if function or instruction:
            onnx_name, name = (function or instruction).groups()
            if name not in OTHERS:
                rows[name] = onnx_name if function else None
    return rows


def values():
    """All that a float can be at the ends, near whole numbers, and anywhere."""
    sizes = [0, 1, 0.5, 2, 1.5, 2.5, 3, 4, 5, 10, 20, 88, 88.7, 88.8, 89, 87.4, 100, 103.9, 104, 1e-3, 1e-10, 2.0**-126,
             2.0**-149, 1.5 * 2.0**-130, 2.0**127, 3.4028234e38, 1e10, 2.0**23, 2.0**23 + 1, 2.0**24, 8388607.5, 65504, 65519,
             65520, 30000, 30001, np.pi / 2, np.pi, 2 * np.pi, np.e, np.inf, np.nan]
    special = np.array([sign * size for size in sizes for sign in (1, -1)], "f4")
    random = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        bits = random.integers(0, 2**32, 300, np.uint64).astype("u4").view("f4")
    near = (10 * random.standard_normal(500)).astype("f4")
    return np.concatenate([special, bits, near])


def program(names, x, element):
    """A PE computes each function of all of `x` into a buffer of its own."""
    kind, size = f"tensor<1x{len(x)}x{element}>", len(x) * np.dtype(element.replace("f", "float")).itemsize
    lines = ['pe.program @functions mesh [1, 1] machine "wse2" {', f"  tensor input @x : {kind}"]
    lines += [f"  tensor output @out_{name} : {kind}" for name in names]
    lines += ["  class @all [0:1, 0:1] {", f"    buffer @v {size} bytes of {element}"]
    lines += [f"    buffer @r_{name} {size} bytes of {element}" for name in names]
    lines += ["    routine @main {"]
    lines += [f"      vector {name} @r_{name}[0, strides = [1]] = @v[0, strides = [1]] over ({len(x)})"
              for name in names]
    lines += ["    }", "  }", "  copy in @x to @v [0:1, 0:1]", "  launch @main"]
    lines += [f"  copy out @out_{name} from @r_{name} [0:1, 0:1]" for name in names]
    return "\n".join([*lines, "}", ""])


def model(rows, x):
    """ONNX's operators, of an input and of the same numbers as a constant."""
    kind, nodes, outputs = T.FLOAT, [], []
    for name, operator in rows.items():
        for source in ("x", "c"):
            outputs.append(h.make_tensor_value_info(f"{source}_{name}", kind, [len(x)]))
            nodes.append(h.make_node(operator, [source], [f"{source}_{name}"], f"{source}_{name}_node"))
    graph = h.make_graph(nodes, "functions", [h.make_tensor_value_info("x", kind, [len(x)])], outputs,
                         [onnx.numpy_helper.from_array(x, "c")])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)


def chains():
    """What the second table has: (domain, name) -> names of operands."""
    rows = re.findall(r'WSEC_CHAIN\("(?:([a-z.]+)\.)?(\w+)", \(?(\w+)', CHAINS.read_text())
    return {(domain, name): ["x"] + ["factor" if name in SCALED else "other"] * ("two" in infer.lower())
            for domain, name, infer in rows}


def chain_models(rows, x):
    """A model of each, and one of all."""
    constants = {"other": np.linspace(0.5, 2, len(x), dtype="f4"), "factor": np.array(0.75, "f4")}
    nodes = [h.make_node(name, operands, [name + domain], name + domain, domain=domain)
             for (domain, name), operands in rows.items()]

    def model_of(nodes, opset):
        boolean = {"IsNaN", "IsInf"}
        outputs = [h.make_tensor_value_info(node.output[0], T.BOOL if node.op_type in boolean else T.FLOAT, [len(x)])
                   for node in nodes]
        graph = h.make_graph(nodes, "chains", [h.make_tensor_value_info("x", T.FLOAT, [len(x)])], outputs,
                             [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()
                              if any(name in node.input for node in nodes)])
        return h.make_model(graph, ir_version=11, opset_imports=[h.make_opsetid("", opset),
                                                                 h.make_opsetid("com.microsoft", 1)])
    newest = onnx.defs.onnx_opset_version()
    return {node.output[0]: model_of([node], newest if node.op_type in UNKNOWN else 24) for node in nodes}, \
        model_of(nodes, newest)


def reference(model, x):
    if model.graph.node[0].op_type in UNKNOWN:
        session = ReferenceEvaluator(model)
    else:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    with np.errstate(all="ignore"):
        return session.run(None, {"x": x})[0]


def check_chains(work):
    """name -> problems"""
    found = {}
    near = (3 * np.random.default_rng(1).standard_normal(100)).astype("f2").astype("f4")
    for element, x, tolerance in (("f32", values(), 1e-5), ("f16", near, 32 * 2.0**-11)):
        models, whole = chain_models(chains(), x)
        onnx.save(whole, work / "c.onnx")
        outputs = run(work / "c.onnx", x, work, "wavelet", "--mesh=4x4", f"--precision={element}")
        for name, model in models.items():
            expected, got = reference(model, x).astype("f8"), outputs[name].astype("f8")
            with np.errstate(all="ignore"):
                close = np.abs(got - expected) <= tolerance * np.maximum(1, np.abs(expected))
            wrong = ~(close | (got == expected) | (np.isnan(got) & np.isnan(expected)))
            problems = found.setdefault(name, [])
            if wrong.any():
                at = int(np.argmax(wrong))
                problems.append(f"{element}: of {x[at]!r} is {got[at]!r}, expected {expected[at]!r} ({wrong.sum()} wrong)")
    return found


def call(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {result.stderr}{result.stdout}")


def run(source, x, work, engine, *flags):
    call("wsec", source, "-o", work / "p.wafer", "--quiet", *flags)
    np.savez(work / "in.npz", x=x)
    call("wse-run", work / "p.wafer", "--inputs", work / "in.npz", "--outputs", work / "out.npz", "--quiet",
         f"--engine={engine}")
    with np.load(work / "out.npz") as outputs:
        return {name: outputs[name].reshape(-1) for name in outputs.files}


def problem(name, x, got, units):
    """Where and how `got` is not the function's value of `x`, or None."""
    with np.errstate(all="ignore"):
        exact = REFERENCES.get(name, getattr(np, name, None))(x.astype("f8"))
        nearest = exact.astype(got.dtype)
        unit = np.spacing(np.abs(np.where(np.isfinite(nearest), nearest, 1)))
        same = (got == nearest) | (np.isnan(got) & np.isnan(nearest))
        # Beyond the largest number a unit further is infinite, or back.
        close = np.abs(got.astype("f8") - exact) <= units * unit.astype("f8") * 1.0001
        wrong = ~(same | (close & np.isfinite(nearest)))
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    return f"of {x[at]!r} is {got[at]!r}, expected {nearest[at]!r} ({wrong.sum()} wrong)"


def main():
    work = pathlib.Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    rows, x = table(), values()
    found = {name: [] for name in rows}
    for element in ELEMENTS:
        with np.errstate(over="ignore"):
            numbers = x.astype(element.replace("f", "float"))
        # So many results as fit a PE.
        few = 5
        names = list(rows)
        for first in range(0, len(names), few):
            part = names[first:first + few]
            (work / "p.mlir").write_text(program(part, numbers, element))
            outputs = run(work / "p.mlir", numbers.reshape(1, -1), work, "wavelet")
            for name in part:
                what = problem(name, numbers, outputs[f"out_{name}"], ROUNDINGS.get(name, 1))
                if what:
                    found[name].append(f"{element}: {what}")
    operators = {name: operator for name, operator in rows.items() if operator}
    onnx.save(model(operators, x), work / "m.onnx")
    outputs = run(work / "m.onnx", x, work, "strips", "--mesh=4x4")
    for name in operators:
        for source in "xc":
            what = problem(name, x, outputs[f"{source}_{name}"], 1)
            if what:
                found[name].append(f"{'folded' if source == 'c' else 'model'}: {what}")
    for name, problems in found.items():
        where = "PE and ONNX" if name in operators else "PE"
        print(f"{name} on {where}: {'wrong: ' + '; '.join(problems) if problems else 'ok'}")
    others = check_chains(work)
    for name, problems in others.items():
        print(f"{name}: {'wrong: ' + '; '.join(problems) if problems else 'a chain, ok'}")
    found |= others
    print(f"{sum(not problems for problems in found.values())} of {len(found)} functions")
    return any(found.values())


if __name__ == "__main__":
    sys.exit(main())
