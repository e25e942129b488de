#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the table of OnnxSchemas.cpp: every version of every operator of
ONNX's own domain, as the `onnx` package defines them, and those that
onnxruntime adds. Usage: OnnxSchemas.py OUTPUT.inc
"""

import sys

import onnx
import onnx.defs
import onnxruntime.capi.onnxruntime_pybind11_state as onnxruntime

KINDS = "Float Int String Tensor Graph Floats Ints Strings".split()
EXTRA_DOMAIN = "com.microsoft"


def default_of(attribute):
    """The default as an AttributeProto, or None."""
    if hasattr(attribute, "default_value"):  # onnx
        proto = attribute.default_value
    else:  # onnxruntime keeps it serialized
        proto = onnx.AttributeProto.FromString(attribute._default_value)
    return proto if proto.type else None


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def attribute_row(attribute):
    kind = attribute.type.name.capitalize()
    default = default_of(attribute)
    use = "Required" if attribute.required else "Optional" if default is None else "Default"
    integer, real, text = 0, 0.0, ""
    if default is not None:
        value = onnx.helper.get_attribute_value(default)
        if kind == "Int":
            integer = value
        elif kind == "Float":
            real = value
        elif kind == "String":
            text = value.decode()
        else:
            use = "Optional"  # a list: no operator that we know has one
    if kind not in KINDS:
        kind = "Other"
    name = attribute.name if isinstance(attribute.name, str) else attribute.name.decode()
    return (f"{{{quoted(name)}, AttributeSchema::{kind}, AttributeSchema::{use}, "
            f"{integer}, {real.hex()}, {quoted(text)}}},")


def type_bits(names):
    """Of "tensor(float)" and the like; sequences and optional values have none."""
    bits = 0
    for name in names:
        element = name.removeprefix("tensor(").removesuffix(")").upper()
        if name.startswith("tensor(") and element in onnx.TensorProto.DataType.keys():
            bits |= 1 << onnx.TensorProto.DataType.Value(element)
    return bits


def input_rows(schema):
    variables = []
    for formal in schema.inputs:
        use = {"Single": "Required"}.get(formal.option.name, formal.option.name)
        name = getattr(formal, "type_str", None) or formal.typeStr
        homogeneous = getattr(formal, "is_homogeneous", None)
        if homogeneous is None:
            homogeneous = formal.isHomogeneous
        if name not in variables:
            variables.append(name)
        variable = variables.index(name) if homogeneous else -1
        yield f"{{InputSchema::{use}, {type_bits(formal.types):#x}, {variable}}},"


def main():
    # (name with domain, version) -> schema; ONNX itself comes first.
    schemas = {}
    for schema in [*onnx.defs.get_all_schemas_with_history(),
                   *onnxruntime.get_all_operator_schema()]:
        if schema.domain in ("", EXTRA_DOMAIN) and not schema.deprecated:
            name = f"{schema.domain}.{schema.name}".lstrip(".")
            schemas.setdefault((name, schema.since_version), schema)
    attributes, inputs, operators = [], [], []
    for (name, version), schema in sorted(schemas.items(), key=lambda item: item[0]):
        rows = [attribute_row(a) for _, a in sorted(schema.attributes.items())]
        operands = list(input_rows(schema))
        operators.append(
            f"{{{quoted(name)}, {version}, {schema.min_input}, {schema.max_input}, "
            f"{schema.max_output}, {len(inputs)}, {len(operands)}, "
            f"{len(attributes)}, {len(rows)}}},")
        attributes += rows
        inputs += operands
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(f"// Written by OnnxSchemas.py from onnx {onnx.__version__}.\n")
        for title, rows in (("AttributeSchema attributes", attributes),
                            ("InputSchema inputs", inputs),
                            ("OperatorSchema operators", operators)):
            out.write(f"static constexpr {title}[] = {{\n    " + "\n    ".join(rows) + "\n};\n")


if __name__ == "__main__":
    main()
