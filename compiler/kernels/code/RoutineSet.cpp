// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/code/RoutineSet.h"

#include "compiler/kernels/Kernel.h"
#include "dialects/onnx/Lengths.h"
#include "dialects/wse/InherentAttributes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace wsec;

RoutineParts RoutineSet::findOrInsert(const RoutineParts &parts) {
  llvm::hash_code hash = 0;
  for (pe::RoutineOp part : parts)
    hash = llvm::hash_combine(hash, hashOf(part));
  auto &candidates = byHash[hash];
  for (size_t candidate : candidates)
    if (llvm::equal(
            routines[candidate], parts, [](pe::RoutineOp a, pe::RoutineOp b) {
              return a->getParentOp() == b->getParentOp() && doTheSame(a, b);
            }))
      return routines[candidate];
  candidates.push_back(routines.size());
  routines.push_back(parts);
  return parts;
}

/// Resident weights lie where the kernel looks for them, as it reads them.
static LogicalResult checkResidents(wse::KernelOp kernel,
                                    const Kernel &library) {
  for (wse::WeightAttr weight : wse::allWeights(kernel)) {
    wse::ParameterOp parameter = wse::residentOf(kernel, weight);
    if (!parameter)
      continue;
    std::optional<HeldWeight> held =
        library.held(kernel, library.variantOf(kernel), weight,
                     wse::regionOf(kernel).machine());
    auto error = [&] {
      InFlightDiagnostic diagnostic = kernel.emitOpError("reads ")
                                      << weight.getTensor();
      diagnostic.attachNote(parameter.getLoc()) << "it is resident here";
      return diagnostic;
    };
    if (!held)
      return error() << ", which is resident, and can only stream it";
    if (parameter.getHome() != kernel.getRegionRef() ||
        parameter.getHeldType() != held->type)
      return error() << ", which is resident on " << parameter.getHome()
                     << " as " << parameter.getHeldType() << ", expected "
                     << held->type << " on " << kernel.getRegionRef();
    const SmallVector<int64_t> strides =
        held->all(kernel, weight).viewStrides();
    if (weight.getViewOffset() != 0 ||
        llvm::ArrayRef<int64_t>(strides) !=
            llvm::ArrayRef<int64_t>(held->strides))
      return error() << " at " << weight.getViewOffset() << " with strides ["
                     << strides << "], expected 0 and [" << held->strides
                     << "]: all of what is resident";
  }
  return success();
}

FailureOr<StringAttr>
RoutineSet::write(wse::KernelOp kernel,
                  ArrayRef<std::unique_ptr<RoutineBuilder>> code) {
  const Kernel *library = findKernel(kernel);
  if (!library)
    return kernel.emitOpError("has no kernel that runs it");
  if (failed(checkResidents(kernel, *library)))
    return failure();
  RoutineParts own;
  for (const std::unique_ptr<RoutineBuilder> &part : code) {
    if (failed(library->lower(kernel, *part)) || failed(part->finish()))
      return failure();
    own.push_back(part->getRoutine());
  }
  RoutineParts shared = findOrInsert(own);
  StringAttr name = shared.front().getSymNameAttr();
  if (shared.front() != own.front())
    for (pe::RoutineOp part : own)
      part.erase();
  return name;
}

RoutineCalls RoutineSet::merge(wse::ProgramOp source, ClassSet &classes,
                               Carried carried) {
  return mergeRoutines(source, classes, routines, carried);
}

SmallVector<std::unique_ptr<RoutineBuilder>>
wsec::routineBuilders(wse::KernelOp kernel, ClassSet &classes, StringRef name) {
  return llvm::map_to_vector(
      classes.takingPart(kernel), [&](ClassBuilder *each) {
        return std::make_unique<RoutineBuilder>(*each, kernel, name);
      });
}

FailureOr<SmallVector<EntryKernels>>
wsec::entriesInOrder(wse::ProgramOp scheduled) {
  SmallVector<EntryKernels> entries;
  for (Block *block : scheduled.entryBlocks()) {
    SmallVector<std::pair<int64_t, wse::KernelOp>> bySlot;
    for (wse::KernelOp kernel : block->getOps<wse::KernelOp>()) {
      const std::optional<int64_t> slot = kernel.getTimeSlot();
      if (!slot || !kernel.getStreamRefs() || !wse::regionOf(kernel).isPlaced())
        return kernel.emitOpError(
            "lacks its slot, its streams or the place of its region");
      bySlot.emplace_back(*slot, kernel);
    }
    llvm::sort(bySlot, llvm::less_first());
    if (!bySlot.empty())
      entries.emplace_back(llvm::make_second_range(bySlot));
  }
  return entries;
}

