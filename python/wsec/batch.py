# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts that one decoder makes at the same time, each in a sequence of its own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wsec.chat import Writing, begin, shared
from wsec.decoder import Decoder
from wsec.tools import UsageError


@dataclass(eq=False)
class Place:
    """Of a text in a batch; `leave` gives it up."""

    writing: Writing
    tell: Callable[[str | Exception | None], None]
    is_left: bool = False

    def leave(self) -> None:
        self.is_left = True


class Batch:
    """Each call of the decoder feeds all texts that are made: one that comes joins before the next one, where a sequence
    is free; until then it waits, first come, first served. Calls are made by a thread, which is there while there are texts."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self._lock = threading.Lock()
        self._waiting: deque[Place] = deque()
        self._made: dict[int, Place] = {}  # sequence -> text
        self._free = list(range(decoder.batch))  # the one that was left first before others
        self._is_at_work = False

    def add(self, writing: Writing, tell: Callable[[str | Exception | None], None]) -> Place:
        """Makes a text. From a thread of the batch's own `tell` is told, token by token, the text that comes with it,
        perhaps none, and behind the last one None, or what went wrong; where it raises, the text is left."""
        place = Place(writing, tell)
        with self._lock:
            self._waiting.append(place)
            if not self._is_at_work:
                self._is_at_work = True
                threading.Thread(target=self._work, name="wsec-batch", daemon=True).start()
        return place

    def _work(self) -> None:
        while self._seat():
            try:
                logits = self.decoder.step({i: place.writing.waiting for i, place in self._made.items()})
            except Exception as error:  # of the wafer: of all texts
                for sequence in list(self._made):
                    self._end(sequence, error)
                continue
            for sequence, place in list(self._made.items()):
                self._hear(sequence, place, logits[sequence])

    def _hear(self, sequence: int, place: Place, logits: np.ndarray) -> None:
        writing = place.writing
        fed = len(self.decoder.fed[sequence]) - len(writing.ids) - len(writing.answer.ids)
        if fed < 0:
            writing.waiting = writing.waiting[fed:]
            return
        try:
            text = writing.hear(logits)
        except Exception as error:  # of its numbers
            return self._end(sequence, error)
        self._tell(place, text)
        if writing.is_done:
            self._end(sequence)

    @staticmethod
    def _tell(place: Place, what: str | Exception | None) -> None:
        try:
            place.tell(what)
        except Exception:  # nobody listens any more
            place.leave()

    def _end(self, sequence: int, error: Exception | None = None) -> None:
        place = self._made.pop(sequence)
        self._free.append(sequence)
        self._tell(place, error)

    def _seat(self) -> bool:
        """Whether there are texts to make, of which those that wait take free sequences."""
        for sequence in [i for i, place in self._made.items() if place.is_left]:
            self._end(sequence)
        with self._lock:
            while self._waiting and self._free:
                place = self._waiting.popleft()
                if place.is_left:
                    continue
                # The one that begins as this text does, if there is one.
                fed = self.decoder.fed
                sequence = max(self._free, key=lambda i: shared(fed[i], place.writing.ids))
                try:
                    begin(self.decoder, place.writing, sequence)
                except UsageError as error:
                    self._tell(place, error)
                    continue
                self._free.remove(sequence)
                self._made[sequence] = place
            self._is_at_work = bool(self._made)
            return self._is_at_work
