// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/ModuleReport.h"
#include "compiler/differentiate/Passes.h"
#include "compiler/values/OnnxValues.h"
#include "dialects/wse/Wse.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace wsec;

/// The shapes that `select` compared, if it did.
static std::vector<ShapeReport> readShapes(ModuleOp module) {
  std::vector<ShapeReport> shapes;
  auto candidates = module->getAttrOfType<ArrayAttr>(wse::candidatesAttrName);
  if (!candidates)
    return shapes;
  for (auto candidate : candidates.getAsRange<DictionaryAttr>()) {
    auto shape = candidate.getAs<DenseI64ArrayAttr>("shape");
    auto cycles = candidate.getAs<FloatAttr>("cycles");
    auto fits = candidate.getAs<BoolAttr>("fits");
    if (shape && shape.size() == 2 && cycles && fits)
      shapes.push_back(
          {shape[0], shape[1], cycles.getValueAsDouble(), fits.getValue()});
  }
  return shapes;
}

/// The nodes that `canonicalize` gave a reason for not recognizing.
static std::vector<UnrecognizedNode> readUnrecognized(ModuleOp module) {
  std::vector<UnrecognizedNode> nodes;
  auto reasons = module->getAttrOfType<ArrayAttr>(values::unrecognizedAttrName);
  if (!reasons)
    return nodes;
  for (auto pair : reasons.getAsRange<ArrayAttr>())
    if (pair.size() == 2 && isa<StringAttr>(pair[0]) &&
        isa<StringAttr>(pair[1]))
      nodes.push_back(
          {cast<StringAttr>(pair[0]).str(), cast<StringAttr>(pair[1]).str()});
  return nodes;
}

/// What trains, and of the rest why it does not.
static void noteWhatTrains(ModuleOp module, Report &report) {
  auto all =
      module->getAttrOfType<ArrayAttr>(differentiate::whatTrainsAttrName);
  if (!all)
    return;
  llvm::MapVector<StringRef, SmallVector<std::string>> byReason;
  for (auto parameter : all.getAsRange<ArrayAttr>()) {
    StringRef name = cast<StringAttr>(parameter[0]).getValue();
    StringRef reason = cast<StringAttr>(parameter[1]).getValue();
    StringRef module = cast<StringAttr>(parameter[2]).getValue();
    byReason[reason].push_back(
        ("'" + name + "'" + (module.empty() ? "" : " (" + module + ")")).str());
    report.whatTrains.push_back({name.str(), reason.str(), module.str()});
  }
  report.notes.push_back(std::to_string(byReason[""].size()) + " of " +
                         std::to_string(all.size()) + " parameters train");
  for (const auto &[reason, names] : byReason)
    if (!reason.empty())
      report.notes.push_back("do not train (" + reason.str() +
                             "): " + llvm::join(names, ", "));
  if (auto notes =
          module->getAttrOfType<ArrayAttr>(differentiate::notesAttrName))
    for (auto note : notes.getAsRange<StringAttr>())
      report.notes.push_back(note.str());
}

std::optional<double> wsec::cyclesOfBestShape(ModuleOp module) {
  std::optional<double> best;
  for (const ShapeReport &shape : readShapes(module))
    if (shape.fitsSram && (!best || shape.cycles < *best))
      best = shape.cycles;
  return best;
}

void wsec::addWhatPassesSay(ModuleOp module, bool allowF64AsF32,
                            Report &report) {
  report.shapes = readShapes(module);
  report.unrecognized = readUnrecognized(module);
  noteWhatTrains(module, report);
  if (auto nodes = module->getAttrOfType<IntegerAttr>(values::f64AsF32AttrName))
    report.notes.push_back(
        std::to_string(nodes.getInt()) + " nodes of float64 compute in f32, " +
        (allowF64AsF32 ? "as --allow-f64-as-f32 says"
                       : "whose operands the model widened from less"));
}

void wsec::noteResidency(Report &report, int64_t samples) {
  if (report.regions.size() == 1 && !report.hasCalls)
    report.notes.push_back(
        samples ? "one stage: no cut of the model, if there is any, is "
                  "predicted to have all of --samples=" +
                      std::to_string(samples) + " done sooner"
                : "one stage: the model has no place where it can be cut in "
                  "two whose parts the mesh holds side by side; a larger "
                  "--mesh may");
  if (report.streamedBytes > 0)
    report.notes.push_back(
        std::to_string(report.streamedBytes) +
        (report.hasCalls
             ? " bytes of weights stream in a call: their kernel cannot keep "
               "them"
             : " bytes of weights stream in every run: their stage has no SRAM "
               "for them, or their kernel cannot keep them; a larger --mesh "
               "may"));
}
