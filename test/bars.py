#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far the tree is from what it should be: one line a bar, with the number
now, the bar, and the files that are in its way.

Usage: bars.py ROOT [--files]. Exit code 1 where a bar that has been reached is
no longer: those are marked "held".
"""

import re
import sys
from pathlib import Path

from lint import tracked

CODE = (".h", ".cpp", ".td")
# A comment that begins so says nothing of what it is that it tells of.
NO_SUBJECT = re.compile(r"(?:Of|The same|Those|That)\b")
ERROR = r"\b(?:emitError|emitOpError|emitOptionalError)\(|[^\w.>]error\(\) ?<<"
NOTE = r"\b(?:attachNote|with(?:Note|Maker|Declaration|Tensor)|noteWhere)\("
KERNEL = re.compile(r"^def Wse_(\w+)Op : Wse_(?:Row)?KernelOp<", re.M)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


class Tree:
    def __init__(self, root):
        self.texts = {path: (root / path).read_text(encoding="utf-8") for path in sorted(tracked(root))
                      if path.suffix in (*CODE, ".md", ".mlir", ".py")}

    def under(self, *folders, suffixes=CODE):
        return {path: text for path, text in self.texts.items()
                if path.suffix in suffixes and path.as_posix().startswith(folders)}

    def count(self, pattern, *folders, suffixes=CODE):
        """Matches of a pattern, by file."""
        found = {path: len(re.findall(pattern, text, re.M))
                 for path, text in self.under(*folders, suffixes=suffixes).items()}
        return {path: number for path, number in found.items() if number}


def lines(texts):
    return {path: text.count("\n") for path, text in texts.items()}


def over(texts, most):
    return {path: number for path, number in lines(texts).items() if number > most}


def never_compiled(tree):
    """Sources of placement that the compiler's table of contents does not reach:
    a .cpp is reached with the header that it includes first."""
    sources = tree.under("compiler/", "dialects/")
    includes = {path: [Path(name) for name in INCLUDE.findall(text)] for path, text in sources.items()}
    reached, todo = set(), [Path("compiler/Pipeline.cpp")]
    while todo:
        path = todo.pop()
        if path not in sources or path in reached:
            continue
        reached.add(path)
        todo += includes[path]
        todo += [source for source, names in includes.items()
                 if source.suffix == ".cpp" and names[:1] == [path]]
    return lines({path: text for path, text in sources.items()
                  if path.parts[1] in ("place", "placement") and path.suffix != ".td" and path not in reached})


def without_subject(tree):
    """Comments of declarations in headers, by their first line."""
    found = {}
    for path, text in tree.under("compiler/", "dialects/", "runtime/", "tools/", suffixes=(".h",)).items():
        blocks = re.findall(r"(?<!///)\n[ \t]*/// ([^\n]+)", re.sub(r"(\n[ \t]*///[^\n]*)(?:\n[ \t]*///[^\n]*)*", r"\1", text))
        if number := sum(bool(NO_SUBJECT.match(first)) for first in blocks):
            found[path] = number
    return found


def without_label(tree):
    """Programs of files of several that are checked from the last label of
    another one on. What is refused prints no program."""
    found = {}
    for path, text in tree.under("test/", suffixes=(".mlir",)).items():
        for run in re.findall(r"RUN: (.*split-input-file.*\| FileCheck %s.*)", text):
            if re.search(r"\bnot ", run):
                continue
            prefixes = re.search(r"--check-prefix(?:es)?=([\w,-]+)", run)
            check = rf"^ *// (?:{(prefixes[1] if prefixes else 'CHECK').replace(',', '|')})(-\w+)?:"
            kinds = [re.findall(check, program, re.M) for program in re.split(r"^// -----", text, flags=re.M)]
            if number := sum(bool(kind) and "-LABEL" not in kind for kind in kinds):
                found[path] = found.get(path, 0) + number
    return found


def feedback_options(tree):
    """Options of passes that are members of a plan; the region is one that users give, too."""
    plan = tree.texts[Path("compiler/plan/Plan.h")].split("struct Constraints {")[1].split("};")[0]
    members = set(re.findall(r"\b(\w+)(?: = \w+)?[,;]$|\b(\w+) = \w+,", re.sub(r"///.*", "", plan), re.M))
    names = {name for pair in members for name in pair if name} - {"region"}
    return {name for text in tree.under("compiler/", suffixes=(".td",)).values()
            for name in re.findall(r'Option<"(\w+)"', text) if name in names}


def files_of_kernels(tree):
    """Files that name a kernel's operation."""
    names = [kernel for text in tree.under("dialects/wse/").values() for kernel in KERNEL.findall(text)]
    sources = tree.under("compiler/", "dialects/")
    return {kernel: sum(bool(re.search(rf"\b(?:wse::|Wse_){kernel}Op\b", text)) for text in sources.values())
            for kernel in names}


