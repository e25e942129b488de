// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/pe/PeMistakes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace wsec::pe {

// Where the text before the next token ends. There is some: no part of an op
// stands at the beginning of a file.
static const char *endOfPrevious(SMLoc next) {
  const char *text = next.getPointer();
  while (llvm::isSpace(text[-1]))
    --text;
  return text;
}

static bool isOnSameLine(SMLoc next) {
  return !StringRef(endOfPrevious(next),
                    next.getPointer() - endOfPrevious(next))
              .contains('\n');
}

ParseResult expect(AsmParser &parser, ParseResult found, StringRef token,
                   StringRef form) {
  if (succeeded(found))
    return success();
  SMLoc next = parser.getCurrentLocation();
  if (!isOnSameLine(next))
    next = SMLoc::getFromPointer(endOfPrevious(next));
  return parser.emitError(next, "expected ") << token << ": " << form;
}

ParseResult expectKeyword(AsmParser &parser, StringRef keyword,
                          StringRef form) {
  return expect(parser, parser.parseOptionalKeyword(keyword),
                ("'" + keyword + "'").str(), form);
}

ParseResult refuseOnLine(AsmParser &parser, ArrayRef<StringRef> words,
                         StringRef reason) {
  SMLoc next = parser.getCurrentLocation();
  StringRef word;
  if (isOnSameLine(next) &&
      succeeded(parser.parseOptionalKeyword(&word, words)))
    return parser.emitError(next, "unexpected '") << word << "': " << reason;
  return success();
}

// Words that stand in ops, and how.
static StringRef formOfWord(StringRef word) {
  if (symbolizeOpcode(word))
    return form::kVector;
  if (symbolizeScalarKind(word))
    return form::kInputs;
  for (StringRef issue :
       {"where", "thread", "then", "advance", "on_control", "no_wrap"})
    if (word == issue)
      return form::kIssue;
  return {};
}

ParseResult refuseWord(OpAsmParser &parser, OperationState &state) {
  StringRef word = state.name.stripDialect();
  InFlightDiagnostic error = parser.emitError(parser.getNameLoc());
  error << "'" << word << "' is not a statement";
  if (StringRef form = formOfWord(word); !form.empty())
    return error << ": " << form;
  SmallVector<StringRef> names;
  for (RegisteredOperationName name :
       parser.getContext()->getRegisteredOperationsByDialect("pe"))
    names.push_back(name.stripDialect());
  return error << nearest(word, std::move(names));
}

bool startsWith(AsmParser &parser, StringRef characters) {
  return characters.contains(*parser.getCurrentLocation().getPointer());
}

std::string nearest(StringRef wanted, SmallVector<StringRef> names) {
  constexpr size_t most = 5, close = 3;
  if (names.empty())
    return "; there is none";
  bool few = names.size() <= most;
  if (!few)
    llvm::sort(names, [&](StringRef a, StringRef b) {
      return std::pair(wanted.edit_distance(a), a) <
             std::pair(wanted.edit_distance(b), b);
    });
  if (!few)
    names.resize(close);
  return (few ? "; there is: " : "; nearest: ") + llvm::join(names, ", ");
}

LogicalResult withNote(InFlightDiagnostic error, Operation *other,
                       const Twine &note) {
  if (other)
    error.attachNote(other->getLoc()) << note;
  return error;
}

ParseResult parseWord(AsmParser &parser, StringRef &word,
                      SmallVector<StringRef> names, StringRef noun) {
  const SMLoc location = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&word)) &&
      llvm::is_contained(names, word))
    return success();
  if (word.empty())
    return parser.emitError(location, "expected ")
           << noun << nearest(word, std::move(names));
  return parser.emitError(location, "'")
         << word << "' is not " << noun << nearest(word, std::move(names));
}

} // namespace wsec::pe
