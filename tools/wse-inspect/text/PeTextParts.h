// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the pe dialect writes names, numbers, rectangles and expressions.
#ifndef TOOLS_WSE_INSPECT_TEXT_PETEXTPARTS_H
#define TOOLS_WSE_INSPECT_TEXT_PETEXTPARTS_H

#include "runtime/program/program_generated.h"

#include <map>
#include <string>
#include <vector>

namespace wsec::runtime {

/// "LessOrEqual" is less_or_equal in the dialect.
std::string snakeCase(const char *name);
/// "a \"b\"", whatever bytes there are.
std::string quotedText(const std::string &bytes);
/// @name, or @"..." around what is no identifier.
std::string symbolText(const std::string &name);
std::string typeText(program::ElementType type);
/// The shortest decimal that is read back as this number.
std::string realText(double value);
std::string realText(float value);
std::string rectText(const program::Rect &rect);
std::string portsText(unsigned transmit);

/// Lines of text, indented by what is open.
class TextLines {
public:
  void line(const std::string &what) {
    text.append(2 * depth, ' ').append(what).append("\n");
  }
  void open(const std::string &what) {
    line(what + " {");
    ++depth;
  }
  void otherwise() {
    --depth;
    open("} else");
  }
  void close(const std::string &rest = "") {
    --depth;
    line("}" + rest);
  }
  std::string take() { return std::move(text); }

  /// What stands within what is open now, to be put in its place later.
  TextLines inner() const {
    TextLines lines;
    lines.depth = depth;
    return lines;
  }
  void append(TextLines lines) { text += lines.text; }

private:
  std::string text;
  size_t depth = 0;
};

/// Names of the values that expressions add up.
class ValueNames {
public:
  /// Names the scalars of a class, stream or entry: %px, %c4, %less7 by their
  /// functions, %a0 or its name for an argument. `nodes` outlive this.
  explicit ValueNames(const std::vector<program::ScalarNode> &nodes,
                      const std::vector<std::string> &arguments = {});

  /// For an expression or a guard: a constant there has a name.
  const std::string &scalar(size_t index) const {
    needed.at(index) = true;
    return scalars.at(index);
  }
  std::string term(const program::Term &term) const;
  /// 2 - %odd, %i * 4 + 1
  std::string sum(const program::AffineT &value) const;
  /// (%n, 16)
  std::string
  list(const std::vector<std::unique_ptr<program::AffineT>> &values) const;

  /// Loops around what is printed now, from the outermost.
  std::string openLoop();
  void closeLoop() { --loops; }
  /// What code computes has a name from here to the end of its body.
  std::string define(int local);
  std::map<int, std::string> locals;

  /// Prints the scalars, after all that uses them. Constants are numbers in the
  /// functions they are for, where the dialect puts them in the same order.
  void printScalars(TextLines &out) const;

private:
  std::vector<bool> findNumbers() const;

  const std::vector<program::ScalarNode> &nodes;
  std::vector<std::string> scalars;
  mutable std::vector<bool> needed; // by name
  size_t loops = 0, defined = 0;
};

/// The names of routines by number; the program does not keep them.
using RoutineNames = std::map<uint32_t, std::string>;

/// Prints a class. `notes` says for routines what launches them.
void printClass(const program::PEClassT &peClass, const RoutineNames &routines,
                const std::map<uint32_t, std::string> &notes, TextLines &out);

} // namespace wsec::runtime

#endif // TOOLS_WSE_INSPECT_TEXT_PETEXTPARTS_H
