#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of the tree that a compiler does not hold: which folder may include
which, sources of more than 600 lines, what the packaged MLIR lacks, FileCheck
lines that check nothing, C++ that clang-format would change, rules that no
check or no test names, phases that know a kernel by name, and pages that name
files that are not there.

Usage: lint.py ROOT. Exit code 1 and one line per finding.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

MOST_LINES = 600
PHASES = "import raise infer canonicalize select place route schedule lower emit".split()
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
DIRECTIVE = re.compile(
    r"^\s*(?://|#|;)\s*CHECK(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?(?:\s+[^:]*)?$"
)

# "(S1) The program ...", "T1 each kernel ...", "| D1 | along ...": a rule of a
# boundary. C1, C2, ... are rules of one operation, counted anew in each: those
# are held by lint_dialects.py.
RULE = re.compile(r"^\s*(?:///\s+([ABD-Z]\d+)|- \(([ABD-Z]\d+)\)|\| ([ABD-Z]\d*) \|) [A-Za-z]")


def format_findings(root, files):
    """What clang-format, of the version that set-up installs, would change."""
    command = ["clang-format-22", "--dry-run", "--ferror-limit=1",
               *(str(path) for path in files if path.suffix in (".h", ".cpp"))]
    for line in subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stderr.split("\n"):
        if "[-Wclang-format-violations]" in line:
            yield line.replace("warning: code should be clang-formatted [-Wclang-format-violations]",
                               "clang-format-22 -i would change this")


def rule_findings(root, files):
    """Each rule is defined once, with a number. A comment or a message of the
    code beside it cites it where it is checked, and a test that breaks it is
    named after it: T1MissingKernel, @s2_stream."""
    texts = {path: (root / path).read_text(encoding="utf-8") for path in files
             if path.suffix in (".h", ".cpp", ".td", ".md", ".mlir")
             and path.parts[0] in ("compiler", "runtime", "dialects", "test")}
    defined = {}
    for path, text in texts.items():
        if path.parts[0] != "test" and path.suffix in (".h", ".td", ".md"):
            for number, line in enumerate(text.split("\n"), 1):
                if match := RULE.match(line):
                    defined.setdefault(next(filter(None, match.groups())), []).append((path, number))
    tests = set()
    for path, text in texts.items():
        if path.parts[0] == "test" and path.suffix == ".cpp":
            tests |= set(re.findall(r"^TEST(?:_F|_P)?\(\w+, ([A-Z]\d+)(?=[A-Z])", text, re.M))
        elif path.parts[0] == "test" and path.stem.endswith("-invalid"):
            tests |= {name.upper() for name in re.findall(r"@([a-z]\d+)(?:_\w+)?\b", text)}
    for label, places in sorted(defined.items()):
        path, number = places[0]
        for other, line in places[1:]:
            yield f"{other}:{line}: rule {label} is defined in {path}, too"
        cited = re.compile(rf'(?://.*\b|"){label}\b')
        if not any(its.parent == path.parent and its.suffix == ".cpp" and cited.search(text)
                   for its, text in texts.items()):
            yield f"{path}:{number}: no check in {path.parent} cites rule {label}"
        if label not in tests:
            yield f"{path}:{number}: no test is named after rule {label}"


# What selection makes of values that are not where they are needed, and of
# groups of element-wise operators, is no kernel's to say.
NAMED_BY_SELECTION = {
    "compiler/select/ElementwiseGroup.cpp": {"Elementwise"},
    # An entry that brings the weights that stay.
    "compiler/select/KeepWeights.cpp": {"Fill"},
    # What crosses from a row of stages to the next.
    "compiler/select/Handovers.cpp": {"Load", "Store"},
    "compiler/select/Selector.cpp": {"Redistribute"},
    # What crosses a cut is moved, unless it is computed of words of the host.
    "compiler/select/Stages.cpp": {"Transfer"},
    # Which pieces of an output are stored.
    "compiler/select/VerifySelected.cpp": {"Store"},
}
PAGE_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PAGE_PATH = re.compile(r"`((?:compiler|dialects|runtime|tools|test|python)/[\w./-]+)`")
KERNEL_OP = re.compile(r"^def Wse_(\w+)Op : Wse_(?:Row)?KernelOp<", re.MULTILINE)


