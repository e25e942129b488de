# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models whose positions are complex numbers, which no exporter can write (aten::polar): with pairs of real ones in
their place, as those who export them do, they run with onnxruntime's numbers.

usage: complex_rotary.py deepseek-v2|llama4 --work DIR --mesh WxH ...
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from commands import run

sys.path.insert(0, str(Path(__file__).resolve().parent / "families"))

import architectures  # noqa: E402
import real_pairs  # noqa: E402


def logits(module, inputs):
    with torch.no_grad():
        return module(*inputs.values()).numpy()


def main():
    words = argparse.ArgumentParser()
    words.add_argument("model", choices=list(real_pairs.MODELS))
    words.add_argument("--work", type=Path, required=True)
    words.add_argument("--mesh", action="append", required=True)
    words = words.parse_args()
    warnings.simplefilter("ignore")
    work = words.work
    work.mkdir(parents=True, exist_ok=True)
    module, inputs, _, output = architectures.build(words.model, "sdpa", 2, masked=False)
    complex_logits = logits(module, inputs)
    with real_pairs.of(words.model):
        found = np.abs(logits(module, inputs) - complex_logits).max()
        torch.onnx.export(module, tuple(inputs.values()), work / "m.onnx", dynamo=True, verbose=False, opset_version=20,
                          input_names=list(inputs), output_names=[output])
    print("real numbers are", "as good" if found < 1e-5 else f"off by {found}")
    fed = {key: value.numpy() for key, value in inputs.items()}
    [expected] = onnxruntime.InferenceSession(work / "m.onnx").run(None, fed)
    np.savez(work / "in.npz", **fed)
    is_good = found < 1e-5
    for mesh in words.mesh:
        run(["wsec", work / "m.onnx", "-o", work / "m.wafer", f"--mesh={mesh}", "--quiet"])
        run(["wse-run", work / "m.wafer", f"--weights={work}", "--inputs", work / "in.npz", "--outputs", work / "y.npz",
             "--quiet"])
        error = np.abs(np.load(work / "y.npz")[output] - expected).max() / np.abs(expected).max()
        print(f"{mesh}: {'as onnxruntime' if error <= 1e-4 else f'off by {error:.1e}'}")
        is_good &= error <= 1e-4
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
