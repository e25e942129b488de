# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec from Python: compile a model for a wafer, run it on the emulator, look at both.

    import wsec
    program = wsec.compile("model.onnx", mesh="32x32", shapes={"input_ids": (4, 11)})
    outputs = program.run({"input_ids": ids})
    outputs["logits"], outputs.report.cycles.total

    history = wsec.train("model.onnx", tokens, steps=300, batch=8, sequence=64, mesh="32x32", lr=1e-3)
    history.losses[-1]

    session = program.session()  # in this process, for many calls
    session.run({"input_ids": ids})["logits"]

    session = wsec.ShapedSession("model.onnx", mesh="32x32")  # compiled for the shapes that come
    session.run({"input_ids": ids[:2]})["logits"], session.run({"input_ids": ids[:3]})["logits"]

    program = wsec.compile(torch_module, example_inputs=(ids,), mesh="32x32")
    fast = torch.compile(torch_module, backend="wsec")

    cache = wsec.compile("cache.mlir")
    cache.run(entry="load", save_state="cache.state")
    cache.run(entry="attend", arguments={"length": 2}, load_state="cache.state")

A thin layer over the tools wsec, wse-run and wse-inspect, which lie in the installed package; a
checkout takes those of $WSEC_BIN, else of build/release/bin. `python -m wsec.sentences`
is a demonstration, `python -m wsec.chat` a language model that answers, `python -m wsec.serve` the same
for clients that speak the chat API, `python -m wsec.weights` refers a model to safetensors files, `wsec.backend` is a backend of ONNX.
"""

from wsec.program import Outputs, Program, TensorType, compile, load
from wsec.report import Report, Section, schema
from wsec.session import Session
from wsec.shapes import ShapedSession
from wsec.tools import CompileError, Error, InputError, RunError, UsageError, tool
from wsec.training import History, train

__all__ = ["CompileError", "Error", "History", "InputError", "Outputs", "Program", "Report", "RunError", "Section",
           "Session", "ShapedSession", "TensorType", "UsageError", "compile", "load", "schema", "tool", "train"]
