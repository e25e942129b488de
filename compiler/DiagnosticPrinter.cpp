// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/DiagnosticPrinter.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace wsec;

static void collectSources(Location location,
                           llvm::SmallSetVector<StringRef, 4> &sources,
                           std::string &position) {
  llvm::TypeSwitch<LocationAttr>(location)
      .Case<NameLoc>([&](NameLoc name) { sources.insert(name.getName()); })
      .Case<FusedLoc>([&](FusedLoc fused) {
        for (Location part : fused.getLocations())
          collectSources(part, sources, position);
      })
      .Case<CallSiteLoc>([&](CallSiteLoc call) {
        collectSources(call.getCallee(), sources, position);
      })
      .Case<FileLineColLoc>([&](FileLineColLoc file) {
        position = (file.getFilename().strref() + ":" + Twine(file.getLine()) +
                    ":" + Twine(file.getColumn()))
                       .str();
      });
}

std::string wsec::describeLocation(Location location) {
  llvm::SmallSetVector<StringRef, 4> sources;
  std::string position;
  collectSources(location, sources, position);
  // A fused kernel may stand for many nodes; a few tell where to look.
  constexpr size_t shown = 4;
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(sources.getArrayRef().take_front(shown), os,
                        [&](StringRef source) { os << "'" << source << "'"; });
  if (sources.size() > shown)
    os << " and " << sources.size() - shown << " more";
  return text.empty() ? position : text;
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context, raw_ostream &os)
    : ScopedDiagnosticHandler(&context), os(os) {
  context.printOpOnDiagnostic(false);
  context.printStackTraceOnDiagnostic(false);
  setHandler([this](Diagnostic &diagnostic) { print(diagnostic); });
}

static StringRef severityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  return "";
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  errorCount += diagnostic.getSeverity() == DiagnosticSeverity::Error;
  std::string where = describeLocation(diagnostic.getLocation());
  os << severityName(diagnostic.getSeverity()) << ": ";
  if (!where.empty())
    os << where << ": ";
  os << diagnostic << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    print(note);
}
