// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_TOOLS_PLACE_LINECURSOR_H
#define WSEC_TOOLS_PLACE_LINECURSOR_H

#include <cctype>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace wsec {

/// The rest of a line; what is expected and not there is an error.
class LineCursor {
public:
  LineCursor(const std::string &file, int64_t line, const std::string &text)
      : where(file + ":" + std::to_string(line) + ": "), text(text) {}

  [[noreturn]] void fail(const std::string &what) const {
    throw std::runtime_error(where + what);
  }

  bool atEnd() {
    skipBlanks();
    return at == text.size();
  }

  bool take(const std::string &token) {
    skipBlanks();
    if (text.compare(at, token.size(), token) != 0)
      return false;
    at += token.size();
    return true;
  }

  void expect(const std::string &token) {
    if (!take(token))
      fail("expected '" + token + "', found " + rest());
  }

  std::string word() {
    skipBlanks();
    const size_t begin = at;
    while (at < text.size() && (std::isalnum(text[at]) || text[at] == '_'))
      ++at;
    if (begin == at)
      fail("expected a word, found " + rest());
    return text.substr(begin, at - begin);
  }

  /// `last` may follow it at once; else no letter does.
  int64_t number(int64_t least, int64_t most, const std::string &what,
                 char last = ' ') {
    skipBlanks();
    int64_t value = 0;
    const char *begin = text.data() + at, *end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    const bool ends =
        stop == end || *stop == last || !(std::isalnum(*stop) || *stop == '.');
    if (error != std::errc() || !ends || value < least || value > most)
      fail(what + " wants a number from " + std::to_string(least) + " to " +
           std::to_string(most) + ", found " + rest());
    at += stop - begin;
    return value;
  }

  std::string quoted() {
    expect("'");
    const size_t end = text.find('\'', at);
    if (end == std::string::npos)
      fail("no ' ends the name");
    const std::string name = text.substr(at, end - at);
    at = end + 1;
    return name;
  }

  /// The text between brackets, without blanks.
  std::string bracketed() {
    expect("[");
    const size_t end = text.find(']', at);
    if (end == std::string::npos)
      fail("no ] closes the bracket");
    std::string inside;
    for (; at < end; ++at)
      if (!std::isspace(text[at]))
        inside += text[at];
    ++at;
    return inside;
  }

private:
  void skipBlanks() {
    while (at < text.size() && std::isspace(text[at]))
      ++at;
  }

  std::string rest() const {
    return at == text.size() ? "the end of the line"
                             : "'" + text.substr(at, 24) + "'";
  }

  std::string where;
  const std::string &text;
  size_t at = 0;
};

} // namespace wsec

#endif // WSEC_TOOLS_PLACE_LINECURSOR_H
