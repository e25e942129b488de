# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An ONNX model as a graph of Model Explorer, in the JSON that its graphs are, and what its nodes cost on a wafer."""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx

from wsec import tools
from wsec.program import compile
from wsec.report import Report
from wsec.tools import Error, UsageError

MESH = "32x32"
OVERLAYS = {"cycles": "Cycles", "share": "Share of cycles in %", "bound": "Cycles over their lower bound"}
INPUTS, OUTPUTS = "inputs of the model", "outputs of the model"


class Costs:
    """What kernels take, by the node that each counts for: the one it is named after, else the first that it computes.
    A kernel that computes several nodes counts once, so that sums over a part of the graph are those of its kernels."""

    def __init__(self, report: Report | Mapping[str, Any], names: set[str]) -> None:
        self.report = dict(report.to_dict() if isinstance(report, Report) else report)
        self.kernels: dict[str, list[dict]] = {}
        self.nodes: dict[str, list[dict]] = {}
        self.elsewhere = 0.0
        """Cycles of kernels of no node of the model."""
        for kernel, cycles in zip(self.report["kernels"], self.report["cycles"]["per_kernel"]):
            here = [name for name in kernel["onnx_nodes"] if name in names]
            owner = kernel["name"] if kernel["name"] in here or not here else here[0]
            kernel = {**kernel, "cycles": cycles, "owner": owner}
            for name in here:
                self.nodes.setdefault(name, []).append(kernel)
            if here:
                self.kernels.setdefault(owner, []).append(kernel)
            else:
                self.elsewhere += cycles

    @property
    def total(self) -> float:
        return self.report["cycles"]["total"]

    def of(self, node: str) -> dict[str, float]:
        """Of OVERLAYS, what is known of a node."""
        own = self.kernels.get(node, [])
        if not own:
            return {}
        cycles, bound = sum(each["cycles"] for each in own), sum(each["lower_bound_cycles"] for each in own)
        return {"cycles": cycles, "share": 100 * cycles / self.total if self.total else 0.0,
                **({"bound": cycles / bound} if bound else {})}

    def attributes(self, node: str) -> dict[str, str]:
        """What a person reads of a node."""
        its = self.of(node)
        said = {"cycles": f"{its['cycles']:.0f}, {its['share']:.1f} % of the run"} if its else {}
        for kernel in self.nodes.get(node, []):
            said[f"kernel {kernel['name']}"] = (
                f"{kernel['kind']} on PEs ({kernel['region'][0]},{kernel['region'][1]}) to "
                f"({kernel['region'][2]},{kernel['region'][3]}): {kernel['cycles']:.0f} cycles, lower bound "
                f"{kernel['lower_bound_cycles']:.0f}, limited by {kernel['bound']}"
                + ("" if kernel["owner"] == node else f"; counted at node '{kernel['owner']}'"))
        return said


def costs_of(path: Path, flags: str = "") -> Report:
    """The report beside a model, or, of given flags of wsec or where there is none, that of compiling it."""
    beside = path.with_suffix(".report.json")
    if beside.exists() and not flags:
        made = json.loads(beside.read_text())
        if not isinstance(made, dict) or "kernels" not in made or "cycles" not in made:
            raise Error(f"{beside} is no report of wsec or wse-run")
        return Report(made, "")
    words: dict[str, Any] = {"mesh": MESH}
    for word in shlex.split(flags):
        name, found, value = word.removeprefix("--").partition("=")
        if not word.startswith("--"):
            raise UsageError(f"'{word}' is no flag of wsec: write --NAME=VALUE")
        key = name.replace("-", "_")
        if key == "mesh":
            words["mesh"] = value
        else:
            words.setdefault(key, []).append(value if found else True)
    shapes, dims = (dict(_pair(each) for each in words.pop(name, [])) for name in ("shape", "dim"))
    given = {name: value[0] if isinstance(value, list) and len(value) == 1 else value for name, value in words.items()}
    return compile(path, shapes={name: [int(part) for part in shape.split("x")] for name, shape in shapes.items()},
                   dims={name: int(size) for name, size in dims.items()}, progress=False, **given).report


