#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The small model of train_model.py on 1 to 192 wafers, in one process and in several: the same losses, the same weights, the
same bytes at the root of the tree; a process that dies is named.

Usage: train_systems.py WORK PART...: each PART is a function below.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools" / "wse-run"))
from kill_process import cpu_seconds, processes_of  # noqa: E402
from train_model import BATCH, SEQUENCE, VOCABULARY, Work  # noqa: E402

CALLS, STEPS = 192, 3


def outcome(work, *flags, processes=0):
    """Losses, weights, bytes of weights that a pass takes from the store, bytes of gradients that reach it."""
    folder, report = work.folder / f"run{work.runs}", work.folder / "report.json"
    launcher = ["mpirun", "-np", str(processes)] if processes else []
    losses = work.train("--lr=1e-2", f"--batch={CALLS}", f"--tokens={work.folder / 'long.npy'}", f"--report={report}",
                        f"--checkpoint-dir={folder}", *flags, steps=STEPS, launcher=launcher)
    said = json.loads(report.read_text())
    systems = said["step"]["systems"]
    assert sum(its["calls"] for its in systems["per_system"]) == CALLS, systems["per_system"]
    return (losses, (folder / f"step-{STEPS:012d}" / "model.safetensors").read_bytes(),
            systems["root_bytes"] / systems["passes"], said["training"]["step"]["gradient_bytes_at_root"])


def numbers(work):
    one = outcome(work)
    # All of them once: 29 x 12 of the table, 2 x 12 of the norm, 2 x 12 x 20 + 20 of the rest.
    assert one[3] == 4 * (29 * 12 + 24 + 500), one[3]
    for systems in (2, 3, 4, 16, 192):
        assert outcome(work, f"--num-systems={systems}") == one, systems
    print("1, 2, 3, 4, 16 and 192 systems: the same losses, weights and bytes at the root")


def processes(work):
    one = outcome(work)
    for count, flags in ((2, []), (3, []), (4, []), (3, ["--num-systems=16"]), (6, ["--num-systems=192"])):
        assert outcome(work, *flags, processes=count) == one, (count, flags)
    np.save(work.folder / "eval.npy", np.load(work.folder / "long.npy")[:CALLS * SEQUENCE * 2 + 1])
    evaluated = outcome(work, f"--eval-tokens={work.folder / 'eval.npy'}", "--eval-every=1", processes=3)
    assert evaluated == one
    assert outcome(work, f"--eval-tokens={work.folder / 'eval.npy'}", "--eval-every=1") == one
    three, one = (work.lines(f"log{run}.jsonl")[0] for run in (work.runs - 1, work.runs))
    assert three["eval_loss"] == one["eval_loss"] and 3 * three["eval_cycles"] == one["eval_cycles"], (three, one)
    print("2, 3, 4 and 6 processes: the same, evaluated or not")


def killed(work):
    """Each process in the middle of a run."""
    work.train("--lr=1e-2")
    for rank in range(3):
        command = work.command("--lr=1e-5", f"--tokens={work.folder / 'long.npy'}", steps=100000, log=f"killed{rank}.jsonl",
                               launcher=["mpirun", "-np", "3"])
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        victim, start = None, time.monotonic()
        while victim is None or cpu_seconds(victim) < 0.5:
            assert run.poll() is None and time.monotonic() - start < 120, "the run does not run"
            time.sleep(0.05)
            victim = processes_of(run.pid).get(rank)
        os.kill(victim, signal.SIGKILL)
        _, errors = run.communicate(timeout=60)
        expected = f"wsec train: error: SystemLost: process {rank} of 3 (pid {victim} on "
        assert run.returncode != 0 and errors.count("wsec train: error:") == 1 and expected in errors, errors
    print("processes 0, 1 and 2 killed: named")


def main():
    work = Work(Path(sys.argv[1]))
    tokens = np.random.default_rng(9).integers(0, VOCABULARY, 100000 * BATCH * SEQUENCE + 1)
    np.save(work.folder / "long.npy", tokens.astype("u1"))
    for part in sys.argv[2:]:
        globals()[part](work)


if __name__ == "__main__":
    main()
