# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wse-run --generate against a loop in Python over onnxruntime, the likeliest token each time.

usage: generated_tokens.py MODEL.onnx PROGRAM.wafer FOLDER [--vocabulary N] [--more=FLAG ...]

Prompts of one token, of chunks that are full and that are not, up to the capacity; the end of a text; a conversation that goes
on from a state.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import decoder_states
import growing_states
import numpy as np
import onnx


def expected(model, prompt, most):
    """Tokens, and by how much the likeliest was ahead of the next, at least."""
    growing = len(next(each for each in onnx.load(model).graph.input if each.name.startswith("past")).type.tensor_type.shape.dim) == 4
    reference = (growing_states if growing else decoder_states).Reference(model)
    made, ahead, ids, position = [], np.inf, list(prompt), 0
    while len(made) < most:
        given = np.array([ids])
        call = {"input_ids": given, "position_ids": position + np.arange(len(ids))[None]}
        logits = reference(given if growing else call, position)[0, -1]
        best = np.argsort(-logits)
        ahead = min(ahead, logits[best[0]] - logits[best[1]])
        position, ids = position + len(ids), [int(best[0])]
        made += ids
    return made, ahead


def main():
    words = argparse.ArgumentParser()
    words.add_argument("model")
    words.add_argument("program")
    words.add_argument("folder", type=Path)
    words.add_argument("--vocabulary", type=int, default=61)
    words.add_argument("--reference", help="a model of the same weights that gives logits (default: MODEL.onnx)")
    words = words.parse_args()
    prompt_file, tokens_file, report_file, state = (words.folder / name for name in ("ids.npy", "tokens.npy", "r.json", "state"))
    random = np.random.default_rng(0)

    def generated(prompt, most, *flags, dtype="i8"):
        np.save(prompt_file, np.array(prompt, dtype))
        subprocess.run(["wse-run", words.program, "--generate", f"--input=input_ids={prompt_file}", f"--max-new-tokens={most}",
                        f"--output=tokens={tokens_file}", f"--report={report_file}", "--quiet", *flags], check=True)
        report = json.loads(report_file.read_text())["generation"]
        ids = np.load(tokens_file).tolist()
        same = report["ids"] == ids and report["tokens"] == len(ids) and report["prompt_tokens"] == len(prompt)
        return ids, report, same

    right = True
    for count, most in ((1, 6), (4, 1), (6, 12), (13, 12), (24, 1)):
        prompt = random.integers(3, words.vocabulary, count).tolist()
        want, ahead = expected(words.reference or words.model, prompt, most)
        ids, report, same = generated(prompt, most, dtype="i4" if count == 4 else "i8")
        right &= same and ids == want and not report["ended"] and report["position"] == count + most - 1
        print(f"{count} tokens, and {len(ids)} behind them, ahead by {ahead:.1g}", "equal" if ids == want else f"{ids} {want}")
    # The text that ends early, and one that goes on from there: the last token was not fed.
    prompt = random.integers(3, words.vocabulary, 5).tolist()
    want, _ = expected(words.reference or words.model, prompt, 9)
    ids, report, same = generated(prompt, 9, f"--end-id={want[3]}", "--end-id=0", f"--save-state={state}")
    count = want.index(want[3]) + 1
    right &= same and ids == want[:count] and report["ended"]
    ids, report, same = generated(ids[-1:], 9 - count, f"--load-state={state}", f"--argument=position={report['position']}")
    right &= same and ids == want[count:]
    print("ends and goes on", "equal" if ids == want[count:] else f"{ids} {want}")
    # Chance: again the same with a seed, another with another, the likeliest alone with one to choose from.
    chance = [generated(prompt, 9, "--temperature=3", f"--top-k={k}", f"--seed={seed}")[0]
              for k, seed in ((3, 1), (3, 1), (3, 2), (1, 5))]
    right &= chance[0] == chance[1] != chance[2] and chance[3] == want
    print("all", "equal" if right else "DIFFERENT")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
