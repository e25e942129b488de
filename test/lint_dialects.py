#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of the dialects' TableGen: lint_dialects.py ROOT.

- At least 95 % of the ops, attributes and types have a declarative assembly
  format (`custom<...>` directives are part of one).
- Each numbered rule "(C2)" of a description is cited by a check of that op or
  attribute, "// C2" in its verifier or in what that calls, and broken by a test
  whose case is named after both: @vector_c2, or #tiled_c1.

Exit code 1 and one line per finding.
"""

import re
import sys
from pathlib import Path

DIALECTS = ("onnx", "wse", "pe")
DECLARATIVE = 0.95


class Definition:
    """An op, attribute or type of a .td file."""

    def __init__(self, path, line, name, text):
        self.path, self.line, self.text = path, line, text
        self.class_name = name.split("_", 1)[1]
        mnemonic = re.search(r':[^"]*<(?:\w+, )?"(\w+)"(?:, "(\w+)")?', text)
        self.mnemonic = mnemonic and (mnemonic[2] or mnemonic[1]).lower()
        self.rules = list(dict.fromkeys(re.findall(r"\((C\d+)\)", text)))
        self.by_hand = "hasCustomAssemblyFormat = 1" in text


def definitions(folder):
    for path in sorted(folder.glob("*.td")):
        text = path.read_text(encoding="utf-8")
        starts = [m.start() for m in re.finditer(r"^(?:def|class) ", text, re.M)]
        for begin, end in zip(starts, starts[1:] + [len(text)]):
            part = text[begin:end]
            name = re.match(r"def (\w+(?:Op|Attr|Type))\b", part)
            if name and "let summary" in part:
                yield Definition(path, text.count("\n", 0, begin) + 1, name[1], part)


def functions(folder):
    """Top-level functions of a dialect: (name, class, text with the comment above).
    What a lower-case name qualifies is in a namespace, and no member."""
    for path in sorted(folder.glob("*.cpp")):
        for block in re.split(r"(?<=^}\n)", path.read_text(encoding="utf-8"), flags=re.M):
            body = block[block.rfind("//===---") + 1:]
            head = re.search(r"^[\w:<>,&* \n]*?\b(?:([A-Z]\w*)::)?(\w+)\(", body, re.M)
            if head:
                yield head[2], head[1], body


def checks_of(definition, code):
    """The text of its members, of functions over it, and of all that they call."""
    texts, todo, seen = [], [], set()
    own = re.compile(rf"\b{definition.class_name}\b")
    todo = [entry for entry in code if entry[1] == definition.class_name
            or own.search(entry[2])]
    while todo:
        name, owner, text = todo.pop()
        if (name, owner, text[:200]) in seen:
            continue
        seen.add((name, owner, text[:200]))
        texts.append(text)
        called = set(re.findall(r"\b(verify\w*|check\w*|is\w*)\(", text))
        todo += [entry for entry in code if entry[0] in called and not entry[1]]
    return "\n".join(texts)


def rule_findings(root, dialect):
    code = list(functions(root / "dialects" / dialect))
    tests = "\n".join(path.read_text(encoding="utf-8")
                      for path in sorted((root / "test/dialects" / dialect).glob("*.mlir")))
    for it in definitions(root / "dialects" / dialect):
        checks = it.rules and checks_of(it, code)
        for rule in it.rules:
            where = f"{it.path.relative_to(root)}:{it.line}"
            if not re.search(rf"//.*\b{rule}\b", checks):
                yield f"{where}: no check in dialects/{dialect} names {rule} of {it.mnemonic}"
            if not re.search(rf"[@#%\"{{]{it.mnemonic}_{rule.lower()}(?![0-9])", tests):
                yield (f"{where}: no case {it.mnemonic}_{rule.lower()} "
                       f"in test/dialects/{dialect}")


def main():
    root = Path(sys.argv[1])
    found = [it for dialect in DIALECTS for it in definitions(root / "dialects" / dialect)]
    by_hand = [it for it in found if it.by_hand]
    findings = [line for dialect in DIALECTS for line in rule_findings(root, dialect)]
    share = 1 - len(by_hand) / len(found)
    if share < DECLARATIVE:
        findings += [f"{it.path.relative_to(root)}:{it.line}: {it.mnemonic} is parsed by hand"
                     for it in by_hand]
    print("\n".join(findings))
    print(f"{len(found)} definitions, {100 * share:.0f} % with a declarative format, "
          f"{sum(len(it.rules) for it in found)} rules, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
