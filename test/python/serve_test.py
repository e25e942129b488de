#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec.serve, asked by OpenAI's own client: answers of a small random LLaMA, whole, as they come, and several at a time;
what it refuses."""

import argparse
import contextlib
import http.client
import io
import json
import os
import tempfile
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
import openai
import uvicorn
from small_llama import SmallLlama

from wsec import Error, UsageError, chat, gguf, language, serve

CAPACITY, TOP = 60, 12


class Served(unittest.TestCase):
    """A server, and who asks it."""

    mesh, batch = "8x6", 1

    @classmethod
    def setUpClass(cls):
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.enterClassContext(unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=str(folder / "cache")))
        cls.llama = SmallLlama(folder / "small.gguf")
        cls.tokenizer = language.Tokenizer(gguf.File(folder / "small.gguf"))
        words = serve.parser().parse_args([f"--model={folder / 'small.gguf'}", f"--mesh={cls.mesh}", f"--capacity={CAPACITY}",
                                           "--threads=1", f"--top-k={TOP}", f"--batch={cls.batch}"])
        cls.model = serve.Model(chat.decoder_of(words, words.top_k, words.batch), cls.tokenizer, "small")
        cls.server = uvicorn.Server(uvicorn.Config(serve.application(cls.model), port=0, log_level="warning"))
        thread = threading.Thread(target=cls.server.run)
        thread.start()
        while not cls.server.started and thread.is_alive():
            time.sleep(0.01)
        cls.addClassCleanup(thread.join)
        cls.addClassCleanup(setattr, cls.server, "should_exit", True)
        cls.port = cls.server.servers[0].sockets[0].getsockname()[1]
        cls.client = openai.OpenAI(base_url=f"http://127.0.0.1:{cls.port}/v1", api_key="none", max_retries=0)
        cls.addClassCleanup(cls.client.close)

    def ask(self, *said, **more):
        messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]
        return self.client.chat.completions.create(model="small", messages=messages, **more)

    def expected(self, said, most):
        """Ids of the prompt and of the likeliest answer, and its text."""
        ids = self.tokenizer.encode(self.tokenizer.conversation([{"role": "user", "content": said}]))
        made = self.llama.greedy(ids, most)
        return ids, made, self.tokenizer.decode(made)

    def streamed(self, *said, **more):
        """Text, reasons, pieces of text, usage."""
        with self.ask(*said, stream=True, stream_options={"include_usage": True}, **more) as chunks:
            chunks = list(chunks)
        self.assertEqual(len({chunk.id for chunk in chunks}), 1)
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual(chunks[-1].choices, [])
        pieces = [chunk.choices[0].delta.content for chunk in chunks[:-1] if chunk.choices[0].delta.content]
        return "".join(pieces), chunks[-2].choices[0].finish_reason, pieces, chunks[-1].usage

    def at_once(self, said, most, **more):
        """Texts of answers to all of these, of so many tokens each."""
        answers = [None] * len(said)

        def ask(i):
            answers[i] = self.streamed(said[i], temperature=0, max_tokens=most[i], **more)[0]
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(said))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers


class BatchTest(Served):
    """Four conversations at a time."""

    mesh, batch = "8x8", 4

    def test_conversations_of_different_lengths(self):
        # Two wait for a place; one fills the capacity, another is of one token.
        said = ["hello", "a", "tell " * 4, "hi hell", "what?", "tell me more"]
        most = [12, 1, 9, 20, 7, 3]
        prompts = [len(self.expected(text, 1)[0]) for text in said]
        most[2] = CAPACITY - prompts[2] + 1
        expected = [self.expected(text, count) for text, count in zip(said, most)]
        before = self.model.decoder.work.calls
        self.assertEqual(self.at_once(said, most), [text for _, _, text in expected])
        calls = self.model.decoder.work.calls - before
        self.assertLess(calls, sum(len(made) for _, made, _ in expected))
        # The places of those that ended are free, and remember.
        before = self.model.decoder.work.calls
        self.assertEqual(self.at_once(said[2:3], [1]), [self.expected(said[2], 1)[2]])
        self.assertEqual(self.model.decoder.work.calls - before, 1)

    def test_one_leaves(self):
        with self.ask("hell", temperature=0, max_tokens=45, stream=True) as chunks:
            next(iter(chunks))
            answers = self.at_once(["hello", "tell", "hi", "a"], [6] * 4)  # the last one waits
        self.assertEqual(answers, [self.expected(text, 6)[2] for text in ("hello", "tell", "hi", "a")])
        before = self.model.decoder.work.calls
        self.assertEqual(self.at_once(["hi"], [9]), [self.expected("hi", 9)[2]])
        self.assertLess(self.model.decoder.work.calls - before, 15)

    def test_who_cannot_be_made_or_told_stops_nobody_else(self):
        batch, told = self.model.batch, {}

        def teller(name):
            told[name] = []
            return lambda what: told[name].append(what)

        def deaf(_):
            raise RuntimeError("gone")
        ids, made, text = self.expected("hello", 6)
        writing = lambda ids, most: chat.Writing(self.tokenizer, ids, most)  # noqa: E731
        batch.add(writing(ids, 6), deaf)
        for name, bad in {"good": (ids, 6), "empty": ([], 6), "unknown": ([1 << 20], 6), "none": (ids, 0)}.items():
            batch.add(writing(*bad), teller(name))
        for _ in range(1000):
            if all(parts and not isinstance(parts[-1], str) for parts in told.values()):
                break
            time.sleep(0.01)
        self.assertEqual("".join(told["good"][:-1]), text)
        self.assertIsNone(told["good"][-1])
        self.assertEqual(len(made), 6)
        for name, wanted in {"empty": "a text of 0 tokens", "unknown": "there is no token 1048576",
                             "none": "at most 0 behind it"}.items():
            self.assertIsInstance(told[name][-1], UsageError)
            self.assertIn(wanted, str(told[name][-1]))

    def test_what_stops_the_wafer_stops_all(self):
        with unittest.mock.patch.object(self.model.decoder, "step", side_effect=Error("Deadlock: none goes on")):
            for _ in range(2):
                with self.assertRaisesRegex(openai.InternalServerError, "Deadlock: none goes on"):
                    self.ask("hello", temperature=0)
        self.assertEqual(self.at_once(["hello", "hi"], [3, 3]), [self.expected(text, 3)[2] for text in ("hello", "hi")])


class ServeTest(Served):
    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["small"])
        self.assertEqual(self.client.models.retrieve("small").object, "model")
        with self.assertRaisesRegex(openai.NotFoundError, "there is no model 'large': this one is 'small'"):
            self.client.models.retrieve("large")

    def test_the_likeliest_answer(self):
        ids, made, text = self.expected("hello", 12)
        answer = self.ask("hello", temperature=0, max_tokens=12)
        self.assertEqual((answer.object, answer.model), ("chat.completion", "small"))
        self.assertEqual((answer.choices[0].message.role, answer.choices[0].message.content), ("assistant", text))
        ended = made[-1] in self.tokenizer.ends
        self.assertEqual(answer.choices[0].finish_reason, "stop" if ended else "length")
        self.assertEqual((answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens),
                         (len(ids), len(made), len(ids) + len(made)))
        whole, reason, pieces, usage = self.streamed("hello", temperature=0, max_completion_tokens=12)
        self.assertEqual((whole, reason, usage), (text, answer.choices[0].finish_reason, answer.usage))
        self.assertGreater(len(pieces), 3)

    def test_a_text_in_parts_and_a_conversation(self):
        parts = [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]
        answer = self.ask(parts, temperature=0, max_tokens=5)
        _, made, text = self.expected("hello", 5)
        self.assertEqual(answer.choices[0].message.content, text)
        before = self.model.decoder.work.calls
        again = self.ask("hello", text, "tell", temperature=0, max_tokens=1)
        ids = self.tokenizer.encode(f"<|user|>hello<|end|><|assistant|>{text}<|end|><|user|>tell<|end|><|assistant|>")
        self.assertEqual(again.choices[0].message.content, self.tokenizer.decode(self.llama.greedy(ids, 1)))
        # What it has seen before is not fed again.
        self.assertLess(self.model.decoder.work.calls - before, -(-len(ids) // 6))

    def test_stops(self):
        _, made, text = self.expected("hello", 12)
        for at, count in ((3, 1), (3, 4), (0, 2), (len(text) - 2, 2)):
            stop = text[at:at + count]
            cut = text[:text.find(stop)]
            answer = self.ask("hello", temperature=0, max_tokens=12, stop=["never said", stop])
            self.assertEqual((answer.choices[0].message.content, answer.choices[0].finish_reason), (cut, "stop"))
            self.assertEqual(self.streamed("hello", temperature=0, max_tokens=12, stop=stop)[:2], (cut, "stop"))
        # A beginning of a stop that does not go on is said after all.
        self.assertEqual(self.ask("hello", temperature=0, max_tokens=12, stop=text[-3:] + "?").choices[0].message.content, text)

    def test_chance(self):
        said = [self.ask("hello", max_tokens=8, temperature=1.5, seed=seed).choices[0].message.content for seed in (1, 1, 2)]
        self.assertEqual(said[0], said[1])
        self.assertNotEqual(said[0], said[2])
        _, _, likeliest = self.expected("hello", 8)
        for more in ({"top_p": 1e-6}, {"top_p": 0}, {"extra_body": {"top_k": 1}}):
            self.assertEqual(self.ask("hello", max_tokens=8, temperature=1.5, **more).choices[0].message.content, likeliest)
        # By chance among TOP tokens, with shares of these alone.
        ids, _, _ = self.expected("hello", 1)
        logits = self.llama.logits(ids)[-1]
        best = np.argsort(-logits)[:TOP]
        words = {self.tokenizer.decode([i]) for i in best}
        made = {self.ask("hello", max_tokens=1, temperature=2, seed=seed).choices[0].message.content for seed in range(40)}
        self.assertLessEqual(made, words)
        self.assertGreater(len(made), 4)

    def test_many_one_after_another(self):
        said = ["hello", "hell", "tell", "hi"]
        self.assertEqual(self.at_once(said, [5] * 4), [self.expected(text, 5)[2] for text in said])

    def test_who_leaves_is_answered_no_longer(self):
        self.assertEqual(len(self.expected("hell", 45)[1]), 45)
        before = self.model.decoder.work.calls
        with self.ask("hell", temperature=0, max_tokens=45, stream=True) as chunks:
            for _ in zip(range(3), chunks):
                pass
        _, _, text = self.expected("hello", 4)
        self.assertEqual(self.ask("hello", temperature=0, max_tokens=4).choices[0].message.content, text)
        self.assertLess(self.model.decoder.work.calls - before, 30)

    def refused(self, kind, message, param, *said, **more):
        with self.assertRaisesRegex(kind, message) as raised:
            self.ask(*(said or ("hello",)), **more)
        self.assertEqual((raised.exception.param, raised.exception.type), (param, "invalid_request_error"))
        return raised.exception.code

    def test_refused(self):
        bad = openai.BadRequestError
        for name, value, message in (
                ("temperature", -1, "temperature is -1, expected a number of at least 0 and at most 2"),
                ("temperature", True, "temperature is True, expected a number"),
                ("top_p", 1.5, "top_p is 1.5, expected a number of at least 0 and at most 1"),
                ("max_tokens", 0, "max_tokens is 0, expected an integer of at least 1"), ("seed", 0.5, "seed is 0.5, expected an integer"),
                ("stop", ["a"] * 5, "up to 4 of them"), ("stop", "", "a text that is not empty"),
                ("n", 2, "n is 2, and nothing but 1 is done: leave it out"), ("logprobs", True, "nothing but False is done"),
                ("presence_penalty", 0.5, "nothing but 0 is done"), ("response_format", {"type": "json_object"}, "is done"),
                ("tools", [{"type": "function", "function": {"name": "f"}}], "tools is .*: leave it out")):
            self.refused(bad, message, name, **{name: value})
        self.refused(bad, f"top_k is 13, expected an integer of at least 0 and at most {TOP}", "top_k", extra_body={"top_k": 13})
        self.assertEqual(self.refused(bad, "there is no 'min_p' in a request", "min_p", extra_body={"min_p": 0.1}), "unknown_parameter")
        self.refused(bad, "stream is 1, expected true or false", "stream", extra_body={"stream": 1})
        self.assertEqual(self.refused(bad, "the messages have 53 tokens, and an answer of 9 makes more than the 60 that there is "
                                      "capacity for", "messages", "a" * 50, max_tokens=9), "context_length_exceeded")
        self.refused(bad, "the messages have 83 tokens", "messages", "a" * 80)
        with self.assertRaisesRegex(openai.NotFoundError, "there is no model 'large'") as raised:
            self.client.chat.completions.create(model="large", messages=[{"role": "user", "content": "a"}])
        self.assertEqual((raised.exception.param, raised.exception.code), ("model", "model_not_found"))
        for messages, message in (([], "messages is not a list with a message"), ([{"content": "a"}], "has no role"),
                                  ([{"role": "user"}], r"messages\[0\] has no content that is a text"),
                                  ([{"role": "judge", "content": "a"}], "no role but user and assistant"),
                                  ([{"role": "user", "content": [{"type": "image_url"}]}], "a part that is no text")):
            with self.assertRaisesRegex(bad, message):
                self.client.chat.completions.create(model="small", messages=messages)

    def test_other_requests(self):
        for method, path, body, status, message in (
                ("POST", serve.PATH, b"{", 400, "the body is no JSON"), ("POST", serve.PATH, b"[]", 400, "the body is no JSON object"),
                ("POST", serve.PATH, b"\xff", 400, "the body is no JSON"),
                ("GET", serve.PATH, None, 405, "GET /v1/chat/completions: Method Not Allowed; there are POST /v1/chat/completions"),
                ("GET", "/v1/answers", None, 404, "GET /v1/answers: no such path; there are")):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port)) as connection:
                connection.request(method, path, body)
                answer = connection.getresponse()
                self.assertEqual(answer.status, status)
                self.assertIn(message, json.loads(answer.read())["error"]["message"])

    def test_numbers_that_are_none(self):
        with unittest.mock.patch.object(self.model.decoder, "_logits", return_value=np.array([1, np.nan], "f4")):
            with self.assertRaisesRegex(openai.InternalServerError, "logits are not finite"):
                self.ask("not finite", temperature=0)
            with self.assertRaisesRegex(openai.APIError, "logits are not finite"):
                self.streamed("not finite", temperature=0)
        self.assertEqual(self.ask("hello", temperature=0, max_tokens=4).choices[0].message.content, self.expected("hello", 4)[2])

    def test_command_line(self):
        with unittest.mock.patch.object(serve, "run", side_effect=UsageError("port is -1")), \
                contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(serve.main(["--port=-1"]), 2)
        words = argparse.Namespace(port=1 << 16)
        with self.assertRaisesRegex(UsageError, "port is 65536, expected 0 to 65535"):
            serve.run(words)


if __name__ == "__main__":
    unittest.main()
