# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands of the pages, word by word, on a model that `wsec model` writes: run_pages.py WORK [PATTERN]

Each must end with 0. With a pattern, only those that it finds a part of, and what comes before is not run.
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "tools/wsec/README.md", "tools/wse-run/README.md", "tools/estimate/README.md")
# What each page begins with.
COMPILE = "wsec model.onnx -o model.wafer --mesh=32x32 --quiet"
TOOLS = ("wsec", "wse-run", "wse-inspect", "wse-opt")
# What other tests run, on models of their own.
ELSEWHERE = {
    "--bind k=3": "e2e/small/operators.test",
    "smollm2-135m": "e2e/small/decoder-states.test", "--entry=": "e2e/small/decoder-states.test",
    "m.onnx -o m.wafer --mesh=32x32 --states": "e2e/small/decoder-states.test",
    "export.onnx": "e2e/small/growing-states.test", "--generate": "tools/wse-run/generate.test",
    "gpt2-s -o": "e2e/small/presets.test", "175b.onnx": "e2e/small/presets.test",
    "--ispd2020": "tools/wsec/place.test", "pe.wafer": "tools/wse-run/stop.test", "store weights/": "e2e/small/safetensors.test",
    "--num-systems=4": "tools/wse-run/num-systems.test", "model.mlir": "e2e/small/linalg.test",
    "--gradients=": "e2e/torch/deep-gradients.test",
}


def commands(page):
    """Lines of its blocks of sh, without what they say behind a #."""
    for block in re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", "").split("\n"):
            line = re.sub(r"\s+#.*", "", line)
            if line.split(" ")[0] in TOOLS:
                yield line


def run(line, folder):
    result = subprocess.run(["bash", "-ec", line], cwd=folder, check=False, capture_output=True, text=True)
    fine = line.startswith("wse-inspect diff") and not result.stderr  # 1: they differ, as of diff
    return None if fine or not result.returncode else f"exit code {result.returncode}\n{result.stderr or result.stdout}"


def files(folder):
    """What the commands read."""
    ids = np.random.default_rng(0).integers(0, 211, (8, 128))
    for name in ("models", "out", "test_data_set_0"):
        (folder / name).mkdir()
    (folder / "tiny.yaml").write_text("model: {preset: tiny, positions: 128}\n")
    np.save(folder / "ids.npy", ids[:1])
    np.savez(folder / "in.npz", input_ids=ids[:1])
    np.savez(folder / "batch.npz", input_ids=ids)
    model = "wsec model --config=tiny.yaml --batch=1 --sequence=128 --weights=seeded"
    for line in (f"{model} -o model.onnx", f"{model} -o models/m.onnx", COMPILE,
                 "wsec model.onnx --mesh=32x32 --dump-placement=p.json --quiet",
                 "wsec model.onnx --mesh=16x32 --dump-placement=b.json --quiet",
                 "wsec model.onnx --mesh=32x32 --dump-placement=a.html --quiet",
                 "wsec model.onnx --mesh=16x32 --dump-placement=b.html --quiet",
                 "wsec model.onnx --stop-after=infer --print-constants -o x.mlir --quiet",
                 "cp p.json a.json",
                 "wse-run model.wafer --inputs in.npz --output logits=ref.npy --quiet"):
        if wrong := run(line, folder):
            raise SystemExit(f"{line}: {wrong}")
    import onnx

    for kind, name, array in (("input", "input_ids", ids[:1]), ("output", "logits", np.load(folder / "ref.npy"))):
        tensor = onnx.numpy_helper.from_array(array, name)
        (folder / "test_data_set_0" / f"{kind}_0.pb").write_bytes(tensor.SerializeToString())


def main():
    folder, pattern = Path(sys.argv[1]), "".join(sys.argv[2:])
    if not pattern:
        folder.mkdir(parents=True)
        files(folder)
    wrong = ran = 0
    unused = set(ELSEWHERE)
    for page in PAGES:
        if not pattern and (said := run(COMPILE, folder)):
            raise SystemExit(said)
        for line in commands(page):
            named = [words for words in ELSEWHERE if words in line]
            unused.difference_update(named)
            if named or not re.search(pattern, line):
                continue
            ran += 1
            if said := run(line, folder):
                print(f"{page}: {line}\n  {said}")
                wrong += 1
    for words in unused:
        print(f"no command has the words {words}")
        wrong += 1
    for words, test in ELSEWHERE.items():
        if not (ROOT / "test" / test).exists():
            print(f"{words}: there is no test/{test}")
            wrong += 1
    print(f"{ran} commands of {len(PAGES)} pages, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
