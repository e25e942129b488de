#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers of wsec.chat's model, token for token beside PyTorch's: SmolLM2-135M, the likeliest token each time.

  tools/setup.sh --smollm2 && PYTHONPATH=python .venv/bin/python test/e2e/chat_tokens.py [--tokens=64] [--prompts=10] [--capacity=256] [--batch=4]

With --batch so many prompts are answered at the same time, each in a sequence of its own. Exit code 1 where one differs. Some minutes, most of them PyTorch's, which opens the file through transformers.
"""

import argparse
import queue
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from wsec.batch import Batch
from wsec.chat import Sampling, Writing, packaged_model
from wsec.decoder import Decoder
from wsec.language import Tokenizer

PROMPTS = ("What is the capital of France?", "Write a haiku about the sea.", "Explain photosynthesis to a child.",
           "List five fruits.", "How do I boil an egg?", "Tell me a short story about a fox.", "What is 12 times 7?",
           "Translate 'good morning' into Spanish.", "Why is the sky blue?",
           "Write a Python function that adds two numbers.")


class Reference:
    """PyTorch's answers."""

    def __init__(self, path):
        self.model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        self.end = self.tokenizer.eos_token_id

    def answer(self, prompt, most):
        """Ids of the prompt and of the answer, and by how much the chosen logit was ahead, at least."""
        text = self.tokenizer.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True,
                                                  tokenize=False)
        ids = self.tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
        with torch.no_grad():
            made = self.model.generate(ids, max_new_tokens=most, do_sample=False, eos_token_id=self.end,
                                       pad_token_id=self.end, return_dict_in_generate=True, output_scores=True)
        ahead = min(float(scores[0].topk(2).values.diff().abs()) for scores in made.scores)
        return ids[0].tolist(), made.sequences[0, ids.shape[1]:].tolist(), ahead


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--prompts", type=int, default=len(PROMPTS))
    parser.add_argument("--threads", type=int, default=0, help="of the emulator")
    parser.add_argument("--capacity", type=int, default=512, help="tokens of a conversation (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=1, help="prompts at the same time (default: %(default)s)")
    parser.add_argument("--mesh", default="32x32")
    words = parser.parse_args()
    path = packaged_model()
    reference = Reference(path)
    decoder = Decoder(path, capacity=words.capacity, top=Sampling().logits(), threads=words.threads, batch=words.batch,
                      mesh=words.mesh)
    tokenizer, batch, told = Tokenizer(decoder.file), Batch(decoder), queue.Queue()
    texts = []
    for prompt in PROMPTS[:words.prompts]:
        asked = tokenizer.encode(tokenizer.conversation([{"role": "user", "content": prompt}]))
        texts.append(Writing(tokenizer, asked, words.tokens))
        batch.add(texts[-1], lambda text, i=len(texts) - 1: isinstance(text, str) or told.put((i, text)))
    differ = 0
    for _ in texts:
        i, error = told.get()
        if error:
            raise error
        asked, expected, ahead = reference.answer(PROMPTS[i], words.tokens)
        same = (texts[i].ids, texts[i].answer.ids) == (asked, expected)
        differ += not same
        print(f"{PROMPTS[i]:48} {len(expected):3} tokens, the closest {ahead:.4f} ahead: {'same' if same else 'DIFFERENT'}",
              flush=True)
    print(f"{decoder.work.calls} calls, {decoder.work.cycles:.0f} cycles")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
