#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `wsec train --tensorboard` writes are TensorBoard's events, read here by their format: the numbers of the log, and where a run
goes on, what makes TensorBoard forget later steps. Where the package `tensorboard` is, it reads them, too.

Usage: train_events.py WORK
"""

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

import train_model

KEYS = {"train/loss": "loss", "train/lr": "lr", "train/grad_norm": "grad_norm", "train/cycles": "cycles", "eval/loss": "eval_loss",
        "eval/cycles": "eval_cycles"}


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        length, its, = struct.unpack_from("<QI", data)
        event, (check,) = data[12:12 + length], struct.unpack_from("<I", data, 12 + length)
        assert its == crc32c(data[:8]) and check == crc32c(event)
        yield event
        data = data[16 + length:]


def fields(message):
    """Numbers and values of a message."""
    def varint():
        nonlocal message
        value = shift = 0
        while True:
            byte, message = message[0], message[1:]
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    found = {}
    while message:
        number, wire = divmod(varint(), 8)
        if wire == 0:
            found[number] = varint()
            continue
        size = {1: 8, 5: 4}.get(wire) or varint()
        found[number], message = message[:size], message[size:]
    return found


def numbers(path):
    """Of a file: (name, step) -> value; and where its session begins."""
    events = [fields(event) for event in records(path.read_bytes())]
    assert events[0][3] == b"brain.Event:2"
    found, start = {}, 0
    for event in events[1:]:
        if 7 in event:
            assert fields(event[7]) == {1: 1}
            start = event[2]
            continue
        value = fields(fields(event[5])[1])
        found[value[1].decode(), event[2] if 2 in event else 0] = struct.unpack("<f", value[2])[0]
    return found, start


def logged(path):
    return {(name, line["step"]): np.float32(line[key]) for line in map(json.loads, path.read_text().splitlines())
            for name, key in KEYS.items() if key in line}


def main():
    work = Path(sys.argv[1]).absolute()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    train_model.model(work / "small.onnx")
    np.save(work / "tokens.npy", np.random.default_rng(5).integers(0, train_model.VOCABULARY, 5000))
    np.save(work / "held.npy", np.arange(50) % train_model.VOCABULARY)

    def train(steps, *flags):
        subprocess.run(["wsec", "train", "small.onnx", "--tokens=tokens.npy", "--sequence=6", "--batch=4", f"--steps={steps}",
                        "--mesh=6x5", "--quiet", "--eval-tokens=held.npy", "--eval-every=2", "--log=log.jsonl",
                        "--cache=programs", "--checkpoint-dir=run", "--tensorboard=events/run", *flags], cwd=work, check=True)
    train(5)
    first, = (work / "events/run").iterdir()
    found, start = numbers(first)
    assert start == 0 and found == logged(work / "log.jsonl"), (found, logged(work / "log.jsonl"))
    train(8, "--resume")
    second, = set((work / "events/run").iterdir()) - {first}
    found, start = numbers(second)
    assert start == 6, start
    assert found == {key: value for key, value in logged(work / "log.jsonl").items() if key[1] > 5}
    print("events are the numbers of the log, also of a run that goes on")
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError:
        return
    accumulator = EventAccumulator(str(work / "events/run"))
    accumulator.Reload()
    for name in accumulator.Tags()["scalars"]:
        for event in accumulator.Scalars(name):
            assert np.float32(event.value) == logged(work / "log.jsonl")[name, event.step], (name, event)
    print(f"TensorBoard reads them: {', '.join(accumulator.Tags()['scalars'])}")


if __name__ == "__main__":
    main()
