// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an error says there is too little of, for who could do with less.

#ifndef COMPILER_SHORTAGE_H
#define COMPILER_SHORTAGE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

#include <optional>

namespace wsec {

enum class Shortage {
  Sram,   ///< of a PE
  Colors, ///< for the streams of a program
  Place,  ///< for a region
  Paths,  ///< for words, whatever their color, or steps to search for them
};

/// Says it of an error; no text shows it. `code`: bytes of it in a PE, where
/// SRAM is short and they are known.
inline void setShortage(mlir::InFlightDiagnostic &error, Shortage what,
                        int64_t code = 0) {
  mlir::Diagnostic &diagnostic = *error.getUnderlyingDiagnostic();
  mlir::MLIRContext *context = diagnostic.getLocation().getContext();
  mlir::Builder builder(context);
  diagnostic.getMetadata().push_back(
      mlir::DiagnosticArgument(builder.getDictionaryAttr(
          {builder.getNamedAttr("shortage",
                                builder.getI32IntegerAttr(int32_t(what))),
           builder.getNamedAttr("code", builder.getI64IntegerAttr(code))})));
}

/// What setShortage said.
struct SaidShortage {
  Shortage what;
  int64_t code;
};

inline std::optional<SaidShortage> shortageOf(mlir::Diagnostic &diagnostic) {
  for (mlir::DiagnosticArgument &argument : diagnostic.getMetadata())
    if (argument.getKind() ==
        mlir::DiagnosticArgument::DiagnosticArgumentKind::Attribute)
      if (auto all =
              llvm::dyn_cast<mlir::DictionaryAttr>(argument.getAsAttribute()))
        if (auto what = all.getAs<mlir::IntegerAttr>("shortage"))
          return SaidShortage{Shortage(what.getInt()),
                              all.getAs<mlir::IntegerAttr>("code").getInt()};
  return std::nullopt;
}

} // namespace wsec

#endif // COMPILER_SHORTAGE_H
