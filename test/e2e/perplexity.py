#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Perplexity of a page of Python's manual, by wsec.chat's model, SmolLM2-135M, in each precision.

  tools/setup.sh --smollm2 && PYTHONPATH=python .venv/bin/python test/e2e/perplexity.py [--tokens=256] [--topic=exceptions]
      [--precision=f16] [--kv-precision=int8]

Exit code 1 where a precision of fewer bits is more than 0.5 % off f32 on the wafer, whose tokens chat_tokens.py holds
against PyTorch's. All logits leave the wafer, a token a call, so that a page takes many minutes.
"""

import argparse
import math
import pydoc_data.topics
import sys

import numpy as np

from wsec.chat import packaged_model
from wsec.decoder import Decoder
from wsec.language import Tokenizer

LIMIT = 0.005


def perplexity(decoder, ids):
    """exp of the mean of -log p of each token but the first, given those before; in f64."""
    nats = 0.0
    for token, following in zip(ids, ids[1:]):
        logits = decoder.extend([token]).astype("f8")
        nats += logits.max() + math.log(np.exp(logits - logits.max()).sum()) - logits[following]
    return math.exp(nats / (len(ids) - 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=256, help="of the page (default: %(default)s)")
    parser.add_argument("--topic", default="exceptions", help="of the manual, pydoc_data.topics (default: %(default)s)")
    parser.add_argument("--precision", action="append", help="beside f32 (default: f16 and bf16)")
    parser.add_argument("--kv-precision", action="append", default=[], help="of keys and values alone, beside f32")
    parser.add_argument("--threads", type=int, default=0, help="of the emulator")
    words = parser.parse_args()
    path, made, ids = packaged_model(), {}, None
    narrow = words.precision or ([] if words.kv_precision else ["f16", "bf16"])
    for precision, kv in [("f32", None), *((each, None) for each in narrow), *(("f32", each) for each in words.kv_precision)]:
        decoder = Decoder(path, capacity=512, precision=precision, kv_precision=kv, threads=words.threads)
        if ids is None:
            ids = Tokenizer(decoder.file).encode(pydoc_data.topics.topics[words.topic])[:words.tokens]
            if len(ids) < words.tokens:
                parser.error(f"topic '{words.topic}' has {len(ids)} tokens, expected at least the {words.tokens} of --tokens")
        name = f"{kv} keys" if kv else precision
        made[name] = perplexity(decoder, ids)
        off = made[name] / made["f32"] - 1
        print(f"{name:9} {made[name]:9.4f} over {len(ids)} tokens, {off:+.4%} off f32: "
              f"{'within' if abs(off) <= LIMIT else 'BEYOND'} {LIMIT:.1%}", flush=True)
    return 1 if any(abs(each / made["f32"] - 1) > LIMIT for each in made.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
