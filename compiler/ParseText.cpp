// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/ParseText.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

#include <optional>

using namespace mlir;

/// The dialect whose operation, type or attribute a parser did not know at
/// `place`; empty if none is written there.
static StringRef dialectAt(StringRef text, FileLineColLoc place) {
  for (unsigned line = 1; line < place.getLine(); ++line)
    text = text.split('\n').second;
  text = text.split('\n').first;
  auto [before, name] = std::pair(text.take_front(place.getColumn() - 1),
                                  text.substr(place.getColumn() - 1));
  // The generic form, "dialect.operation"(...), is known behind its name, and
  // a type, !dialect.name, in it.
  if (name.starts_with("("))
    name = before.rtrim("\" ").rsplit('"').second;
  else if (before.ends_with("."))
    name = before.substr(before.find_last_of("!#") + 1);
  auto [dialect, rest] = name.ltrim("!#\"").split('.');
  return llvm::all_of(dialect,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; })
             ? dialect
             : StringRef();
}

OwningOpRef<ModuleOp>
wsec::parseText(const std::shared_ptr<llvm::SourceMgr> &sources,
                MLIRContext &context) {
  std::optional<FileLineColLoc> place;
  StringRef foreign;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      std::string said = diagnostic.str();
      place = dyn_cast<FileLineColLoc>(diagnostic.getLocation());
      if (!place || (!StringRef(said).contains("unregistered dialect") &&
                     !StringRef(said).contains("not found for custom op")))
        return failure();
      foreign = dialectAt(sources->getMemoryBuffer(1)->getBuffer(), *place);
      return success(!foreign.empty());
    });
    module = parseSourceFile<ModuleOp>(sources, &context);
  }
  if (!foreign.empty())
    emitError(*place)
        << "wsec does not read the dialect '" << foreign
        << "'; it reads .onnx files, linalg on tensors (as torch-mlir writes "
           "it, and stablehlo-opt with --stablehlo-legalize-to-linalg) and its "
           "own dialects onnx, wse and pe";
  return module;
}

std::optional<std::string> wsec::askedOfModel(StringRef input,
                                              const ImportOptions &options) {
  auto says = [&](StringRef flags, StringRef what) {
    return (flags + " an .onnx file; '" + input + "' has its " + what).str();
  };
  if (!options.shapes.empty() || !options.dims.empty() ||
      !options.bindings.empty())
    return says("--shape, --dim and --bind bind the inputs of", "shapes");
  if (!options.entries.empty() || !options.states.empty() ||
      options.statesByName || options.kvCapacity || options.addedEntries())
    return says("--entry, --state, --states, --initial-states, "
                "--reorder-states and --kv-capacity are about",
                "entries and states");
  if (!options.train.empty() || !options.freeze.empty())
    return says("--train and --freeze name initializers of", "parameters");
  return std::nullopt;
}
