# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models whose positions are complex numbers, which no exporter can write (aten::polar): with pairs of real ones in
their place, as those who export them do, they run with onnxruntime's numbers.

usage: complex_rotary.py deepseek-v2|llama4 --work DIR --mesh WxH ...
"""

import argparse
import importlib
import sys
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from commands import run

sys.path.insert(0, str(Path(__file__).resolve().parent / "families"))

import architectures  # noqa: E402

# Where positions are made, and in front of which axis of queries heads are.
MODELS = {"deepseek-v2": ("deepseek_v2", "DeepseekV2RotaryEmbedding", 1),
          "llama4": ("llama4", "Llama4TextRotaryEmbedding", 2)}


def angles(rotary, x, position_ids, **_):
    """Cosines and sines, where the model has complex numbers of length 1."""
    angle = position_ids[:, :, None].float() * rotary.inv_freq.float()
    return torch.stack([angle.cos(), angle.sin()], -1) * rotary.attention_scaling


def turned(x, by):
    first, second = x.float().reshape(*x.shape[:-1], -1, 2).unbind(-1)
    cosine, sine = by.unbind(-1)
    return torch.stack([first * cosine - second * sine, first * sine + second * cosine], -1).flatten(-2).type_as(x)


def logits(module, inputs):
    with torch.no_grad():
        return module(*inputs.values()).numpy()


def main():
    words = argparse.ArgumentParser()
    words.add_argument("model", choices=list(MODELS))
    words.add_argument("--work", type=Path, required=True)
    words.add_argument("--mesh", action="append", required=True)
    words = words.parse_args()
    warnings.simplefilter("ignore")
    work = words.work
    work.mkdir(parents=True, exist_ok=True)
    name, rotary, axis = MODELS[words.model]
    module, inputs, _, output = architectures.build(words.model, "sdpa", 2, masked=False)
    complex_logits = logits(module, inputs)
    code = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
    getattr(code, rotary).forward = angles
    code.apply_rotary_emb = lambda q, k, by: tuple(turned(x, by.unsqueeze(axis)) for x in (q, k))
    found = np.abs(logits(module, inputs) - complex_logits).max()
    print("real numbers are", "as good" if found < 1e-5 else f"off by {found}")
    torch.onnx.export(module, tuple(inputs.values()), work / "m.onnx", dynamo=True, verbose=False, opset_version=20,
                      input_names=list(inputs), output_names=[output])
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
