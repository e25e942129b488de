# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each kind of decoder of `wsec model`, two layers of it, in onnxruntime on
sequences of two lengths: finite logits of the right shape, and those of a
token do not depend on the tokens after it. With caches, the same logits come
of calls of three tokens.

Usage: run_models.py FOLDER
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime

SMALL = "layers: 2, width: 64, heads: 4, vocabulary: 97"
KINDS = {
    "gpt2": "preset: gpt2-s",
    "gptj": "preset: gptj-6b, rotary_features: 8",
    "neox": "preset: neox-20b, rotary_features: 4",
    "llama": "preset: llama-7b, feed_forward: 100",
    "llama2": "preset: llama2-70b, kv_heads: 2, feed_forward: 100",
    "smollm2": "preset: smollm2-135m, kv_heads: 2, feed_forward: 100",
    "mixtral": "preset: mixtral-8x7b, kv_heads: 2, feed_forward: 100",
}

CAPACITY, TOKENS = 9, 3


def in_calls(session, ids):
    """Logits of all tokens, by calls that each take the keys and values of those before."""
    past = {each.name: np.zeros((len(ids), *each.shape[1:]), "f4") for each in session.get_inputs() if "past" in each.name}
    names = [each.name for each in session.get_outputs()]
    logits = []
    for at in range(0, ids.shape[1], TOKENS):
        places = np.broadcast_to(at + np.arange(TOKENS), (len(ids), TOKENS))
        made = dict(zip(names, session.run(names, {"input_ids": ids[:, at:at + TOKENS], "position_ids": places,
                                                   "position": np.full(len(ids), at), **past})))
        past = {name: made[name.replace("past", "present")] for name in past}
        logits.append(made["logits"])
    return np.concatenate(logits, 1)


folder = Path(sys.argv[1])
for name, kind in KINDS.items():
    config, model = folder / f"{name}.yaml", folder / f"{name}.onnx"
    config.write_text(f"model: {{{kind}, {SMALL}}}\n", encoding="utf-8")
    subprocess.run(["wsec", "model", f"--config={config}", "-o", model, "--weights=seeded"],
                   check=True, stdout=subprocess.DEVNULL)
    session = onnxruntime.InferenceSession(model)
    ids = np.random.default_rng(0).integers(0, 97, (2, 11))
    (whole,) = session.run(None, {"input_ids": ids})
    (part,) = session.run(None, {"input_ids": ids[:, :5]})
    assert whole.shape == (2, 11, 97) and np.isfinite(whole).all(), name
    assert np.abs(whole[:, :5] - part).max() < 1e-4, name
    assert np.abs(whole[0] - whole[1]).max() > 1e-2, name
    subprocess.run(["wsec", "model", f"--config={config}", "-o", model, "--weights=seeded",
                    f"--kv-capacity={CAPACITY}"], check=True, stdout=subprocess.DEVNULL)
    ids = ids[:, :9]
    last = folder / f"{name}-last.onnx"
    subprocess.run(["wsec", "model", f"--config={config}", "-o", last, "--weights=seeded", "--last-token"],
                   check=True, stdout=subprocess.DEVNULL)
    session = onnxruntime.InferenceSession(last)
    (of_last,) = session.run(None, {"input_ids": ids, "last": np.array([8, 3])})
    assert of_last.shape == (2, 1, 97) and np.abs(of_last[:, 0] - whole[[0, 1], [8, 3]]).max() < 1e-4, name
    (of_none,) = session.run(None, {"input_ids": ids, "last": np.array([8, 9])})
    assert np.isnan(of_none[1]).all() and not np.isnan(of_none[0]).any(), name
    assert np.abs(in_calls(onnxruntime.InferenceSession(model), ids) - whole[:, :9]).max() < 1e-4, name
