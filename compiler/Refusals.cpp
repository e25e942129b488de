// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Refusals.h"
#include "dialects/onnx/Onnx.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace wsec;

/// A reason without its numbers: every run of digits is one '#'.
static std::string withoutNumbers(StringRef reason) {
  std::string kind;
  for (char c : reason) {
    if (!llvm::isDigit(c))
      kind += c;
    else if (kind.empty() || kind.back() != '#')
      kind += '#';
  }
  return kind;
}

/// Rather than "without a name".
static bool isName(StringRef where) { return where.starts_with("'"); }

size_t Refusals::add(const Twine &reason, StringRef noun, const Twine &where) {
  std::string text = reason.str();
  auto [place, isNew] =
      known.try_emplace(noun.str() + "\n" + withoutNumbers(text), kinds.size());
  if (isNew)
    kinds.push_back({text, noun.str(), false, {}, 0, {}});
  Kind &kind = kinds[place->second];
  kind.varies |= kind.reason != text;
  // A node is several operations by the time one of them is refused.
  if (std::string name = where.str();
      !isName(name) || kind.named.insert(name).second)
    kind.where.push_back(name);
  return place->second;
}

void Refusals::add(const Twine &line) {
  kinds.push_back({line.str(), "", false, {}, 0, {}});
}

static std::string nameOf(Operation *op) {
  auto node = op->getAttrOfType<StringAttr>("node");
  if (node && !node.getValue().empty())
    return "'" + node.str() + "'";
  if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
    return "'" + name.getName().str() + "'";
  if (auto position = op->getLoc()->findInstanceOf<FileLineColLoc>())
    return "at line " + std::to_string(position.getLine());
  return "without a name";
}

static StringRef nounOf(Operation *op) {
  if (isa<onnx::ConstantOp>(op))
    return "tensor";
  return isa_and_nonnull<onnx::OnnxDialect>(op->getDialect()) ? "node"
                                                              : "operation";
}

void Refusals::refuse(Operation *op, const Twine &reason, StringRef subject) {
  if (op->getNumResults() && isRefused(op->getResult(0)))
    return;
  size_t kind =
      add(subject.empty() ? reason.str() : (subject + ": " + reason).str(),
          nounOf(op), nameOf(op));
  for (Value result : op->getResults())
    causes.try_emplace(result, kind);
}

void Refusals::refuseInput(Value input, const Twine &reason, StringRef name) {
  causes.try_emplace(input, add(reason, "input", "'" + name + "'"));
}

bool Refusals::countConsequence(Operation *op) {
  for (Value operand : op->getOperands()) {
    auto cause = causes.find(operand);
    if (cause == causes.end())
      continue;
    size_t kind = cause->second;
    if (std::string name = nameOf(op);
        !isName(name) || kinds[kind].named.insert(name).second)
      ++kinds[kind].consequences;
    for (Value result : op->getResults())
      causes.try_emplace(result, kind);
    return true;
  }
  return false;
}

static std::string counted(size_t count, StringRef noun) {
  return std::to_string(count) + " " + noun.str() + (count == 1 ? "" : "s");
}

std::string Refusals::text(const Kind &kind) {
  if (kind.where.empty())
    return kind.reason;
  constexpr size_t mostNamed = 3;
  auto [wrong, remedy] = StringRef(kind.reason).split("; ");
  std::string line = wrong.str() + ": ";
  const size_t count = kind.where.size();
  if (count == 1) {
    line += kind.noun + " " + kind.where.front();
  } else {
    line += counted(count, kind.noun);
    if (kind.varies)
      line += " with these or other numbers";
    if (count > mostNamed)
      line += ", the first is " + kind.where.front();
    else
      line += ", " + llvm::join(ArrayRef(kind.where).drop_back(), ", ") +
              " and " + kind.where.back();
  }
  if (kind.consequences)
    line += ", and " +
            counted(kind.consequences,
                    kind.noun == "operation" ? kind.noun : "node") +
            " that " + (kind.consequences == 1 ? "needs " : "need ") +
            (count == 1 ? "it" : "them");
  return remedy.empty() ? line : line + "; " + remedy.str();
}

LogicalResult Refusals::report(MLIRContext *context) const {
  for (const Kind &kind : kinds)
    emitError(UnknownLoc::get(context))
        << (headline.empty() ? "" : headline + ": ") << text(kind);
  return success(empty());
}

std::string Refusals::operatorName(Operation *op) {
  if (auto node = dyn_cast<onnx::NodeOp>(op)) {
    std::string name = node.getOpType().str();
    if (!node.getDomain().empty())
      name += " of " + node.getDomain().str();
    return name;
  }
  if (auto unary = dyn_cast<onnx::UnaryOp>(op))
    return stringifyEnum(unary.getKind()).str();
  if (auto binary = dyn_cast<onnx::BinaryOp>(op))
    return stringifyEnum(binary.getKind()).str();
  if (auto reduce = dyn_cast<onnx::ReduceOp>(op))
    return ("reduce " + stringifyEnum(reduce.getKind())).str();
  if (isa_and_nonnull<onnx::OnnxDialect>(op->getDialect()))
    return llvm::join(llvm::split(op->getName().stripDialect(), '_'), " ");
  return op->getName().getStringRef().str();
}
