# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small random transformer of families/architectures.py, exported for any number of tokens.

usage: length_exports.py ARCHITECTURE FILE.onnx
"""

import logging
import sys
import warnings
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).resolve().parent / name) for name in ("families", "models")]

import architectures  # noqa: E402


def main():
    name, path = sys.argv[1:]
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    module, inputs, axes, output = architectures.build(name, "eager", 1, masked=True)
    # Batches stay; tokens of all inputs are as many.
    tokens = {its: {axis: "sequence" for axis in axes[its] if axis == 1} for its in inputs}
    with torch.no_grad():
        torch.onnx.export(module, tuple(inputs.values()), path, dynamo=False, opset_version=17, input_names=list(inputs),
                          output_names=[output], dynamic_axes=tokens)


main()
