// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/text/PeTextParts.h"
#include "runtime/program/check/ScalarChecker.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>

namespace wsec::runtime {

using namespace program;

//===----------------------------------------------------------------------===//
// Names and numbers
//===----------------------------------------------------------------------===//

std::string snakeCase(const char *name) {
  std::string text;
  for (const char *c = name; *c; ++c) {
    if (std::isupper(static_cast<unsigned char>(*c)) && c != name &&
        std::islower(static_cast<unsigned char>(c[-1])))
      text += '_';
    text += char(std::tolower(static_cast<unsigned char>(*c)));
  }
  return text;
}

std::string quotedText(const std::string &bytes) {
  constexpr const char *digits = "0123456789ABCDEF";
  std::string text = "\"";
  for (unsigned char byte : bytes)
    if (byte == '"' || byte == '\\')
      text.append({'\\', char(byte)});
    else if (byte >= 0x20 && byte < 0x7f)
      text += char(byte);
    else
      text.append({'\\', digits[byte >> 4], digits[byte & 15]});
  return text + "\"";
}

std::string symbolText(const std::string &name) {
  auto isLetter = [](char c) { return std::isalpha((unsigned char)c) != 0; };
  bool plain = !name.empty() && (isLetter(name[0]) || name[0] == '_');
  for (char c : name)
    plain &= isLetter(c) || std::isdigit((unsigned char)c) || c == '_' ||
             c == '.' || c == '$';
  return "@" + (plain ? name : quotedText(name));
}

std::string typeText(ElementType type) {
  if (type == ElementType::Bool)
    return "i1";
  if (type == ElementType::CB16)
    return "!pe.cb16";
  if (type >= ElementType::F8E4M3FN)
    return "f" + std::string(EnumNameElementType(type) + 1);
  const std::string name = snakeCase(EnumNameElementType(type));
  return name[0] == 'u' ? "ui" + name.substr(1) : name;
}

/// `bits` is what stands for a number that decimals do not.
template <typename Real>
static std::string shortest(Real value, uint64_t bits) {
  char text[64];
  if (!std::isfinite(value)) {
    *std::to_chars(text, std::end(text), bits, 16).ptr = 0;
    return std::string("0x") + text;
  }
  const Real size = std::abs(value);
  const bool plain = size == 0 || (size >= Real(1e-4) && size < Real(1e15));
  *std::to_chars(text, std::end(text), value,
                 plain ? std::chars_format::fixed
                       : std::chars_format::scientific)
       .ptr = 0;
  // The dialect wants a point in every decimal.
  std::string number = text;
  if (number.find('.') == std::string::npos)
    number.insert(std::min(number.find('e'), number.size()), ".0");
  return number;
}

std::string realText(double value) {
  return shortest(value, std::bit_cast<uint64_t>(value));
}
std::string realText(float value) {
  return shortest(value, std::bit_cast<uint32_t>(value));
}

std::string rectText(const Rect &rect) {
  auto range = [](int from, int to, int step) {
    return std::to_string(from) + ":" + std::to_string(to) +
           (step == 1 ? "" : ":" + std::to_string(step));
  };
  return "[" + range(rect.x0(), rect.x1(), rect.xstep()) + ", " +
         range(rect.y0(), rect.y1(), rect.ystep()) + "]";
}

std::string portsText(unsigned transmit) {
  std::string text;
  for (Port port : EnumValuesPort())
    if (transmit >> unsigned(port) & 1)
      text += (text.empty() ? "" : ", ") + snakeCase(EnumNamePort(port));
  return "[" + text + "]";
}

//===----------------------------------------------------------------------===//
// Values and expressions
//===----------------------------------------------------------------------===//

static std::string nameOf(const ScalarNode &node, size_t index,
                          const std::vector<std::string> &arguments) {
  if (node.op() == ScalarOp::Argument)
    return size_t(node.a()) < arguments.size() ? arguments[size_t(node.a())]
                                               : "a" + std::to_string(node.a());
  if (node.op() == ScalarOp::Constant)
    return node.a() < 0 ? "m" + std::to_string(-int64_t(node.a()))
                        : "c" + std::to_string(node.a());
  std::string name = snakeCase(EnumNameScalarOp(node.op()));
  if (operandCount(node.op()) == 0)
    return name;
  if (name.starts_with("tile_"))
    name.erase(0, 5);
  return name + std::to_string(index);
}

ValueNames::ValueNames(const std::vector<ScalarNode> &nodes,
                       const std::vector<std::string> &arguments)
    : nodes(nodes), needed(nodes.size()) {
  std::set<std::string> taken(arguments.begin(), arguments.end());
  for (const ScalarNode &node : nodes) {
    std::string name = nameOf(node, scalars.size(), arguments);
    // Only constants and coordinates come twice.
    if (!taken.insert(name).second && node.op() != ScalarOp::Argument)
      name += "_" + std::to_string(scalars.size());
    scalars.push_back("%" + name);
  }
}

std::string ValueNames::openLoop() {
  ++loops;
  return term(Term(TermKind::Loop, uint16_t(loops - 1), 1));
}

std::string ValueNames::define(int local) {
  return locals[local] = "%v" + std::to_string(defined++);
}

std::string ValueNames::term(const Term &term) const {
  switch (term.kind()) {
  case TermKind::Scalar:
    return scalar(term.index());
  case TermKind::Loop:
    return term.index() < 4 ? std::string{'%', char('i' + term.index())}
                            : "%i" + std::to_string(term.index());
  case TermKind::Local:
    break;
  }
  return locals.at(term.index());
}

// As the dialect prints it: something positive goes first, where there is
// something.
std::string ValueNames::sum(const AffineT &value) const {
  std::string text;
  auto sign = [&](int64_t number) {
    const bool subtracts = !text.empty() && number < 0;
    if (!text.empty())
      text += subtracts ? " - " : " + ";
    // The lowest number is its own negative.
    return subtracts ? int64_t(-uint64_t(number)) : number;
  };
  const bool constantFirst =
      value.terms.empty() ||
      (value.terms.front().scale() < 0 && value.constant > 0);
  if (constantFirst)
    text += std::to_string(value.constant);
  for (const Term &each : value.terms) {
    const int64_t factor = sign(each.scale());
    text += term(each);
    if (factor != 1)
      text += " * " + std::to_string(factor);
  }
  if (!constantFirst && value.constant != 0) {
    const int64_t constant = sign(value.constant);
    text += std::to_string(constant);
  }
  return text;
}

std::string
ValueNames::list(const std::vector<std::unique_ptr<AffineT>> &values) const {
  std::string text;
  for (const auto &value : values)
    text += (text.empty() ? "" : ", ") + sum(*value);
  return "(" + text + ")";
}

// The dialect makes constants of an op's numbers before the op, in order, where
// there is none with that value yet. So of the constants before an op those can
// be numbers that come last, in the order in which the op names them.
std::vector<bool> ValueNames::findNumbers() const {
  std::vector<bool> numbers(nodes.size());
  std::set<int32_t> seen;
  std::vector<size_t> before; // constants since the last function
  std::vector<bool> isFirst(nodes.size());
  for (size_t index = 0; index < nodes.size(); ++index) {
    const ScalarNode &node = nodes[index];
    if (node.op() == ScalarOp::Constant) {
      isFirst[index] = seen.insert(node.a()).second;
      before.push_back(index);
      continue;
    }
    if (node.op() == ScalarOp::Argument)
      continue;
    const int operands[] = {node.a(), node.b(), node.c()};
    for (size_t from = 0; from < before.size(); ++from) {
      const std::vector<size_t> last(before.begin() + ptrdiff_t(from),
                                     before.end());
      std::vector<size_t> named;
      for (int k = 0; k < operandCount(node.op()); ++k) {
        const auto operand = size_t(operands[k]);
        if (std::count(last.begin(), last.end(), operand) &&
            !std::count(named.begin(), named.end(), operand))
          named.push_back(operand);
      }
      if (named != last ||
          !std::all_of(last.begin(), last.end(), [&](size_t constant) {
            return isFirst[constant] && !needed[constant];
          }))
        continue;
      for (size_t constant : last)
        numbers[constant] = true;
      break;
    }
    before.clear();
  }
  return numbers;
}

void ValueNames::printScalars(TextLines &out) const {
  const std::vector<bool> numbers = findNumbers();
  for (size_t index = 0; index < nodes.size(); ++index) {
    const ScalarNode &node = nodes[index];
    if (numbers[index] || node.op() == ScalarOp::Argument)
      continue;
    const std::string name = scalars[index] + " = ";
    if (node.op() == ScalarOp::Constant) {
      out.line(name + "constant " + std::to_string(node.a()));
      continue;
    }
    const int inputs[] = {node.a(), node.b(), node.c()};
    std::string list;
    for (int k = 0; k < operandCount(node.op()); ++k) {
      const auto input = size_t(inputs[k]);
      list +=
          (k ? ", " : "") +
          (numbers[input] ? std::to_string(nodes[input].a()) : scalars[input]);
    }
    out.line(name + "scalar " + snakeCase(EnumNameScalarOp(node.op())) +
             (list.empty() ? "" : "(" + list + ")"));
  }
}

} // namespace wsec::runtime
