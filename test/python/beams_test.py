#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec.beams: which texts a search finds; what a session without beams says."""

import itertools
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from models import perceptron

import wsec
from wsec.beams import Beams, search
from wsec.tools import UsageError

WORDS = 4
LOGITS = np.random.default_rng(1).standard_normal((WORDS, WORDS)).astype("f4") * 2
SHARES = LOGITS - np.log(np.exp(LOGITS).sum(axis=1, keepdims=True))


class Chain:
    """The next word depends on the last one alone, which is all of a state."""

    def __init__(self):
        self.last, self.moved = [], []

    def feed(self, ids):
        self.last = [its[-1] for its in ids]
        return LOGITS[self.last]

    def reorder(self, sources):
        self.moved.append(sources)


def score(first, ids):
    """The mean, of a text that ends by one of these or is as long as it may be."""
    return sum(SHARES[before, after] for before, after in zip([first, *ids], ids)) / len(ids)


class BeamsTest(unittest.TestCase):
    def test_all_texts_in_view(self):
        """With a beam for each beginning the likeliest of all texts is found."""
        best = max(itertools.product(range(WORDS), repeat=3), key=lambda ids: score(2, ids))
        found = search([0, 2], Beams(WORDS**2, 3), (chain := Chain()).feed, chain.reorder)
        self.assertEqual(tuple(found[0].ids), best)
        self.assertAlmostEqual(found[0].score, score(2, best), places=5)
        self.assertEqual([text.score for text in found], sorted((text.score for text in found), reverse=True))
        self.assertTrue(chain.moved)

    def test_one_beam_is_greedy(self):
        ids, last = [], 1
        for _ in range(5):
            ids.append(last := int(LOGITS[last].argmax()))
        found = search([1], Beams(1, 5), (chain := Chain()).feed, chain.reorder)
        self.assertEqual((found[0].ids, chain.moved), (ids, []))

    def test_ends(self):
        """Texts end by a word, which is their last."""
        end = int(LOGITS[3].argmax())
        found = search([3], Beams(3, 6, [end]), (chain := Chain()).feed, chain.reorder)
        for text in found:
            self.assertNotIn(end, text.ids[:-1])
            self.assertTrue(text.ids[-1] == end or len(text.ids) == 6)
            self.assertAlmostEqual(text.score, score(3, text.ids), places=5)
        self.assertEqual(found[0].ids[-1], end)

    def test_refusals(self):
        with self.assertRaisesRegex(UsageError, "0 beams of up to 3 tokens, expected at least one of one"):
            Beams(0, 3)
        with self.assertRaisesRegex(UsageError, "logits of a beam are not finite"):
            Beams(2, 3).choose(np.full((2, WORDS), np.nan, "f4"))
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(perceptron()[0], Path(folder) / "mlp.onnx")
            session = wsec.compile(Path(folder) / "mlp.onnx", mesh="4x4", dims={"rows": 6}).session()
            with self.assertRaisesRegex(UsageError, "no entry 'reorder', so its sequences are no beams: compile with reorder_states"):
                session.generate([1], num_beams=2, max_new_tokens=2)
            with self.assertRaisesRegex(UsageError, "no entry takes 'input_ids' of one token of each sequence"):
                session.generate([1], num_beams=1, max_new_tokens=2)


if __name__ == "__main__":
    unittest.main()
