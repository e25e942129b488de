# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A text as the tokens of a tokenizer.json, which the package tokenizers reads.

    python -m wsec.tokens TEXT.txt --tokenizer=tokenizer.json -o TOKENS.npy

Special tokens are not added; integers are of 16 bits where they fit, else of 32. `wsec train --tokenizer=..` runs this.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np

from wsec import tools

PathLike = str | os.PathLike[str]


def tokens_of(text: PathLike, tokenizer: PathLike) -> np.ndarray:
    """Raises UsageError, with the file at fault."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise tools.UsageError(f"{os.fspath(tokenizer)}: reading it needs a package: pip install tokenizers") from error
    try:
        reader = Tokenizer.from_file(os.fspath(tokenizer))
    except Exception as error:  # the package has no class of its own
        raise tools.UsageError(f"{os.fspath(tokenizer)}: {error}") from error
    reader.no_truncation()
    reader.no_padding()
    try:
        characters = Path(text).read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise tools.UsageError(f"{os.fspath(text)}: {error}") from error
    ids = np.array(reader.encode(characters, add_special_tokens=False).ids, "u4")
    return ids.astype("u2") if ids.max(initial=0) < 1 << 16 else ids


def main() -> int:
    parser = argparse.ArgumentParser(prog="wsec.tokens", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("-o", dest="output", required=True)
    given = parser.parse_args()
    part = f"{given.output}.part"  # whole at its place, or not at all
    try:
        with open(part, "wb") as file:
            np.save(file, tokens_of(given.text, given.tokenizer))
        os.replace(part, given.output)
    except (tools.UsageError, OSError) as error:
        print(f"wsec.tokens: {error}", file=sys.stderr)
        Path(part).unlink(missing_ok=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
