// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/ModuleNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace wsec;
using llvm::StringRef;

static bool isNumbered(StringRef name) {
  return name.consume_front("val_") && !name.empty() &&
         llvm::all_of(name, llvm::isDigit);
}

/// Of "['', 'layers.0', 'layers.0.q_proj', 'linear']", the last but one; empty
/// for what is no such list.
static std::string moduleOf(const NodeProto &node) {
  for (const StringStringEntryProto &entry : node.metadata_props()) {
    if (entry.key() != "pkg.torch.onnx.name_scopes")
      continue;
    llvm::SmallVector<StringRef> scopes;
    StringRef(entry.value()).trim("[]").split(scopes, ", ");
    if (scopes.size() < 2)
      return "";
    StringRef module = scopes[scopes.size() - 2].trim("'");
    return llvm::all_of(
               module,
               [](char c) { return llvm::isAlnum(c) || c == '.' || c == '_'; })
               ? module.str()
               : "";
  }
  return "";
}

ModuleNames wsec::moduleNames(const GraphProto &graph) {
  llvm::StringSet<> initializers;
  for (const TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  ModuleNames names;
  for (const NodeProto &node : graph.node()) {
    if ((node.op_type() != "MatMul" && node.op_type() != "Gemm") ||
        node.input_size() < 2 || !isNumbered(node.input(1)) ||
        !initializers.contains(node.input(1)))
      continue;
    const std::string module = moduleOf(node);
    const std::string name = module.empty() ? "" : module + ".weight";
    auto [known, isNew] = names.try_emplace(node.input(1), name);
    if (!isNew && known->second != name)
      known->second.clear();
  }
  std::map<std::string, unsigned> uses;
  for (const auto &[initializer, name] : names)
    ++uses[name];
  ModuleNames own;
  for (const auto &[initializer, name] : names)
    if (!name.empty() && uses[name] == 1 && !initializers.contains(name))
      own.try_emplace(initializer, name);
  return own;
}
