# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A text as the tokens of a tokenizer.json, which the package tokenizers reads.

    python -m wsec.tokens TEXT.txt --tokenizer=tokenizer.json -o TOKENS.npy

Special tokens are not added; integers are of 16 bits where they fit, else of 32. `wsec train --tokenizer=..` runs this.
"""

from __future__ import annotations

import argparse
import io
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
    parser = argparse.ArgumentParser(prog="python -m wsec.tokens", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("-o", dest="output", required=True)
    given = parser.parse_args()
    # Whole at its place, or not at all, whoever else writes it now; what is no file is written to.
    is_file = os.path.isfile(given.output) or not os.path.exists(given.output)
    part = f"{given.output}.{os.getpid()}.part" if is_file else given.output
    try:
        tokens = io.BytesIO()
        np.save(tokens, tokens_of(given.text, given.tokenizer))
        with open(part, "wb") as file:
            file.write(tokens.getbuffer())
        if is_file:
            os.replace(part, given.output)
    except (tools.UsageError, OSError) as error:
        print(f"wsec.tokens: error: {error}", file=sys.stderr)
        return 1
    finally:
        if is_file:
            Path(part).unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
