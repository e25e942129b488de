#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model as a pipeline of regions, with several samples in flight: each output
is onnxruntime's, and has the bits that it has when its sample runs alone (of
many samples: the first, one in the middle and the last) on the first engine,
and all engines have the same.

  check_samples.py MODEL --mesh 16x8 [--samples 4] [--engine wavelet]... [--within 10] [--work DIR]

MODEL is an .onnx file or a name of models/small_models.py. With --within samples
have to follow one another within that many percent of the slowest stage's
prediction, and weights to be loaded of theirs, by the first engine and `wavelet`. The router tables must give back the streams
that were routed. Exit code 0 or 1.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))
sys.path.insert(0, str(Path(__file__).parent))
import recover_streams  # noqa: E402
import small_models  # noqa: E402
from check_model import compare, load, run  # noqa: E402

CHECK_REPORT = Path(__file__).resolve().parents[1] / "check_report.py"


def samples_of(model, name, count):
    """Inputs of each sample, other ones in each."""
    if name == "minilm":
        sentences = small_models.SENTENCES
        return [small_models.encode(sentences[i:] + sentences[:i])
                for i in (k % len(sentences) for k in range(count))]
    return [small_models.random_inputs(model, 100 + k) for k in range(count)]


def wrong_sums(together, alone, count):
    """What a report of all samples says that is not `count` times that of one."""
    wrong = []
    if "tokens" in alone:
        tokens, seconds = together["tokens"], together["cycles"]["total"] / (
            together["machine"]["clock_ghz"] * 1e9)
        if tokens["per_run"] != count * alone["tokens"]["per_run"]:
            wrong.append(f"{tokens['per_run']} tokens of {count} samples, one has "
                         f"{alone['tokens']['per_run']}")
        if abs(tokens["per_second"] * seconds / tokens["per_run"] - 1) > 1e-3:
            wrong.append(f"{tokens['per_second']} tokens per second, {tokens['per_run']} took "
                         f"{seconds} s")
    for its, one in zip(together["kernels"], alone["kernels"]):
        bound = one["lower_bound_cycles"] * (count if one["span_cycles"] else 1)
        if abs(its["lower_bound_cycles"] - bound) > count:  # rounding, one each
            wrong.append(f"kernel '{its['name']}' has the lower bound "
                         f"{its['lower_bound_cycles']}, {count} samples have {bound}")
    return wrong


def other_predictions(compiled, ran):
    """Where a run's report repeats other predictions than the compiler's. The first sample takes
    as long as alone, or longer: commands of others wait before it. From sample to sample it is
    another number of samples."""
    pace = ("predicted_cycles_per_sample", "predicted_samples_per_second")
    once = {name: value for name, value in compiled.items() if name not in pace}
    pairs = [(once, ran), *zip(compiled["stages"], ran["stages"])]
    wrong = [f"{name} {its[name]}, {ours[name]} when it was compiled"
             for ours, its in pairs for name in ours
             if name.startswith("predicted") and "latency" not in name
             and abs(its[name] - ours[name]) > max(1, 1e-6 * ours[name])]
    first = "predicted_first_latency_cycles"
    if ran[first] < compiled[first] - 1 or len(ran["stages"]) != len(compiled["stages"]):
        wrong.append(f"{first} {ran[first]}, {compiled[first]} when it was compiled")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--mesh", required=True)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--engine", action="append")
    parser.add_argument("--within", type=float)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--work", type=Path, required=True)
    arguments = parser.parse_args()
    import onnxruntime

    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    model, _ = small_models.obtain(arguments.model, work, 0)
    each = samples_of(model, arguments.model, arguments.samples)
    shapes = [f"--shape={name}={'x'.join(map(str, value.shape))}"
              for name, value in each[0].items()]
    program, report = work / "model.wafer", work / "report.json"
    run(["wsec", model, "-o", program, f"--mesh={arguments.mesh}", "--mode=resident", "--quiet",
         f"--dump-placement={work / 'placement.json'}", f"--report={work / 'compiled.json'}", *shapes])
    run([sys.executable, CHECK_REPORT, work / "compiled.json"])
    compiled = json.loads((work / "compiled.json").read_text())["pipeline"]
    problem, _ = recover_streams.difference(program, work / "placement.json")
    np.savez(work / "all.npz", **{name: np.concatenate([sample[name] for sample in each])
                                  for name in each[0]})
    session = onnxruntime.InferenceSession(str(model))
    names = [output.name for output in session.get_outputs()]
    bad = [problem] if problem else []
    engines = arguments.engine or ["strips", "wavelet"]
    bits = None
    for engine in engines:
        common = ["wse-run", program, f"--weights={Path(model).parent}", f"--engine={engine}",
                  "--quiet"]
        run([*common, f"--samples={arguments.samples}", "--inputs", work / "all.npz", "--outputs",
             work / "all-out.npz", f"--report={report}"])
        run([sys.executable, CHECK_REPORT, report])
        # Weights that stay are loaded once, by the samples' run itself, too.
        state = work / "weights.state"
        if not bits:
            run([*common, "--entry=load", f"--save-state={state}"])
        together = load(work / "all-out.npz")
        bad += [f"{engine}: {name} has other bits than {engines[0]}'s"
                for name, its in together.items() if bits and its.tobytes() != bits[name].tobytes()]
        worst = 0.0
        for number, sample in enumerate(each):
            alone = None
            if not bits and number in (0, len(each) // 2, len(each) - 1):
                np.savez(work / "one.npz", **sample)
                run([*common, f"--load-state={state}", "--inputs", work / "one.npz", "--outputs",
                     work / "one-out.npz", f"--report={work / 'one.json'}"])
                alone = load(work / "one-out.npz")
            for name, expected in zip(names, session.run(None, sample)):
                rows = expected.shape[0]
                its = together[name][number * rows:(number + 1) * rows]
                if alone and its.tobytes() != alone[name].tobytes():
                    bad.append(f"{engine}: sample {number} of {name} has other bits than alone")
                error = compare(expected, its, arguments.tolerance)
                if error is None or error > arguments.tolerance:
                    bad.append(f"{engine}: sample {number} of {name}: error {error}")
                worst = max(worst, error or 0)
        bits = bits or together
        found = json.loads(report.read_text())
        bad += [f"{engine}: {what}" for what in wrong_sums(
            found, json.loads((work / "one.json").read_text()), arguments.samples)]
        found = found["pipeline"]
        bad += [f"{engine}: {what}" for what in other_predictions(compiled, found)]
        predicted, measured = found["predicted_cycles_per_sample"], found["cycles_per_sample"]
        print(f"{arguments.model} {arguments.mesh} {engine}: {len(found['stages'])} stages, "
              f"{found['samples']} samples, weights loaded once: {found['load_cycles'] > 0}, "
              f"error {worst:.1e}")
        if arguments.within and engine in ("wavelet", engines[0]):
            off = 100 * (measured / predicted - 1)
            if abs(off) > arguments.within:
                bad.append(f"{engine}: {measured} cycles from sample to sample, {off:+.1f} % of "
                           f"{predicted}")
            predicted, measured = found["predicted_load_cycles"], found["load_cycles"]
            if abs(measured - predicted) > arguments.within / 100 * predicted:
                bad.append(f"{engine}: {measured} cycles to load, {predicted} predicted")
    for what in bad:
        print(what)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
