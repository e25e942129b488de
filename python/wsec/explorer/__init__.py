# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models with their costs on a wafer, in Model Explorer (PyPI's ai-edge-model-explorer):

    model-explorer --extensions=wsec.explorer model.onnx

The costs are those of the report beside the model, model.report.json, as `wsec --report` predicts or `wse-run --report`
measures it; without one the model is compiled for 32x32 PEs. Here is what needs onnx alone, main.py is the extension.
"""

from wsec.explorer.graph import OVERLAYS, Costs, costs_of, graph_of

__all__ = ["OVERLAYS", "Costs", "costs_of", "graph_of"]
