# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Model Explorer loads: an adapter, and a provider of data that it lays over the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dacite import from_dict
from model_explorer import Adapter, AdapterMetadata, ModelExplorerGraphs, graph_builder, node_data_builder
from model_explorer.config_editor import TextInputConfigEditor
from model_explorer.node_data_provider import (
    GetConfigEditorsResult,
    NodeDataProvider,
    NodeDataProviderFilter,
    NodeDataProviderMetadata,
    NodeDataProviderResult,
)

from wsec.explorer import OVERLAYS, Costs, costs_of, graph_of
from wsec.explorer.graph import load, node_names
from wsec.tools import Error

GRADIENT = [(0.0, "white"), (1.0, "red")]


def _loaded(path: str, flags: str = "") -> tuple[Any, Costs]:
    model = load(path)
    return model, Costs(costs_of(Path(path), flags), set(node_names(model.graph)))


class WaferAdapter(Adapter):
    """Nodes with the kernels that compute them."""

    metadata = AdapterMetadata(id="wsec", name="wsec: costs on a wafer", fileExts=["onnx"],
                               description="ONNX models, with the kernels that compute each node on a wafer")

    def convert(self, model_path: str, settings: dict) -> ModelExplorerGraphs:
        return {"graphs": [from_dict(graph_builder.Graph, graph_of(*_loaded(model_path)))]}


class WaferCosts(NodeDataProvider):
    """Cycles laid over the graph."""

    metadata = NodeDataProviderMetadata(id="wsec_costs", name="Costs on a wafer", icon="grid_on",
                                        description="Cycles of kernels, for any mesh",
                                        filter=NodeDataProviderFilter(adapterIds=["wsec"]))

    def get_config_editors(self, provider_id: str) -> GetConfigEditorsResult:
        return GetConfigEditorsResult([TextInputConfigEditor(
            id="flags", label="Flags of wsec", defaultValue="",
            description="as --mesh=64x64 --precision=f16; none: the report beside the model, else 32x32 PEs")])

    def run(self, provider_id: str, model_path: str, graph_id: str, config_values: dict, graph: Any
            ) -> NodeDataProviderResult:
        try:
            model, costs = _loaded(model_path, config_values.get("flags", ""))
        except Error as error:
            return NodeDataProviderResult(error=str(error))
        values = {name: costs.of(name) for name in node_names(model.graph)}
        return NodeDataProviderResult([node_data_builder.GraphNodeData(
            name=title, gradient=[node_data_builder.GradientItem(stop, bgColor=color) for stop, color in GRADIENT],
            results={name: node_data_builder.NodeDataResult(its[key]) for name, its in values.items() if key in its})
            for key, title in OVERLAYS.items()])
