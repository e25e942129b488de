# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command-line tools: where they are, what they say, how far they are."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path


class Error(RuntimeError):
    """A tool refused; the message is the tool's own. All that wsec raises is of this class."""


class UsageError(Error, ValueError):
    """A tool does not know a flag or its value."""


class CompileError(Error):
    """wsec refused the model: all unsupported operators at once, with their nodes."""


class RunError(Error):
    """wse-run ended a run. `kind` is the class of the error: "Deadlock", "WeightFileChanged",
    "UninitializedRead", ..., or "" where it has none."""

    kind: str = ""


class InputError(RunError, ValueError):
    """A name, shape, type or value of an input is not what the program takes."""

    kind = "BadTensor"


def tool(name: str) -> str:
    """Path of a tool: in $WSEC_BIN, in this package, in build/release/bin of the checkout that
    the package lies in, on the PATH. Raises Error where there is none."""
    package = Path(__file__).resolve().parent
    for folder in (os.environ.get("WSEC_BIN"), package / "bin", package.parents[1] / "build" / "release" / "bin"):
        if folder and (Path(folder) / name).is_file():
            return str(Path(folder) / name)
    found = shutil.which(name)
    if not found:
        raise Error(f"{name} is not built: run tools/setup.sh or set WSEC_BIN")
    return found


def tool_stamp(name: str) -> str:
    """Which build of a tool it is: what another one has made is made anew."""
    about = os.stat(tool(name))
    return f"{about.st_size} {about.st_mtime_ns}"


def environment() -> dict[str, str]:
    """That of tools: they find this Python, and this package."""
    folders = [str(Path(__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"WSEC_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(folders)}


def start() -> None:
    """What `wsec`, `wse-run` and `wse-inspect` of an installed package do."""
    path = tool(Path(sys.argv[0]).name)
    os.execve(path, [path, *sys.argv[1:]], environment())


def flags(given: dict[str, object]) -> list[str]:
    """{"allow_f64_as_f32": True, "weights": ["a", "b"]} as flags of a tool; None and False are
    left out."""
    words = []
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(flag)
            elif one is not None and one is not False:
                words.append(f"{flag}={one}")
    return words


def failure(name: str, code: int, said: str) -> Error:
    """The exception for what a tool wrote before it ended with `code`."""
    text = re.sub(rf"^({re.escape(name)}: )?(error: )?", "", said.strip())
    text = re.sub(r"(?:\s*Try: .*|; see \S+) --help'?", "", text).replace(f"\n{name}: ", "\n")
    if code < 0:
        # The stack of the tool says nothing to those who call it.
        text = re.split(r"^(?:PLEASE submit|Stack dump)", text, maxsplit=1, flags=re.MULTILINE)[0].strip()
        text = f"{name} was ended by signal {-code}; please report this" + (f": {text}" if text else "")
    message = text or f"{name} failed without a word"
    if code == 2:
        return UsageError(message)
    if name != "wse-run":
        return CompileError(message)
    kind, colon, rest = message.partition(": ")
    if kind == InputError.kind:
        return InputError(rest)
    error = RunError(message)
    error.kind = kind if colon and re.fullmatch(r"([A-Z][a-z]+)+", kind) else ""
    return error


def run(name: str, words: Sequence[object], what: str, progress: bool | None = False) -> str:
    """Runs a tool; returns what it printed. `what` it does is shown while it takes long, if
    `progress` says so, or, with None, where a person looks on. Raises Error."""
    command = [tool(name), *map(str, words)]
    status = Status(what) if (watched() if progress is None else progress) else None
    # A terminal, so that wse-run says how far it is.
    ours, theirs = os.openpty() if status and name == "wse-run" else os.pipe()
    with tempfile.TemporaryFile("w+", errors="replace") as printed:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=printed, stderr=theirs) as process:
            os.close(theirs)
            try:
                said = _listen(ours, status)
            except BaseException:
                process.terminate()
                raise
            finally:
                os.close(ours)
                if status:
                    status.close()
        printed.seek(0)
        text = printed.read()
    if process.returncode:
        raise failure(name, process.returncode, said)
    if said.strip():
        warnings.warn(said.strip(), stacklevel=3)
    return text


def _listen(stream: int, status: Status | None) -> str:
    """All that arrives, without the lines of progress, which go to `status`."""
    said, rest = b"", b""
    while True:
        if status:
            status.tick()
            if not select.select([stream], [], [], 0.2)[0]:
                continue
        try:
            some = os.read(stream, 1 << 16)
        except OSError:  # what a terminal says at its end
            some = b""
        if not some:
            return (said + rest).decode(errors="replace").replace("\r\n", "\n")
        *lines, rest = re.split(rb"\r(?!\n)([^\r\n]*)\x1b\[K", rest + some)
        said += b"".join(lines[::2])
        if status and lines and lines[-1]:
            status.detail = lines[-1].decode(errors="replace")


def _notebook() -> bool:
    """Whether this is the process behind a notebook."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def watched() -> bool:
    """Whether progress would be seen: standard error is a terminal, or this is a notebook."""
    return _notebook() or sys.stderr.isatty()


@contextlib.contextmanager
def shown(what: str, progress: bool | None = None) -> Iterator[None]:
    """Shows a line about work of this process while it is done, if `progress` says so, or where a person looks on."""
    status = Status(what) if (watched() if progress is None else progress) else None
    if status:
        status._show(what)
    try:
        yield
    finally:
        if status:
            status.close()


class Status:
    """One line about work that takes more than a second, on the terminal or in a notebook; gone when the
    work is done."""

    def __init__(self, what: str) -> None:
        self.what, self.detail = what, ""
        self._began, self._shown, self._handle = time.monotonic(), False, None

    def tick(self) -> None:
        """Shows how far the work is."""
        seconds = time.monotonic() - self._began
        if seconds >= 1:
            self._show(f"{self.what}: {seconds:.0f} s" + (f", {self.detail}" if self.detail else ""))

    def close(self) -> None:
        """Removes the line."""
        if self._shown:
            self._show("")

    def _show(self, line: str) -> None:
        if not _notebook():
            columns = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r{line[:columns]}\033[K")
            sys.stderr.flush()
        elif self._handle:
            self._handle.update({"text/plain": line}, raw=True)
        else:
            from IPython.display import display

            self._handle = display({"text/plain": line}, raw=True, display_id=True)
        self._shown = True
