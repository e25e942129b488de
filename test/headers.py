#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every header compiles alone: it includes what it needs.

    headers.py ROOT BUILD [--wholly] [PATH ...]

Paths are folders or headers of ROOT; without one, all of the product. What is included of libraries (the standard's,
MLIR, Abseil, ...), and generated headers, are precompiled, once for each standard of C++, so that seconds become tenths
of one: a header that lacks a header of this project is found, one that lacks <vector> is not. --wholly finds that, too,
in a quarter of an hour.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDERS = ("dialects", "compiler", "runtime", "tools")


class Standard:
    """What sources of one standard of C++ are compiled with: all their include paths together."""

    def __init__(self, name):
        self.name, self.compiler, self.includes, self.precompiled = name, None, {}, []

    def add(self, words):
        self.compiler = words[0]
        for word, following in zip(words, words[1:]):
            if word.startswith("-I"):
                self.includes[word] = [word]
            elif word == "-isystem":
                self.includes[following] = [word, following]

    def command(self):
        flags = sum((words for _, words in sorted(self.includes.items())), [])
        return [self.compiler, f"-std={self.name}", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
                "-Wno-unused-const-variable", *flags, *self.precompiled]

    def is_library(self, root, build, name):
        folders = [words[-1].removeprefix("-I") for words in self.includes.values()]
        found = next((path for path in (pathlib.Path(folder, name) for folder in folders) if path.exists()), None)
        if found is not None and found.is_relative_to(build):
            return name.endswith(".h")  # of generated files headers alone, no parts of ours
        return found is None or not found.is_relative_to(root)

    def precompile(self, root, build, headers, folder):
        """Headers of libraries that these name."""
        names = {name for header in headers
                 for name in re.findall(r'^#include [<"](.*)[>"]', header.read_text(), re.MULTILINE)}
        source = folder / f"{self.name}.h"
        source.write_text("".join(f"#include <{name}>\n" for name in sorted(names) if self.is_library(root, build, name)))
        output = source.with_suffix(".pch")
        subprocess.run([*self.command(), "-fpch-instantiate-templates", "-x", "c++-header", str(source), "-o", str(output)],
                       check=True)
        self.precompiled = ["-include-pch", str(output)]


def standards_by_folder(root, build):
    """Of each folder that has sources, the standard of its first one."""
    standards, by_folder = {}, {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = entry["command"].split()
        for source in compiled_by(pathlib.Path(entry["file"])):
            if source.is_relative_to(root) and source.relative_to(root).parts[0] in FOLDERS:
                name = next(word for word in words if word.startswith("-std=")).removeprefix("-std=")
                standard = standards.setdefault(name, Standard(name))
                standard.add(words)
                by_folder.setdefault(source.parent, standard)
    return by_folder


def compiled_by(source):
    """What is compiled with a source that is made of several."""
    if source.parent.name != "Unity":
        return [source]
    return [pathlib.Path(name) for name in re.findall(r'^#include "(.*)"', source.read_text(), re.MULTILINE)]


def standard_of(by_folder, header):
    for folder in header.parents:
        if folder in by_folder:
            return by_folder[folder]
    # A folder of headers alone is like those beside it.
    return next(its for folder, its in sorted(by_folder.items()) if folder.is_relative_to(header.parents[1]))


def problem(standard, header):
    result = subprocess.run([*standard.command(), "-fsyntax-only", "-x", "c++", str(header)], check=False,
                            capture_output=True, text=True)
    return result.stderr if result.returncode else None


def headers_in(root, paths):
    for path in paths:
        yield from [root / path] if path.endswith(".h") else (root / path).rglob("*.h")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("paths", nargs="*", default=FOLDERS)
    parser.add_argument("--wholly", action="store_true")
    options = parser.parse_args()
    root, build = options.root.resolve(), options.build.resolve()
    by_folder = standards_by_folder(root, build)
    headers = {header: standard_of(by_folder, header) for header in sorted(headers_in(root, options.paths))}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        if not options.wholly:
            list(pool.map(lambda standard: standard.precompile(
                root, build, [header for header, its in headers.items() if its is standard], pathlib.Path(folder)),
                sorted(set(headers.values()), key=lambda standard: standard.name)))
        problems = list(pool.map(lambda item: problem(item[1], item[0]), headers.items()))
    for header, found in zip(headers, problems):
        if found:
            print(f"{header.relative_to(root)} does not compile alone:\n{found}")
    wrong = sum(found is not None for found in problems)
    print(f"{len(headers)} headers, {wrong} that do not compile alone")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