def _pair(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name, value


def node_names(graph: onnx.GraphProto) -> list[str]:
    """Of each node, the name that wsec knows it by."""
    return [node.name or f"{node.op_type}_{i}" for i, node in enumerate(graph.node)]


def graph_of(model: onnx.ModelProto, costs: Costs) -> dict[str, Any]:
    """The graph, as the JSON of Model Explorer says it."""
    graph = model.graph
    names = node_names(graph)
    kinds = {value.name: _kind(value) for value in (*graph.input, *graph.value_info, *graph.output)}
    weights = {tensor.name: f"{onnx.TensorProto.DataType.Name(tensor.data_type).lower()}{list(tensor.dims)}"
               for tensor in graph.initializer}
    made: dict[str, tuple[str, int]] = {}
    inputs = [value.name for value in graph.input if value.name not in weights]
    nodes = [{"id": INPUTS, "label": INPUTS, "namespace": "", "attrs": [], "incomingEdges": [],
              "outputsMetadata": [_output(i, name, kinds) for i, name in enumerate(inputs)]}]
    made.update((name, (INPUTS, i)) for i, name in enumerate(inputs))
    for name, node in zip(names, graph.node):
        made.update((output, (name, i)) for i, output in enumerate(node.output) if output)
    for name, node in zip(names, graph.node):
        said = {attribute.name: _value(attribute) for attribute in node.attribute}
        said |= {f"weight {i}": f"{tensor} {weights[tensor]}" for i, tensor in enumerate(node.input) if tensor in weights}
        said |= costs.attributes(name)
        share = costs.of(name).get("share", 0.0)
        nodes.append({
            "id": name, "label": node.op_type, "namespace": _namespace(node),
            "attrs": [{"key": key, "value": value} for key, value in said.items()],
            "incomingEdges": _edges(node.input, made),
            "outputsMetadata": [_output(i, output, kinds) for i, output in enumerate(node.output)],
            **({"style": {"backgroundColor": _heat(share)}} if share else {})})
    results = [value.name for value in graph.output]
    nodes.append({"id": OUTPUTS, "label": OUTPUTS, "namespace": "", "attrs": [{"key": str(i), "value": name}
                                                                             for i, name in enumerate(results)],
                  "incomingEdges": _edges(results, made), "outputsMetadata": []})
    report = costs.report
    about = {"machine": "{}, {}x{} PEs".format(report["machine"]["name"], *report["machine"]["mesh"]),
             "cycles": f"{costs.total:.0f}, " + (f"counted by {report['cycles']['engine']}"
                                                 if "engine" in report["cycles"] else "predicted by wsec"),
             "cycles of no node of the model": f"{costs.elsewhere:.0f}"}
    return {"id": graph.name or "model", "nodes": nodes, "groupNodeAttributes": {"": about}}


def _kind(value: onnx.ValueInfoProto) -> str:
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type"):
        return ""
    extents = [dim.dim_param or (str(dim.dim_value) if dim.HasField("dim_value") else "?") for dim in tensor.shape.dim]
    return f"{onnx.TensorProto.DataType.Name(tensor.elem_type).lower()}[{', '.join(extents)}]"


def _value(attribute: onnx.AttributeProto) -> str:
    if attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS, onnx.AttributeProto.TENSOR):
        return f"a {onnx.AttributeProto.AttributeType.Name(attribute.type).lower()}"
    value = onnx.helper.get_attribute_value(attribute)
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _output(i: int, name: str, kinds: Mapping[str, str]) -> dict[str, Any]:
    said = {"tensor_name": name, **({"shape": kinds[name]} if kinds.get(name) else {})}
    return {"id": str(i), "attrs": [{"key": key, "value": value} for key, value in said.items()]}


def _edges(tensors: Any, made: Mapping[str, tuple[str, int]]) -> list[dict[str, str]]:
    return [{"sourceNodeId": made[tensor][0], "sourceNodeOutputId": str(made[tensor][1]), "targetNodeInputId": str(i)}
            for i, tensor in enumerate(tensors) if tensor in made]


def _namespace(node: onnx.NodeProto) -> str:
    """The module that a node is of, as PyTorch's exporters write it: beside the node, or into its name."""
    for entry in node.metadata_props:
        if entry.key == "pkg.torch.onnx.name_scopes":
            try:
                return "/".join([scope for scope in ast.literal_eval(entry.value) if scope][:-1][-1:]).replace(".", "/")
            except (SyntaxError, ValueError):
                pass
    return node.name.strip("/").rpartition("/")[0]


def _heat(share: float) -> str:
    """From white to red at a tenth of the run."""
    rest = round(255 - 155 * min(share / 10, 1))
    return f"#ff{rest:02x}{rest:02x}"


def load(path: str) -> onnx.ModelProto:
    """A model without its weights' numbers. Raises Error."""
    try:
        return onnx.load(path, load_external_data=False)
    except Exception as error:
        raise tools.Error(f"{path} is no ONNX model: {error}") from error