/// What of an attribute code can depend on: of weights that stream their form.
static Attribute withoutPlaces(wse::KernelOp kernel, Attribute attribute) {
  MLIRContext *context = kernel.getContext();
  if (auto list = dyn_cast<ArrayAttr>(attribute))
    return ArrayAttr::get(context,
                          llvm::map_to_vector(list, [&](Attribute each) {
                            return withoutPlaces(kernel, each);
                          }));
  auto weight = dyn_cast<wse::WeightAttr>(attribute);
  if (!weight || wse::residentOf(kernel, weight))
    return attribute;
  // Bits, blocks and scales decide how they are expanded.
  if (onnx::QuantizedAttr packed = wse::quantizedOf(kernel, weight))
    return ArrayAttr::get(context, {weight, packed});
  return ArrayAttr::get(
      context, {TypeAttr::get(weight.getType()),
                DenseI64ArrayAttr::get(context, weight.viewStrides())});
}

/// Equal for kernels whose routines are equal: all that is said of one but
/// names, times, and where in the store words lie. Null where it has a body,
/// whose instructions say more.
static Attribute codeKey(wse::KernelOp kernel) {
  if (kernel->getNumRegions() > 0 || kernel->hasAttr(onnx::lengthPartsAttrName))
    return {};
  Builder builder(kernel.getContext());
  SmallVector<Attribute> parts{
      builder.getStringAttr(kernel->getName().getStringRef())};
  for (Value operand : kernel->getOperands()) {
    parts.push_back(TypeAttr::get(operand.getType()));
    auto producer = operand.getDefiningOp<wse::KernelOp>();
    if (!producer)
      return {}; // an argument of an entry
    parts.push_back(producer.getRegionRef());
    parts.push_back(
        builder.getI64IntegerAttr(producer.getResultAddress().value_or(-1)));
    parts.push_back(
        builder.getI64IntegerAttr(cast<OpResult>(operand).getResultNumber()));
  }
  for (Type type : kernel->getResultTypes())
    parts.push_back(TypeAttr::get(type));
  for (NamedAttribute attribute : wse::inherentAttributes(kernel)) {
    static constexpr StringLiteral ofReports[] = {"nodes", "slot", "window",
                                                  "flows"};
    if (llvm::is_contained(ofReports, attribute.getName().getValue()) ||
        findKernel(kernel)->isPlace(attribute))
      continue;
    parts.push_back(attribute.getName());
    parts.push_back(withoutPlaces(kernel, attribute.getValue()));
  }
  return builder.getArrayAttr(parts);
}

static int64_t mostCode(const ClassSet &classes) {
  int64_t most = 0;
  for (const std::unique_ptr<ClassBuilder> &each : classes.all())
    most = std::max(most, pe::codeBytes(each->peClass));
  return most;
}

FailureOr<CodeBytes> wsec::codeBytes(wse::ProgramOp scheduled) {
  auto entries = entriesInOrder(scheduled);
  if (failed(entries))
    return failure();
  OwningOpRef<ModuleOp> dropped = ModuleOp::create(scheduled.getLoc());
  auto builder = OpBuilder::atBlockEnd(dropped->getBody());
  ProgramBuilder shared(scheduled, /*launchColor=*/0, builder);
  ClassSet classes(shared, scheduled);
  RoutineSet routines;
  llvm::DenseSet<Attribute> written; // looked up only
  for (const EntryKernels &kernels : *entries)
    for (wse::KernelOp kernel : kernels) {
      const Attribute key = codeKey(kernel);
      if (key && !written.insert(key).second)
        continue;
      if (failed(routines.write(
              kernel,
              routineBuilders(kernel, classes, shared.freshSymbol("routine")))))
        return failure();
    }
  const Carried carried = carriedIn(scheduled);
  const RoutineCalls calls = routines.merge(scheduled, classes, carried);
  CodeBytes code{mostCode(classes), std::nullopt};
  // As long as none is merged, all are there to be merged by address.
  if (carried == Carried::StateAddresses && calls.empty()) {
    routines.merge(scheduled, classes, Carried::Addresses);
    code.carried = mostCode(classes);
  }
  return code;
}