def kernel_findings(root, files):
    """A kernel is one file and one registration: a phase asks the library, and
    names no kernel's operation."""
    kernels = [kernel for path in files if path.suffix == ".td" and path.parts[:2] == ("dialects", "wse")
               for kernel in KERNEL_OP.findall((root / path).read_text(encoding="utf-8"))]
    if not kernels:
        yield "dialects/wse: no kernel found, of which phases must name none"
        return
    named = re.compile(rf"\bwse::({'|'.join(kernels)})Op\b")
    for path in files:
        if path.suffix not in (".h", ".cpp") or path.parts[0] != "compiler" \
                or path.parts[1] not in ("select", "place", "route", "schedule", "lower"):
            continue
        known = NAMED_BY_SELECTION.get(path.as_posix(), set())
        used = set()
        for number, line in enumerate((root / path).read_text(encoding="utf-8").split("\n"), 1):
            used.update(named.findall(line))
            for kernel in named.findall(line):
                if kernel not in known:
                    yield f"{path}:{number}: names the kernel {kernel}: ask the kernel library"
        for kernel in sorted(known - used):
            yield f"{path}:1: does not name the kernel {kernel}, which lint.py allows"


def path_findings(root, files):
    """Links, and paths in backquotes from the project's root, of the pages: each
    names a file or folder of the project, a source with or without its ending."""
    known = {str(path) for path in files} | {str(folder) for path in files for folder in path.parents}
    for page in (path for path in files if path.suffix == ".md"):
        for number, line in enumerate((root / page).read_text(encoding="utf-8").split("\n"), 1):
            links = [os.path.normpath(page.parent / link) for link in PAGE_LINK.findall(line) if "://" not in link]
            named = [name.rstrip("/") for name in PAGE_PATH.findall(line)]
            for name in links + named:
                if not any(name + ending in known for ending in ("", ".h", ".cpp", ".py")):
                    yield f"{page}:{number}: nothing is called {name}"


def forbidden(path, target):
    """Why `path` must not include `target`, or None."""
    folder = path.parts[0]
    if folder == "runtime":
        if target.startswith(("mlir/", "llvm/", "dialects/", "compiler/")):
            return "runtime knows no MLIR, dialects or compiler"
    if folder == "dialects" and target.startswith(("compiler/", "runtime/", "tools/")):
        # A distribution asks the one description of the machine, and enums are
        # written from the one table of instructions.
        if not target.startswith("compiler/machine/") and target != "runtime/program/Opcodes.def":
            return "dialects include neither compiler nor runtime"
    if folder == "compiler":
        if target.startswith("tools/"):
            return "compiler does not include tools"
        if target.startswith("runtime/") and not target.startswith(("runtime/program/", "runtime/files/")):
            return "compiler sees runtime/program and runtime/files only"
        if len(path.parts) > 2 and path.parts[1] in PHASES:
            other = target.split("/")
            if other[0] == "compiler" and len(other) > 2 and other[1] in PHASES:
                if other[1] != path.parts[1]:
                    return "phases never include one another"
    if path.parts[:2] in (("tools", "wse-run"), ("tools", "wse-inspect")):
        if target.startswith(("mlir/", "llvm/", "dialects/", "compiler/")):
            return f"{path.parts[1]} knows the runtime only"
    return None


def tracked(root):
    """The files of the project, from its root."""
    listing = subprocess.run(
        ["git", "ls-files"], cwd=root, capture_output=True, text=True, check=False
    ).stdout.split("\n")
    files = [Path(name) for name in listing if name and (root / name).is_file()]
    if not files:  # an unpacked archive
        files = [p.relative_to(root) for p in root.rglob("*")
                 if p.is_file() and not {"build", ".venv", ".git"} & set(p.parts)]
    return files


def main():
    root = Path(sys.argv[1])
    files = tracked(root)
    findings = []
    sources = 0
    for path in sorted(files):
        if path.suffix in (".h", ".cpp", ".td", ".py"):
            length = len((root / path).read_text(encoding="utf-8").splitlines())
            if length > MOST_LINES:
                findings.append(f"{path}:{MOST_LINES}: {length} lines, at most {MOST_LINES}: "
                                "split it by what its parts are about")
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
        elif path.parts[0] == "test" and path.suffix in (".mlir", ".test") and "Inputs" not in path.parts:
            lines = (root / path).read_text(encoding="utf-8").split("\n")
            if not any("RUN:" in line for line in lines):
                findings.append(f"{path}:1: no RUN line")
            for number, line in enumerate(lines, 1):
                if DIRECTIVE.match(line):
                    findings.append(f"{path}:{number}: directive without a colon checks nothing")
    findings += format_findings(root, sorted(files))
    findings += rule_findings(root, files)
    findings += kernel_findings(root, sorted(files))
    findings += path_findings(root, sorted(files))
    print("\n".join(findings))
    print(f"lint: {sources} sources, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
