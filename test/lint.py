#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of the tree that a compiler does not hold: which folder may include
which, what the packaged MLIR lacks, FileCheck lines that check nothing, and
rules that no check or no test names.

Usage: lint.py ROOT. Exit code 1 and one line per finding.
"""

import re
import subprocess
import sys
from pathlib import Path

PHASES = "import infer canonicalize select place route schedule lower emit".split()
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
DIRECTIVE = re.compile(
    r"^\s*(?://|#|;)\s*CHECK(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?(?:\s+[^:]*)?$"
)

# "(S1) The program ...", "T1 each kernel ...", "| D1 | along ...": a rule of a
# boundary. C1, C2, ... are rules of one operation, counted anew in each.
RULE = re.compile(r"^\s*(?:///\s+|- \(|\| )([ABD-Z][1-9]\d?)(?:\)| \|)? [A-Za-z]")


def rule_findings(root, files):
    """Each rule is defined once, and its label stands in the code that checks it
    and in a test of the same folder."""
    texts = {path: (root / path).read_text(encoding="utf-8") for path in files
             if path.suffix in (".h", ".cpp", ".td", ".md", ".mlir", ".py")
             and path.parts[0] in ("compiler", "runtime", "dialects", "test")}
    defined = {}
    for path, text in texts.items():
        if path.parts[0] != "test" and path.suffix in (".h", ".td", ".md"):
            for number, line in enumerate(text.split("\n"), 1):
                if match := RULE.match(line):
                    defined.setdefault(match.group(1), []).append((path, number))
    for label, places in sorted(defined.items()):
        path, number = places[0]
        for other, line in places[1:]:
            yield f"{other}:{line}: rule {label} is defined in {path}, too"
        # In names of tests, too: T1MissingKernel, @s2_stream.
        label_in = re.compile(rf"(?i)(?<![a-z0-9]){label}(?![0-9])")
        for folder, what in ((path.parent, "check"), ("test" / path.parent, "test")):
            if not any(its.is_relative_to(folder) and label_in.search(text)
                       for its, text in texts.items()
                       if its.suffix == ".cpp" or folder != path.parent):
                yield f"{path}:{number}: no {what} in {folder} names rule {label}"


def forbidden(path, target):
    """Why `path` must not include `target`, or None."""
    folder = path.parts[0]
    if folder == "runtime":
        if target.startswith(("mlir/", "llvm/", "dialects/", "compiler/")):
            return "runtime knows no MLIR, dialects or compiler"
    if folder == "dialects" and target.startswith(("compiler/", "runtime/", "tools/")):
        # A distribution asks the one description of the machine.
        if not target.startswith("compiler/machine/"):
            return "dialects include neither compiler nor runtime"
    if folder == "compiler":
        if target.startswith("tools/"):
            return "compiler does not include tools"
        if target.startswith("runtime/") and not target.startswith("runtime/program/"):
            return "compiler sees runtime/program only"
        if len(path.parts) > 2 and path.parts[1] in PHASES:
            other = target.split("/")
            if other[0] == "compiler" and len(other) > 2 and other[1] in PHASES:
                if other[1] != path.parts[1]:
                    return "phases never include one another"
    if path.parts[:2] in (("tools", "wse-run"), ("tools", "wse-inspect")):
        if target.startswith(("mlir/", "llvm/", "dialects/", "compiler/")):
            return f"{path.parts[1]} knows the runtime only"
    return None


def main():
    root = Path(sys.argv[1])
    listing = subprocess.run(
        ["git", "ls-files"], cwd=root, capture_output=True, text=True, check=False
    ).stdout.split("\n")
    files = [Path(name) for name in listing if name and (root / name).is_file()]
    if not files:  # an unpacked archive
        files = [p.relative_to(root) for p in root.rglob("*")
                 if p.is_file() and not {"build", ".venv", ".git"} & set(p.parts)]
    findings = []
    sources = 0
    for path in sorted(files):
        if path.suffix in (".h", ".cpp", ".td"):
            sources += 1
            lines = (root / path).read_text(encoding="utf-8").split("\n")
            if "SPDX-License-Identifier" not in "".join(lines[:2]):
                findings.append(f"{path}:1: no SPDX line")
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                why = match and forbidden(path, match.group(2))
                if why:
                    findings.append(f"{path}:{number}: includes {match.group(2)}: {why}")
                if path.suffix == ".td" and "Statistic<" in line:
                    # Its constructor in libMLIR leaves what our headers declare
                    # without a value: the library is built with NDEBUG.
                    findings.append(f"{path}:{number}: the packaged MLIR has no pass statistics")
        elif path.parts[0] == "test" and path.suffix in (".mlir", ".test"):
            lines = (root / path).read_text(encoding="utf-8").split("\n")
            if not any("RUN:" in line for line in lines):
                findings.append(f"{path}:1: no RUN line")
            for number, line in enumerate(lines, 1):
                if DIRECTIVE.match(line):
                    findings.append(f"{path}:{number}: directive without a colon checks nothing")
    findings += rule_findings(root, files)
    print("\n".join(findings))
    print(f"lint: {sources} sources, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
