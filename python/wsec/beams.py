# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Beam search: sequences of a batch are beams of one text, whose states stay on the wafer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wsec.tools import UsageError

if TYPE_CHECKING:
    from wsec.program import TensorType
    from wsec.session import Session


class Text(NamedTuple):
    """Ids behind the prompt, with the one that ended it, if any; `score`: the mean of their log-probabilities, or
    their sum by another power of their number."""

    score: float
    ids: list[int]


class Beams:
    """Which continuations a search goes on with. As transformers' generate(num_beams=.., do_sample=False): of all
    beams' next tokens the likeliest go on, those that end are kept beside, and it is done when none that runs is
    likelier, by its mean, than the least likely of as many that have ended."""

    def __init__(self, count: int, most_tokens: int, end_ids: Collection[int] = (), length_penalty: float = 1.0) -> None:
        if count < 1 or most_tokens < 1:
            raise UsageError(f"{count} beams of up to {most_tokens} tokens, expected at least one of one")
        self.count, self.most_tokens = count, most_tokens
        self.end_ids, self.length_penalty = frozenset(end_ids), length_penalty
        self.running: list[list[int]] = [[] for _ in range(count)]
        # At first all are the prompt, of which one is enough.
        self._scores = np.array([0.0] + [-1e9] * (count - 1), "f4")
        self._ended: list[Text] = []

    @property
    def texts(self) -> list[Text]:
        """Those that have ended, the likeliest first."""
        return self._ended

    def choose(self, logits: np.ndarray) -> list[int]:
        """Takes f32[beams, vocabulary], logits behind the last tokens of `running`. Returns of each beam from now on
        which one it was, or nothing where the search is done."""
        largest = logits.max(axis=1, keepdims=True)
        if not np.isfinite(largest).all():
            raise UsageError("logits of a beam are not finite")
        shares = logits - largest - np.log(np.exp(logits - largest).sum(axis=1, keepdims=True, dtype="f4"))
        scores = (shares + self._scores[:, None]).reshape(-1)
        kept = max(2, 1 + len(self.end_ids)) * self.count
        likeliest = np.argsort(-scores, kind="stable")[:kept]
        going: list[tuple[int, int, float]] = []
        ended = []
        for rank, number in enumerate(likeliest.tolist()):
            beam, token = divmod(number, logits.shape[1])
            if token not in self.end_ids and len(self.running[beam]) + 1 < self.most_tokens:
                going.append((beam, token, scores[number]))
            elif rank < self.count:
                ids = [*self.running[beam], token]
                ended.append(Text(float(scores[number]) / len(ids) ** self.length_penalty, ids))
        # Of equal ones the first to end comes first.
        self._ended = sorted([*self._ended, *ended], key=lambda text: -text.score)[:self.count]
        going = going[:self.count]
        if len(going) < self.count:
            return []
        self.running = [[*self.running[beam], token] for beam, token, _ in going]
        self._scores = np.array([score for *_, score in going], "f4")
        best = float(self._scores[0]) / len(self.running[0]) ** self.length_penalty
        if len(self._ended) == self.count and best <= self._ended[-1].score:
            return []
        return [beam for beam, *_ in going]


def search(ids: Sequence[int], beams: Beams, feed: Callable[[list[list[int]]], np.ndarray],
           reorder: Callable[[list[int]], None]) -> list[Text]:
    """The likeliest texts behind `ids`. `feed` takes tokens of each beam, as many of all, behind those before, and gives
    f32[beams, vocabulary], the logits behind the last of each; `reorder` lets each beam go on from another."""
    logits = feed([list(ids)] * beams.count)
    while sources := beams.choose(logits):
        if sources != list(range(beams.count)):
            reorder(sources)
        logits = feed([its[-1:] for its in beams.running])
    return beams.texts


class Fed:
    """Calls of a session whose sequences are beams: prompts go in by the entry that takes the most tokens, up to what
    is left, and what is behind them token by token."""

    def __init__(self, session: Session, beams: int) -> None:
        """Raises UsageError for a program of another number of sequences, without an entry `reorder` where there are
        several, or without one that takes `input_ids`."""
        program = session.program
        self.session, self.entries, self.batch = session, program.entries, beams
        if beams > 1 and "reorder" not in self.entries:
            raise UsageError("the program has no entry 'reorder', so its sequences are no beams: compile with reorder_states=True")
        shapes = {entry: kind.shape for entry in self.entries if (kind := self._kind(entry, "input_ids")) and len(kind.shape) == 2}
        for entry, (batch, _) in shapes.items():
            if batch != beams:
                raise UsageError(f"{beams} beams, and entry '{entry}' takes {batch} sequences: compile for as many")
        self.chunks = sorted((tokens, entry) for entry, (_, tokens) in shapes.items())
        if not self.chunks or self.chunks[0][0] != 1:
            raise UsageError("no entry takes 'input_ids' of one token of each sequence: compile with entry=\"decode:sequence=1\"")
        self.position = 0

    def feed(self, ids: list[list[int]]) -> np.ndarray:
        """Tokens of each beam; the logits behind the last ones."""
        given = np.asarray(ids, "i8")
        if not given.size:
            raise UsageError("there are no tokens to go on from, expected at least one")
        while given.shape[1]:
            tokens, entry = [its for its in self.chunks if its[0] <= given.shape[1]][-1]
            values = {"input_ids": given[:, :tokens],
                      "position_ids": np.broadcast_to(self.position + np.arange(tokens), (self.batch, tokens)),
                      "last": np.full(self.batch, tokens - 1)}
            made = self.session.run({name: value.astype(kind.dtype) for name, value in values.items()
                                     if (kind := self._kind(entry, name))}, entry=entry, arguments=self._at(entry))
            given, self.position = given[:, tokens:], self.position + tokens
        if "logits" not in made and len(made) > 1:
            raise UsageError(f"no output of entry '{entry}' is called logits: it has {', '.join(sorted(made))}")
        logits = made["logits"] if "logits" in made else next(iter(made.values()))
        return logits.reshape(self.batch, -1, logits.shape[-1])[:, -1]

    def reorder(self, sources: list[int]) -> None:
        """Beams go on from these."""
        self.session.run(entry="reorder", arguments={"source": sources} | self._at("reorder"))

    def _kind(self, entry: str, name: str) -> TensorType | None:
        """Of an input, which has its entry's name before its own where there are several."""
        kinds = self.session.program.inputs
        return kinds.get(f"{entry}.{name}") or kinds.get(name)

    def _at(self, entry: str) -> dict[str, int]:
        return {name: self.position for name in self.entries[entry] if not name.startswith("source_")}
