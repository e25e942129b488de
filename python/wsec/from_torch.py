# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's models on the emulated wafer, by way of torch.export and ONNX.

    program = wsec.compile(module, example_inputs=(ids,), mesh="16x16")   # a Program, as of any model
    fast = torch.compile(module, backend="wsec", options={"mesh": "16x16"})  # in a checkout wsec.from_torch.backend
    fast(ids)                                                             # tensors in, tensors out

The second is inference only: it compiles for the shapes of a call when they are first seen. torch and
onnxscript (`pip install torch onnxscript`) are used where a model of PyTorch is given, and only there.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wsec.tools import CompileError, Error, UsageError

if TYPE_CHECKING:
    import torch


def is_module(model: Any) -> bool:
    """Whether a model is PyTorch's; imports nothing."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def export(module: torch.nn.Module, example_inputs: Sequence[Any] | Mapping[str, Any], folder: Path) -> Path:
    """Writes a module as `folder`/NAME.onnx, with its weights beside it; returns the path.

    example_inputs: the arguments of a call, by position or by name; their shapes and dtypes are those of the
        program's inputs, whose names are those of the arguments.

    Raises CompileError where PyTorch cannot export the module, Error where onnxscript is not installed.
    """
    import torch

    try:
        import onnxscript  # noqa: F401  torch names it in an error of many lines
    except ImportError as error:
        raise Error("PyTorch exports to ONNX with the package onnxscript: pip install onnxscript") from error
    named = isinstance(example_inputs, Mapping)
    if not named and not isinstance(example_inputs, (tuple, list)):
        raise UsageError("example_inputs are the arguments of a call: a tuple, or a dict by name, not of type "
                         f"{type(example_inputs).__name__}")
    was_training = module.training
    module.eval()
    # It tells of every package that is not there.
    logger = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # of the exporter's own future
            exported = torch.onnx.export(module, () if named else tuple(example_inputs),
                                         kwargs=dict(example_inputs) if named else None, dynamo=True, verbose=False)
    except torch.onnx.OnnxExporterError as error:
        reason: BaseException = error
        while reason.__cause__ is not None:
            reason = reason.__cause__
        remedy = ("; call torch.backends.mha.set_fastpath_enabled(False) before torch.compile"
                  if "_fwd'" in str(reason) else "")
        raise CompileError(f"{type(module).__name__}: PyTorch does not export it to ONNX: {reason}{remedy}") from error
    finally:
        logger.setLevel(level)
        module.train(was_training)
    path = folder / f"{type(module).__name__}.onnx"
    exported.save(path, external_data=True)
    return path


def backend(graph: torch.fx.GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None
            ) -> Callable[..., tuple[torch.Tensor, ...]]:
    """What torch.compile(model, backend="wsec", options=FLAGS) calls with each graph that it finds. FLAGS are those
    of `wsec.compile`, as {"mesh": "16x16", "precision": "f16"}; a mesh of 8x8 PEs by default.

    Returns a function of the same tensors, which compiles for each set of shapes once. Raises CompileError with what
    the compiler refuses, Error where a gradient would be needed.
    """
    del example_inputs  # the first call brings its own
    return _Compiled(graph, {"mesh": "8x8", **(options or {})})


class _Compiled:
    """A graph, and a session for each set of shapes and weights that it was called with."""

    def __init__(self, graph: torch.fx.GraphModule, flags: Mapping[str, Any]) -> None:
        self._graph, self._flags = graph, dict(flags)
        self._calls: dict[Any, _Call] = {}

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        import torch

        if torch.is_grad_enabled() and any(isinstance(a, torch.Tensor) and a.requires_grad for a in arguments):
            raise Error("torch.compile(backend='wsec') computes no gradients: call the model under torch.no_grad(), "
                        "or train it with wsec.train")
        key = tuple((id(a), a.data_ptr(), _version(a)) if _is_weight(a) else
                    (tuple(a.shape), a.dtype) if isinstance(a, torch.Tensor) else a for a in arguments)
        if key not in self._calls:
            with torch.inference_mode(False), torch.no_grad():
                self._calls[key] = _Call(self._graph, arguments, self._flags)
        return self._calls[key](arguments)


class _Call:
    """A graph with the weights and numbers of one call inside, on a wafer of its own."""

    def __init__(self, graph: torch.fx.GraphModule, arguments: Sequence[Any], flags: Mapping[str, Any]) -> None:
        import torch

        from wsec.program import compile

        self._fed = [i for i, a in enumerate(arguments) if isinstance(a, torch.Tensor) and not _is_weight(a)]
        # Kept, so that nothing else gets the id of a weight, nor the place of its numbers.
        self._arguments = [None if i in self._fed else a for i, a in enumerate(arguments)]
        self._kept = [a.detach() for a in self._arguments if isinstance(a, torch.Tensor)]
        copies = [a.detach().clone() if isinstance(a, torch.Tensor) else a for a in arguments]
        before = [_version(a) if isinstance(a, torch.Tensor) else 0 for a in copies]
        with torch.no_grad():
            results = graph(*copies)
        changed = [i for i, a in enumerate(copies) if isinstance(a, torch.Tensor) and _version(a) != before[i]]
        if changed:
            names = [node.name for node in graph.graph.nodes if node.op == "placeholder"]
            raise CompileError(f"the graph writes into its argument '{names[changed[0]]}'; what a model changes in place "
                               "does not come back from the wafer: return it instead")
        self._results = [None if isinstance(r, torch.Tensor) else (r,) for r in results]
        with tempfile.TemporaryDirectory(prefix="wsec-") as folder:
            path = export(_bound(graph, self._arguments, self._fed, self._results),
                          [arguments[i] for i in self._fed], Path(folder))
            import onnx

            onnx_graph = onnx.load(path, load_external_data=False).graph
            self._inputs = [value.name for value in onnx_graph.input]
            self._outputs = [value.name for value in onnx_graph.output]
            self._program = compile(path, bundle=True, **flags)
        self._session = self._program.session()

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        fed = {name: _array(arguments[i]) for name, i in zip(self._inputs, self._fed, strict=True)}
        given = self._session.run(fed)
        tensors = iter([_tensor(given[name]) for name in self._outputs])
        return tuple(next(tensors) if result is None else result[0] for result in self._results)


def _bound(graph: torch.fx.GraphModule, arguments: Sequence[Any], fed: Sequence[int], results: Sequence[Any]
           ) -> torch.nn.Module:
    """The graph as a module of those of its arguments that are fed; the others are its own. Results are tensors."""
    import torch

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.graph = graph
            self.weights = torch.nn.ParameterList(
                torch.nn.Parameter(a, requires_grad=False) for a in arguments if isinstance(a, torch.Tensor))

        def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            values, weights, own = dict(zip(fed, tensors)), iter(self.weights), list(arguments)
            for i, a in enumerate(own):
                own[i] = values[i] if i in values else next(weights) if isinstance(a, torch.Tensor) else a
            return tuple(r for r, fixed in zip(self.graph(*own), results) if fixed is None)

    return Model()


def _is_weight(value: Any) -> bool:
    """Whether an argument of a graph is a parameter or a buffer of the model, which PyTorch marks."""
    import torch

    return isinstance(value, torch.nn.Parameter) or (
        isinstance(value, torch.Tensor) and getattr(value, "_dynamo_static_input_type", None) is not None)


def _version(tensor: torch.Tensor) -> int:
    """How often it was written to, which tensors of torch.inference_mode do not count."""
    return 0 if tensor.is_inference() else tensor._version


def tensors(arrays: Mapping[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """Arrays as tensors."""
    return {name: _tensor(array) for name, array in arrays.items()}


def _array(tensor: torch.Tensor) -> np.ndarray:
    import torch

    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype != torch.bfloat16:
        return tensor.numpy()
    import ml_dtypes

    return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)


def _tensor(array: np.ndarray) -> torch.Tensor:
    import torch

    if array.dtype.name != "bfloat16":
        return torch.from_numpy(array.copy())
    return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
