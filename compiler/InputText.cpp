// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/InputText.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <utility>

using namespace llvm;

/// The end of the string that starts at `at`; the end of the text if it has
/// none.
static size_t endOfString(StringRef text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    at += text[at] == '\\';
  return at;
}

namespace {
/// Brackets that are open, and words and operators since the last separator in
/// each of them: those a parser may all have on its stack. Between statements
/// the end of a line is one.
class Nesting {
public:
  /// Takes what begins at `at` and returns where that ends.
  size_t take(StringRef text, size_t at);
  size_t depth() const { return words.size() - 1; }
  size_t terms() const { return allWords; }

private:
  void separate() { allWords -= std::exchange(words.back(), 0); }
  void addWord() {
    ++words.back();
    ++allWords;
  }

  bool amongStatements() const { return open.empty() || open.back() == '{'; }

  SmallVector<size_t> words = {0};
  SmallVector<char> open;
  size_t allWords = 0;
};
} // namespace

size_t Nesting::take(StringRef text, size_t at) {
  StringRef rest = text.substr(at);
  char c = rest.front();
  if (c == '"')
    return endOfString(text, at) + 1;
  if (rest.starts_with("//"))
    return std::min(text.find('\n', at), text.size());
  if (rest.starts_with("->"))
    return at + 2;
  if (isAlnum(c) || c == '_') {
    addWord();
    return at + rest.take_while([](char c) { return isAlnum(c) || c == '_'; })
                    .size();
  }
  if (StringRef("([{<").contains(c)) {
    words.push_back(0);
    open.push_back(c);
  } else if (StringRef(")]}>").contains(c) && depth() > 0) {
    separate();
    words.pop_back();
    open.pop_back();
  } else if (StringRef("+-*").contains(c)) {
    addWord();
  } else if (!isSpace(c) || (c == '\n' && amongStatements())) {
    separate();
  }
  return at + 1;
}

std::optional<std::string> wsec::nestingProblem(StringRef text, unsigned most) {
  // Expressions without brackets: affine maps, as people write them, have ten.
  constexpr size_t mostTerms = 2000;
  Nesting nesting;
  for (size_t at = 0; at < text.size();) {
    at = nesting.take(text, at);
    auto problem = [&](const Twine &what, size_t limit) {
      return ("line " + Twine(text.take_front(at).count('\n') + 1) + " " +
              what + Twine(limit))
          .str();
    };
    if (nesting.depth() > most)
      return problem("nests brackets deeper than ", most);
    if (nesting.terms() > mostTerms)
      return problem("has an expression of more terms than ", mostTerms);
  }
  return std::nullopt;
}

/// Where linalg.generic has iterators that are no words in quotes, which the
/// packaged parser takes them for unseen; npos if nowhere.
static size_t unquotedIterators(StringRef text) {
  constexpr StringLiteral name = "iterator_types";
  for (size_t at = 0; (at = text.find(name, at)) != text.npos; ++at) {
    StringRef list = text.substr(at + name.size()).ltrim();
    if (!list.consume_front("=") || !(list = list.ltrim()).consume_front("["))
      continue;
    SmallVector<StringRef> words;
    list.take_until([](char c) { return c == ']'; }).split(words, ',');
    for (StringRef word : words)
      if (!word.trim().empty() && !word.trim().starts_with("\""))
        return at;
  }
  return text.npos;
}

/// Where `array<index...>` is, on which the packaged parser ends in a
/// segmentation fault; npos if nowhere.
static size_t arrayOfIndices(StringRef text) {
  constexpr StringLiteral name = "array";
  for (size_t at = 0; (at = text.find(name, at)) != text.npos; ++at) {
    StringRef rest = text.substr(at + name.size()).ltrim();
    const char before = at > 0 ? text[at - 1] : ' ';
    if (rest.consume_front("<") && rest.ltrim().starts_with("index") &&
        !isAlnum(before) && !StringRef("_.$").contains(before))
      return at;
  }
  return text.npos;
}

Expected<std::unique_ptr<MemoryBuffer>> wsec::readRegularFile(StringRef path,
                                                              bool isText) {
  sys::fs::file_status status;
  std::error_code reason = sys::fs::status(path, status);
  if (!reason && sys::fs::is_directory(status))
    reason = std::make_error_code(std::errc::is_a_directory);
  if (!reason && !sys::fs::is_regular_file(status))
    return createStringError("cannot read '" + path +
                             "': it is a device or a FIFO, expected a file");
  if (!reason) {
    auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                        /*RequiresNullTerminator=*/isText);
    if (buffer)
      return std::move(*buffer);
    reason = buffer.getError();
  }
  return createStringError(reason,
                           "cannot read '" + path + "': " + reason.message());
}

Expected<std::unique_ptr<MemoryBuffer>> wsec::readIR(StringRef path) {
  auto file = readRegularFile(path);
  if (!file)
    return file.takeError();
  StringRef text = (*file)->getBuffer();
  if (text.starts_with("ML\xefR"))
    return createStringError("'" + path +
                             "' is MLIR's bytecode; expected IR as text");
  if (auto problem = nestingProblem(text, maxNestingOfIR))
    return createStringError("'" + path + "': " + *problem);
  if (size_t at = unquotedIterators(text); at != text.npos)
    return createStringError(
        "'" + path + "': line " + Twine(text.take_front(at).count('\n') + 1) +
        " has iterator_types that are no words in quotes, as \"parallel\"");
  if (size_t at = arrayOfIndices(text); at != text.npos)
    return createStringError(
        "'" + path + "': line " + Twine(text.take_front(at).count('\n') + 1) +
        " has an array of indices, which have no width; write array<i64: ...>");
  if (size_t at = text.find(elidedConstant); at != text.npos)
    return createStringError(
        "'" + path + "': line " + Twine(text.take_front(at).count('\n') + 1) +
        " was printed without the elements of its constant; print it anew "
        "with --print-constants");
  return file;
}