def ratio(part, whole):
    return round(sum(part.values()) / max(1, sum(whole.values())), 2)


def bars(tree):
    """Of each bar what it counts, how many there are, how many there should be at
    most (at least, where that is negative), whether it is held, and by file."""
    compiler = lines(tree.under("compiler/"))
    training = lines(tree.under("compiler/differentiate/"))
    yield "lines of compiler/", sum(compiler.values()), None, False, {}
    yield "  without differentiate", sum(compiler.values()) - sum(training.values()), 55500, False, {}
    found = tree.count(r"\bcase (?:\w+::)*(?:\w*Pattern|Movement|Members)::", "compiler/", "dialects/")
    yield "case labels of stream patterns", sum(found.values()), 25, True, found
    found = over(tree.under("compiler/", "dialects/", "runtime/", "tools/", "test/", "python/",
                            suffixes=(*CODE, ".py")), 600)
    yield "sources of more than 600 lines", len(found), 0, True, found
    found = tree.count(r"(?<!void )\bset(?:Variant|Type)\(", "compiler/kernels/", "compiler/select/")
    yield "setVariant, setType in kernels and select", sum(found.values()), 0, False, found
    options = feedback_options(tree)
    yield "options of passes that carry feedback", len(options), 0, True, dict.fromkeys(sorted(options), 1)
    found = never_compiled(tree)
    yield "lines of placement that no compilation has", sum(found.values()), 0, True, found
    found = files_of_kernels(tree)
    yield "files that name a kernel, of most", max(found.values(), default=0), 5, True, found
    found = without_subject(tree)
    yield "comments of headers without a subject", sum(found.values()), 0, True, found
    notes, errors = (tree.count(rf"expected-{kind}\b", "test/", suffixes=(".mlir",)) for kind in ("note", "error"))
    yield "notes an error, in tests", ratio(notes, errors), -0.28, False, {}
    notes, errors = (tree.count(what, "compiler/", "dialects/") for what in (NOTE, ERROR))
    yield "  in the code", ratio(notes, errors), -0.28, False, \
        {path: number for path, number in errors.items() if path not in notes}
    found = over(tree.under("", suffixes=(".md",)), 120)
    yield "READMEs of more than 120 lines", len([path for path in found if path.name == "README.md"]), 0, True, \
        {path: number for path, number in found.items() if path.name == "README.md"}
    found = without_label(tree)
    yield "programs of files of several without CHECK-LABEL", sum(found.values()), 0, True, found


def main():
    tree = Tree(Path(sys.argv[1]))
    broken = 0
    for what, number, bar, held, where in bars(tree):
        reached = bar is None or (number <= bar if bar >= 0 else number >= -bar)
        broken += held and not reached
        aim = "" if bar is None else f"{'at most' if bar >= 0 else 'at least'} {abs(bar)}"
        print(f"{what:49}{number:>8}  {aim:16}{'held' if held else '' if reached else 'missed'}".rstrip())
        if "--files" in sys.argv or held and not reached:
            for path, count in sorted(where.items(), key=lambda entry: (-entry[1], str(entry[0]))):
                print(f"    {count:5} {path}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
