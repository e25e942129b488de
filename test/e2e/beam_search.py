# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Beam search on the wafer, token for token beside transformers' generate(num_beams=N, do_sample=False).

usage: beam_search.py ARCHITECTURE PROGRAM.wafer [--engine NAME] [--beams N] [--tokens N]
       beam_search.py smollm2 [--beams N] [--tokens N] [--precision f32]

ARCHITECTURE is one of growing_exports.py, of which the program was compiled for a batch of N with --reorder-states. Texts end by
a token, too, which some beams choose before others. smollm2: wsec.chat's model, which it compiles.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from wsec import program  # noqa: E402


def expected(model, ids, words, end):
    with torch.no_grad():
        made = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.int64), num_beams=words.beams,
                              do_sample=False, max_new_tokens=words.tokens, eos_token_id=end or None, pad_token_id=0)
    return made[0, len(ids):].tolist()


def small(words):
    """Prompts by chance; the reordered calls."""
    from growing_exports import build
    model, _ = build(words.architecture, "eager", None)
    session = program.load(words.program).session(engine=words.engine)
    moved, run = [], session.run

    def counted(*given, **named):
        if named.get("entry") == "reorder":
            moved.append(named["arguments"]["source"])
        return run(*given, **named)
    session.run = counted
    random = np.random.default_rng(0)
    ended = 0
    for length in (1, 3, 6):
        ids, end = random.integers(3, 61, length).tolist(), []
        for _ in range(2):
            its = expected(model, ids, words, end)
            made = session.generate(ids, num_beams=words.beams, max_new_tokens=words.tokens, end_ids=end)
            assert made == its, (length, end, made, its)
            ended += len(made) < words.tokens
            end = random.choice(61, 30, replace=False).tolist()  # and now with tokens that end a text
    assert ended, "no text ended"
    assert words.beams == 1 or len({tuple(its) for its in moved}) > 3, moved
    print(f"{ended} of 6 texts ended, {len(moved)} calls moved states: equal")


def smollm2(words):
    from transformers import AutoModelForCausalLM

    from wsec.chat import packaged_model
    from wsec.decoder import Decoder
    from wsec.language import Tokenizer
    path = packaged_model()
    decoder = Decoder(path, batch=words.beams, beams=True, precision=words.precision, threads=words.threads)
    tokenizer = Tokenizer(decoder.file)
    ids = tokenizer.encode(tokenizer.conversation([{"role": "user", "content": words.prompt}]))
    made = decoder.search(ids, words.tokens, [2])
    print(f"{decoder.work.calls} calls, {decoder.work.cycles:.0f} cycles, {decoder.work.seconds:.1f} s: {tokenizer.decode(made)!r}", flush=True)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
    its = expected(model, ids, words, [2])
    assert made == its, (made, its)
    print(f"{len(made)} tokens equal")


def main():
    words = argparse.ArgumentParser()
    words.add_argument("architecture")
    words.add_argument("program", nargs="?")
    words.add_argument("--engine", default="strips")
    words.add_argument("--beams", type=int, default=4)
    words.add_argument("--tokens", type=int, default=16)
    words.add_argument("--precision", default="f32")
    words.add_argument("--prompt", default="Write a haiku about the sea.")
    words.add_argument("--threads", type=int, default=0)
    words = words.parse_args()
    (smollm2 if words.architecture == "smollm2" else small)(words)


main()
