# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parses the examples of documents and op descriptions: check_examples.py FILE...

Every ```mlir block must parse and verify. One that is no whole program gets
what it lacks: a class a program, an operation the function or the program
around it, with a value of the right type for each name that it uses.
Prints how many examples each file has, and what is wrong with those that fail.
"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

CLASS = 'pe.program @example mesh [8, 8] machine "wse2" {{\n{}\n}}\n'
PROGRAM = 'wse.program @example state(selected) mesh(8x5) machine("wse2") {{\n{}\n}}\n'
# What examples of wse name and do not declare.
SYMBOLS = {"r": "region @r shape(4x5)", "east": "region @east shape(4x5)",
           "x": "input @x : tensor<2x3xf32>", "mask": "input @mask : tensor<2x4xf32>",
           "ids": "input @ids : tensor<1x6xi64>"}
# The same of onnx.
PARAMETERS = {"fc1.weight": "16x24", "c_attn.weight": "16x48", "wte": "100x16"}


def examples(text):
    """Blocks with the line each begins at."""
    for match in re.finditer(r"^ *```mlir\n(.*?)^ *```", text, re.M | re.S):
        yield text.count("\n", 0, match.start()) + 2, textwrap.dedent(match[1])


def operations(text):
    """Each with the lines that continue it and its regions."""
    return re.split(r"\n(?=[^\s}^\]])", text.strip("\n"))


def split_types(text):
    """The types of "(A, B) -> C" or "A, B -> C" before the arrow."""
    depth, types, start = 0, [], 0
    text = text.strip()
    if text.startswith("("):
        text = text[1:]
    for i, char in enumerate(text):
        arrow = text.startswith("->", i) or (char == ">" and text[i - 1] == "-")
        if depth == 0 and (char in ",)" or text.startswith("->", i)
                           or text.startswith(" to ", i)):
            types.append(text[start:i].strip())
            start = i + 1
            if char != ",":
                return types
        elif not arrow:
            depth += (char in "<(") - (char in ">)")
    return types + [text[start:].strip(" {")]


def free_values(text):
    """The values that are used before any operation makes them, with types."""
    made, free = set(), {}
    for operation in operations(text):
        head = operation.split("\n^", 1)[0].replace("\n", " ")
        result = re.match(r"(%\w+)(?::\d+)?((?:, %\w+)*) = ", head)
        body = head[result.end():] if result else head
        # Types follow the last " : " that no bracket encloses.
        depth, colon = 0, len(body)
        for i, char in enumerate(body):
            depth += (char in "<([{") - (char in ">)]}" and body[i - 1] != "-")
            if depth == 0 and body.startswith(" : ", i):
                colon = i
        used = re.findall(r"%\w+", body[:colon])
        types = split_types(body[colon + 3:])
        for i, name in enumerate(used):
            if name not in made and name not in free:
                free[name] = types[min(i, len(types) - 1)]
        if result:
            made |= {result[1], *re.findall(r"%\w+", result[2])}
    return free


def in_function(text):
    declared, rest = [], []
    for operation in operations(text):
        (declared if operation.startswith("onnx.parameter ") else rest).append(operation)
    for name in dict.fromkeys(re.findall(r"@([\w.]+)", "\n".join(rest))):
        if not any(f"@{name} " in operation for operation in declared):
            declared.append(f"onnx.parameter @{name} = dense<1.0> : "
                            f"tensor<{PARAMETERS[name]}xf32> trainable")
    body = "\n".join(rest)
    arguments = ", ".join(f"{name}: {kind}" for name, kind in free_values(body).items())
    return "\n".join(declared) + f"\nfunc.func @example({arguments}) {{\n{body}\nreturn\n}}\n"


def in_wafer_program(text):
    """Parameters stand before kernels, so before the loads."""
    parameters, text = [], operations(text)
    while text and text[0].startswith(("parameter ", "region ")):
        parameters.append(text.pop(0))
    loads, text = [], "\n".join(text)
    for name, kind in free_values(text).items():
        shape = re.match(r"tensor<([\dx]+x\w+)", kind)[1]
        loads.append(f"input @of_{name[1:]} : tensor<{shape}>\n"
                     f"{name} = load @of_{name[1:]} on @r {{nodes = [\"{name}\"]}} : {kind}")
    body = "\n".join(parameters + loads + [text])
    named = dict.fromkeys(re.findall(r"@(\w+)", body))
    declared = [SYMBOLS[name] for name in named
                if name in SYMBOLS and not re.search(rf"(region|input|stream) @{name}\b", body)]
    return PROGRAM.format("\n".join(declared) + "\n" + body)


def whole(text, path):
    """The example as a file."""
    if re.match(r"class ", text):
        return CLASS.format(text)
    if re.match(r"(#\w+ = |!\w+ = |\w+\.program|func\.func|module)", text):
        return text
    if re.match(r"(#\w|tensor<)", text):
        values = ", ".join(f"example.e{i} = {line}" for i, line in enumerate(text.splitlines()))
        return f"module attributes {{{values}}} {{}}\n"
    if path.parent.name == "onnx":
        return in_function(text)
    return in_wafer_program(text) if path.parent.name == "wse" else text


def main():
    wrong = False
    for path in map(Path, sys.argv[1:]):
        number = 0
        for number, (line, example) in enumerate(examples(path.read_text()), 1):
            result = subprocess.run(["wse-opt", "-"], input=whole(example, path), text=True,
                                    check=False, capture_output=True)
            if result.returncode:
                wrong = True
                print(f"{path}:{line}: {result.stderr}")
        print(f"{path}: {number} examples")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
