// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/DiagnosticPrinter.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/program/NearestNames.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Format.h"
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

/// Bytes that are no UTF-8 as \NNN, which is how control characters come.
static std::string asUTF8(StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  while (!text.empty()) {
    const auto *bytes = text.bytes_begin();
    size_t size =
        std::min<size_t>(llvm::getNumBytesForUTF8(*bytes), text.size());
    if (llvm::isLegalUTF8Sequence(bytes, bytes + size)) {
      os << text.take_front(size);
    } else {
      size = 1;
      os << llvm::format("\\%03o", unsigned(*bytes));
    }
    text = text.drop_front(size);
  }
  return result;
}

/// The middle is left out of what is longer than `longest`; both ends and the
/// number of bytes stay.
static std::string shortened(StringRef text, size_t longest) {
  if (text.size() <= longest)
    return text.str();
  return (text.take_front(longest / 2) + " ... (" + Twine(text.size()) +
          " bytes) ... " + text.take_back(longest / 4))
      .str();
}

/// Whether a piece of a line that begins with a quote, or with the line, is
/// what stands between names: the quote ends one.
static bool isProse(StringRef piece) {
  return piece.size() < 2 || !StringRef("'\"").contains(piece.front()) ||
         StringRef(" ,.;:)]").contains(piece[1]);
}

/// A quote may end a name or begin one, and be part of it: what comes after
/// one is a name unless it reads on like prose.
static std::string withShortNames(StringRef line) {
  constexpr size_t longestName = 200, longestLine = 2000;
  std::string result;
  for (size_t at = 0; at < line.size();) {
    size_t next = line.find_first_of("'\"", at + 1);
    StringRef piece = line.slice(at, next);
    result += isProse(piece) ? piece.str() : shortened(piece, longestName + 1);
    at = std::min(next, line.size());
  }
  return shortened(result, longestLine);
}

std::string wsec::printableMessage(StringRef message) {
  SmallVector<StringRef> pieces;
  message.split(pieces, '\n');
  std::string result;
  for (auto [index, piece] : llvm::enumerate(pieces)) {
    if (index > 0)
      result += piece.starts_with("  ") ? "\n" : "\\n";
    result += withShortNames(piece);
  }
  return runtime::printable(asUTF8(result));
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  errorCount += diagnostic.getSeverity() == DiagnosticSeverity::Error;
  std::string where = describeLocation(diagnostic.getLocation());
  os << severityName(diagnostic.getSeverity()) << ": ";
  if (!where.empty())
    os << printableMessage(where) << ": ";
  os << printableMessage(diagnostic.str()) << "\n";
  // Of what a call was replaced by, the call, too.
  auto call = dyn_cast<CallSiteLoc>(LocationAttr(diagnostic.getLocation()));
  while (call) {
    os << "note: " << printableMessage(describeLocation(call.getCaller()))
       << ": called from here\n";
    call = dyn_cast<CallSiteLoc>(LocationAttr(call.getCaller()));
  }
  for (Diagnostic &note : diagnostic.getNotes())
    print(note);
}
