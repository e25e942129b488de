// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of WseProgramOps.td. Labels (C1, C2, ...) are those of the
// descriptions there.

#include "dialects/StridedRange.h"
#include "dialects/wse/WseChecks.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

//===----------------------------------------------------------------------===//
// wse.program
//===----------------------------------------------------------------------===//

StringRef ProgramOp::getDefaultDialect() { return "wse"; }

Machine ProgramOp::targetMachine() {
  std::string error;
  Machine machine = *machineFromDescription(getMachine(), error);
  machine.width = int(meshWidth());
  machine.height = int(meshHeight());
  for (KeepOutOp keepOut : keepOuts())
    machine.keepOuts.push_back({int(keepOut.getX()), int(keepOut.getY()),
                                int(keepOut.columns()), int(keepOut.rows())});
  return machine;
}

LogicalResult ProgramOp::verify() {
  // (C1)
  std::string error;
  std::optional<Machine> machine = machineFromDescription(getMachine(), error);
  if (!machine)
    return emitOpError() << error;
  if (getMesh().size() != 2)
    return emitOpError("mesh needs columns and rows");
  if (meshWidth() < 1 || meshHeight() < 1 ||
      meshWidth() > machine->fabricWidth ||
      meshHeight() > machine->fabricHeight)
    return emitOpError("mesh ")
           << meshWidth() << "x" << meshHeight() << " does not fit the fabric "
           << "of " << machine->fabricWidth << "x" << machine->fabricHeight;
  return success();
}

/// (C3) of wse.program.
static LogicalResult verifyAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (!attribute.getName().getValue().contains('.'))
      return op->emitOpError("has no attribute '")
             << attribute.getName().getValue() << "'";
  return success();
}

/// (C2) What computes, computes in f32.
static LogicalResult verifyElement(Operation *op, RankedTensorType type) {
  bool anyType = isa<LoadOp, GatherOp, StoreOp, ElementwiseOp, RedistributeOp,
                     ReduceTokensOp, RunningSumOp, TopKOp, TransferOp, UpdateOp,
                     RecallOp, StateOp>(op);
  if (!anyType && type.getElementType().isInteger())
    return op->emitOpError("computes in f32, found ") << type;
  return success();
}

/// (C10) Kernels count the tokens of rows from north to south.
static LogicalResult verifyOrder(Operation *op, TokenTiling tiling) {
  if (!tiling.isCyclic() || isa<StateOp, RecallOp, UpdateOp, StoreOp>(op))
    return success();
  return op->emitOpError("has tokens that rows take in turn, which only a "
                         "state has, and what is recalled of one; update, "
                         "store and cached_attention read them");
}

LogicalResult wse::verifyFits(Operation *op, RankedTensorType type,
                              RegionOp region) {
  const int64_t columns = region.columns(), rows = region.rows();
  const char *const note = "the region is here";
  TokenTiling tiling = TokenTiling::of(type);
  if (failed(verifyElement(op, type)) || failed(verifyOrder(op, tiling)))
    return failure();
  // (C6) of DistAttr
  const int64_t most = std::max<int64_t>(tiling.group(rows), 1);
  if (tiling.getCopies() > most)
    return withNote(op->emitOpError("encoding has copies in ")
                        << tiling.getCopies() << " rows; each of "
                        << tiling.getBatch() << " batch elements has " << most
                        << " of the " << rows << " rows of the region",
                    region, note);
  int64_t headColumns = tiling.getHeadColumns();
  if (headColumns > 1 &&
      featuresOf(type) / tiling.getHeadSize() > columns / headColumns)
    return withNote(op->emitOpError("encoding has ")
                        << featuresOf(type) / tiling.getHeadSize()
                        << " heads of " << headColumns
                        << " columns each, the region has " << columns,
                    region, note);
  return success();
}

/// (C2) The values of a kernel on its region.
static LogicalResult verifyValues(Operation *op, RegionOp region) {
  for (Value operand : op->getOperands())
    if (failed(verifyOrder(op, TokenTiling::of(operand.getType()))))
      return failure();
  for (Value result : op->getResults())
    if (failed(verifyFits(op, tensorOf(result), region)))
      return failure();
  return success();
}

namespace {
/// The inputs, intermediates and parameters of a program, by name.
using Tensors = llvm::DenseMap<StringAttr, RankedTensorType>;
} // namespace

static Tensors tensorsOf(ProgramOp program) {
  Tensors tensors;
  for (Operation &op : program.bodyBlock()) {
    if (auto input = dyn_cast<InputOp>(op))
      tensors[input.getSymNameAttr()] = cast<RankedTensorType>(input.getType());
    else if (auto passing = dyn_cast<IntermediateOp>(op))
      tensors[passing.getSymNameAttr()] =
          cast<RankedTensorType>(passing.getType());
    else if (auto parameter = dyn_cast<ParameterOp>(op))
      tensors[parameter.getSymNameAttr()] = parameter.getTensorType();
  }
  return tensors;
}

/// (C2) of #wse.weight: a view of a tensor of the program stays inside of it.
static LogicalResult verifyView(Operation *op, WeightAttr weight,
                                const Tensors &tensors) {
  RankedTensorType type = tensors.lookup(weight.getTensor().getAttr());
  if (!type)
    return op->emitOpError("refers to ")
           << weight.getTensor()
           << ", which is no input, intermediate or parameter";
  // That it can be counted was verified with the attribute.
  auto [first, last] =
      *touchedElements(weight.getType().getShape(), weight.getViewOffset(),
                       weight.viewStrides());
  if (weight.getType().getElementType() != type.getElementType())
    return withDeclaration(op->emitOpError("reads ")
                               << weight.getTensor() << " as "
                               << weight.getType().getElementType()
                               << ", which holds " << type.getElementType(),
                           op, weight.getTensor());
  if (first >= 0 && last < type.getNumElements())
    return success();
  return withDeclaration(op->emitOpError("reads elements ")
                             << first << " to " << last << " of the "
                             << type.getNumElements() << " of "
                             << weight.getTensor(),
                         op, weight.getTensor());
}

/// What the kernel reads and writes of tensors of the program fits them.
static LogicalResult verifyTensors(Operation *op, const Tensors &tensors) {
  for (WeightAttr weight : allWeights(op))
    if (failed(verifyView(op, weight, tensors)))
      return failure();
  auto store = dyn_cast<StoreOp>(op);
  RankedTensorType type =
      store ? tensors.lookup(store.getOutputAttr()) : RankedTensorType();
  // (C3) of wse.store
  if (type && type != store.getType())
    return withDeclaration(op->emitOpError("stores ")
                               << store.getType() << " to '"
                               << store.getOutput() << "', which is " << type,
                           op, FlatSymbolRefAttr::get(store.getOutputAttr()));
  return success();
}

/// Whether two intervals have something in common.
static bool cover(int64_t a, int64_t lengthA, int64_t b, int64_t lengthB) {
  return a < b + lengthB && b < a + lengthA;
}

/// (C5) Of a region that a kernel is the first to use.
static LogicalResult
verifyDisjoint(KernelOp kernel, RegionOp region,
               ArrayRef<std::pair<RegionOp, KernelOp>> others) {
  for (auto [placed, user] : others) {
    RegionOp other = placed;
    if (!region.isPlaced() || !other.isPlaced() ||
        !cover(*region.getX(), region.columns(), *other.getX(),
               other.columns()) ||
        !cover(*region.getY(), region.rows(), *other.getY(), other.rows()))
      continue;
    InFlightDiagnostic error = kernel.emitOpError("is on @")
                               << region.getSymName()
                               << ", which has PEs in common with @"
                               << other.getSymName();
    error.attachNote(user.getLoc())
        << "a kernel on @" << other.getSymName() << " is here";
    return error;
  }
  return success();
}

/// (C5) The same of what is kept free.
static LogicalResult verifyKeepsOut(KernelOp kernel, RegionOp region,
                                    ArrayRef<KeepOutOp> keepOuts) {
  for (KeepOutOp op : keepOuts) {
    KeepOutOp keepOut = op;
    if (region.isPlaced() &&
        cover(*region.getX(), region.columns(), keepOut.getX(),
              keepOut.columns()) &&
        cover(*region.getY(), region.rows(), keepOut.getY(), keepOut.rows()))
      return withNote(kernel.emitOpError("is on @")
                          << region.getSymName()
                          << ", which has PEs that nothing may use",
                      keepOut, "they are kept out here");
  }
  return success();
}

/// (C6)
static LogicalResult verifyOperandRegions(KernelOp kernel) {
  if (isa<TransferOp>(*kernel))
    return success(); // (C1) of wse.transfer
  for (Value operand : kernel->getOperands()) {
    auto producer = dyn_cast_or_null<KernelOp>(operand.getDefiningOp());
    if (!producer || producer.getRegionRef() == kernel.getRegionRef())
      continue;
    return withMaker(kernel.emitOpError("is on ")
                         << kernel.getRegionRef() << ", its operand on "
                         << producer.getRegionRef()
                         << "; a transfer would bring it here",
                     operand);
  }
  return success();
}

namespace {
/// What the kernels of a program are held against.
struct ProgramChecks {
  explicit ProgramChecks(ProgramOp program)
      : tensors(tensorsOf(program)), keepOuts(program.keepOuts()) {}

  LogicalResult verifyKernel(KernelOp kernel);
  LogicalResult verifyResident(ParameterOp parameter) {
    return verifyView(parameter, parameter.getView(), tensors);
  }

private:
  const Tensors tensors;
  const llvm::SmallVector<KeepOutOp, 4> keepOuts;
  llvm::SmallVector<std::pair<RegionOp, KernelOp>> used; // and who uses it
};
} // namespace

LogicalResult ProgramChecks::verifyKernel(KernelOp kernel) {
  auto known = llvm::find_if(used, [&](auto &entry) {
    return entry.second.getRegionRef() == kernel.getRegionRef();
  });
  RegionOp region = known == used.end() ? regionOf(kernel) : known->first;
  // (C4)
  if (!region)
    return kernel.emitOpError("is on ")
           << kernel.getRegionRef() << ", which is no region";
  if (known == used.end()) {
    if (failed(verifyDisjoint(kernel, region, used)) ||
        failed(verifyKeepsOut(kernel, region, keepOuts)))
      return failure();
    used.push_back({region, kernel});
  }
  // (C2)
  if (failed(verifyValues(kernel, region)) ||
      failed(verifyOperandRegions(kernel)))
    return failure();
  return verifyTensors(kernel, tensors);
}

/// (C7)
static LogicalResult verifyFilled(ProgramOp program,
                                  ArrayRef<KernelOp> kernels) {
  llvm::DenseMap<Attribute, FillOp> filled;
  for (KernelOp kernel : kernels)
    if (auto fill = dyn_cast<FillOp>(*kernel))
      if (auto [first, isNew] = filled.insert({fill.getParameterAttr(), fill});
          !isNew)
        return withNote(fill.emitOpError("fills ")
                            << fill.getParameterAttr() << " a second time",
                        first->second, "it is filled here already");
  for (ParameterOp parameter : program.residents())
    if (!filled.contains(FlatSymbolRefAttr::get(parameter)))
      return parameter.emitOpError("is resident on ")
             << parameter.getHome() << ", and nothing fills it";
  return success();
}

/// (C8)
static LogicalResult verifyGradients(ProgramOp program,
                                     ArrayRef<KernelOp> kernels) {
  auto declared = llvm::to_vector(program.getOps<GradientOp>());
  if (declared.empty())
    return success();
  llvm::DenseMap<Attribute, Operation *> outputs, gradients;
  for (KernelOp kernel : kernels)
    if (StringAttr written = tensorWritten(kernel))
      outputs[written] = kernel;
  for (auto alias : program.getOps<AliasOp>())
    outputs[alias.getOutputAttr()] = alias;
  for (auto passing : program.getOps<IntermediateOp>())
    outputs.erase(passing.getSymNameAttr());
  for (GradientOp gradient : declared) {
    Attribute name = gradient.getOutputAttr();
    if (auto [first, isNew] = gradients.insert({name, gradient}); !isNew)
      return withNote(gradient.emitOpError("declares ")
                          << name << " a second time",
                      first->second, "it is declared here already");
    Operation *output = outputs.lookup(name);
    if (!output)
      return gradient.emitOpError("is made of ")
             << name << ", which is no output of a kernel";
    if (output->getAttr("type") != gradient.getTypeAttr())
      return withNote(gradient.emitOpError("is made of ")
                          << name << " as " << gradient.getType(),
                      output, "it is stored here as another type");
  }
  return success();
}

namespace {
/// (C9) What stands before what.
enum class Rank { None, Resident, FewBits, Parameter, Kernel };
} // namespace

static Rank rankOf(Operation &op) {
  if (auto parameter = dyn_cast<ParameterOp>(op))
    return parameter.isResident()     ? Rank::Resident
           : parameter.getQuantized() ? Rank::FewBits
                                      : Rank::Parameter;
  return isa<KernelOp, EntryOp>(op) ? Rank::Kernel : Rank::None;
}

SmallVector<ParameterOp, 4> ProgramOp::residents() {
  SmallVector<ParameterOp, 4> residents;
  for (Operation &op : bodyBlock()) {
    const Rank rank = rankOf(op);
    if (rank > Rank::Resident)
      break;
    if (rank == Rank::Resident)
      residents.push_back(cast<ParameterOp>(op));
  }
  return residents;
}

onnx::QuantizedAttr wse::quantizedOf(Operation *kernel, WeightAttr weight) {
  for (Operation &op : kernel->getParentOfType<ProgramOp>().bodyBlock()) {
    const Rank rank = rankOf(op);
    if (rank > Rank::FewBits)
      break;
    if (rank == Rank::FewBits &&
        cast<ParameterOp>(op).getSymNameAttr() == weight.getName())
      return cast<ParameterOp>(op).getQuantized();
  }
  return {};
}

ParameterOp ProgramOp::parameter(StringAttr name) {
  // To be a parameter is asked first: of thousands of them, each time.
  for (Operation &op : bodyBlock()) {
    if (auto parameter = dyn_cast<ParameterOp>(op)) {
      if (parameter.getSymNameAttr() == name)
        return parameter;
    } else if (isa<KernelOp>(op)) {
      break;
    }
  }
  return {};
}

/// (C9)
static LogicalResult verifyParametersFirst(ProgramOp program) {
  Operation *last = nullptr; // of the highest rank
  Rank highest = Rank::None;
  for (Operation &op : program.bodyBlock()) {
    const Rank rank = rankOf(op);
    if (rank >= highest) {
      if (rank > highest)
        last = &op;
      highest = rank;
    } else if (rank != Rank::None) {
      return withNote(
          op.emitOpError(highest == Rank::Kernel
                             ? isa<EntryOp>(last) ? "stands behind an entry"
                                                  : "stands behind a kernel"
                         : rank == Rank::Resident
                             ? "is resident, and stands behind what streams"
                             : "is of few bits, and stands behind what is not"),
          last, "this is to come later");
    }
  }
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  if (failed(verifyAttributes(*this)))
    return failure();
  ProgramChecks checks(*this);
  for (Operation &op : bodyBlock()) {
    // (C3)
    if (!isa<WseDialect>(op.getDialect()))
      return op.emitOpError("is no operation of the wafer");
    if (failed(verifyAttributes(&op)))
      return failure();
    if (auto entry = dyn_cast<EntryOp>(op))
      for (Operation &its : entry.getBody().front())
        if (failed(verifyAttributes(&its)))
          return failure();
  }
  const llvm::SmallVector<KernelOp> kernels = this->kernels();
  for (KernelOp kernel : kernels)
    if (failed(checks.verifyKernel(kernel)))
      return failure();
  for (ParameterOp parameter : residents())
    if (failed(checks.verifyResident(parameter)))
      return failure();
  return success(succeeded(verifyFilled(*this, kernels)) &&
                 succeeded(verifyParametersFirst(*this)) &&
                 succeeded(verifyGradients(*this, kernels)));
}

llvm::SmallVector<Block *, 2> ProgramOp::entryBlocks() {
  llvm::SmallVector<Block *, 2> blocks;
  for (auto entry : bodyBlock().getOps<EntryOp>())
    blocks.push_back(&entry.getBody().front());
  blocks.push_back(&bodyBlock());
  return blocks;
}

llvm::SmallVector<KernelOp> ProgramOp::kernels() {
  llvm::SmallVector<KernelOp> kernels, own;
  for (Operation &op : bodyBlock())
    if (auto kernel = dyn_cast<KernelOp>(op))
      own.push_back(kernel);
    else if (auto entry = dyn_cast<EntryOp>(op))
      for (KernelOp its : entry.getBody().front().getOps<KernelOp>())
        kernels.push_back(its);
  if (kernels.empty())
    return own;
  llvm::append_range(kernels, own);
  return kernels;
}

llvm::SmallVector<PersistentOp> ProgramOp::persistents() {
  llvm::SmallVector<PersistentOp> persistents;
  for (auto op : bodyBlock().getOps<PersistentOp>())
    if (op.getHome())
      persistents.push_back(op);
  return persistents;
}

llvm::SmallVector<KeepOutOp, 4> ProgramOp::keepOuts() {
  auto ops = bodyBlock().getOps<KeepOutOp>();
  return {ops.begin(), ops.end()};
}

llvm::SmallVector<RegionOp, 4> ProgramOp::kernelRegions() {
  llvm::SmallDenseSet<Attribute, 4> used; // looked up only
  Attribute last;
  for (KernelOp kernel : kernels())
    if (Attribute region = kernel.getRegionRef().getAttr(); region != last)
      used.insert(last = region);
  llvm::SmallVector<RegionOp, 4> regions;
  for (RegionOp region : bodyBlock().getOps<RegionOp>())
    if (used.contains(region.getSymNameAttr()))
      regions.push_back(region);
  return regions;
}

llvm::SmallVector<Machine, 1> ProgramOp::kernelMachines() {
  llvm::SmallVector<Machine, 1> machines;
  for (RegionOp region : kernelRegions())
    machines.push_back(region.machine());
  if (machines.empty())
    machines.push_back(targetMachine());
  return machines;
}

//===----------------------------------------------------------------------===//
// wse.region
//===----------------------------------------------------------------------===//

RegionOp wsec::wse::regionOf(KernelOp kernel) {
  return SymbolTable::lookupNearestSymbolFrom<RegionOp>(kernel,
                                                        kernel.getRegionRef());
}

Machine RegionOp::machine() {
  return (*this)
      ->getParentOfType<ProgramOp>()
      .targetMachine()
      .region(int(getX().value_or(0)), int(getY().value_or(0)), int(columns()),
              int(rows()))
      .withShare(int(getShareBegin().value_or(0)),
                 int(getShareCount().value_or(0)));
}

bool RegionOp::sharesChannelsWith(RegionOp other) {
  return getGroup() && getGroup() == other.getGroup() &&
         *getShareBegin() < *other.getShareBegin() + *other.getShareCount() &&
         *other.getShareBegin() < *getShareBegin() + *getShareCount();
}

LogicalResult RegionOp::verify() {
  // (C1)
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (getShape().size() != 2 || getX().has_value() != getY().has_value())
    return emitOpError("needs a shape of columns and rows, and a position of "
                       "both coordinates or none");
  int64_t x = getX().value_or(0), y = getY().value_or(0);
  int64_t width = program.meshWidth(), height = program.meshHeight();
  if (columns() < 1 || rows() < 1 || x < 0 || y < 0 || columns() > width ||
      rows() > height || x > width - columns() || y > height - rows())
    return emitOpError("of ")
           << columns() << "x" << rows() << " PEs at (" << x << ", " << y
           << ") does not fit the mesh of " << width << "x" << height;
  // (C2)
  if (getShareCount().has_value() != getShareBegin().has_value() ||
      getShareCount().has_value() != getGroup().has_value() ||
      int64_t(getGroup().value_or(0)) < 0)
    return emitOpError("has channels of its own from one on, in a group from 0 "
                       "on, or all of its rows");
  const int64_t begin = getShareBegin().value_or(0);
  const int64_t count = getShareCount().value_or(1);
  const int64_t channels = machine().channelsInUse();
  if (getShareCount() &&
      (begin < 0 || count < 1 || begin >= channels || count > channels - begin))
    return emitOpError("has ") << count << " channels from number " << begin
                               << " on, and its rows have " << channels;
  for (auto other : program.bodyBlock().getOps<RegionOp>()) {
    if (other == *this)
      break;
    if (sharesChannelsWith(other))
      return emitOpError("has a channel of group ")
             << *getGroup() << " that @" << other.getSymName()
             << " has to itself";
  }
  // (C3)
  if (isCut() != getFirstKernel().has_value() ||
      int64_t(getFirstKernel().value_or(0)) < 0)
    return emitOpError("begins with a kernel of the list, from 0 on, if it is "
                       "a stage, or has a share of the code, and else with "
                       "none");
  return success();
}

//===----------------------------------------------------------------------===//
// wse.keep_out, wse.near
//===----------------------------------------------------------------------===//

LogicalResult KeepOutOp::verify() {
  // (C1)
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (getShape().size() != 2)
    return emitOpError("needs columns and rows");
  const int64_t width = program.meshWidth(), height = program.meshHeight();
  const int64_t x = getX(), y = getY();
  if (columns() < 1 || rows() < 1 || x < 0 || y < 0 || columns() > width ||
      rows() > height || x > width - columns() || y > height - rows())
    return emitOpError("of ")
           << columns() << "x" << rows() << " PEs at (" << x << ", " << y
           << ") does not fit the mesh of " << width << "x" << height;
  return success();
}

LogicalResult NearOp::verify() {
  // (C1)
  auto program = (*this)->getParentOfType<ProgramOp>();
  auto isRegion = [&](FlatSymbolRefAttr name) {
    return SymbolTable::lookupNearestSymbolFrom<RegionOp>(*this, name);
  };
  if (!isRegion(getRegionAttr()))
    return emitOpError() << getRegionAttr() << " is no region";
  auto other = dyn_cast<FlatSymbolRefAttr>(getTarget());
  if (other && (other == getRegionAttr() || !isRegion(other)))
    return emitOpError() << other << " is no other region";
  auto pe = dyn_cast<DenseI64ArrayAttr>(getTarget());
  if (pe && (pe.size() != 2 || pe[0] < 0 || pe[1] < 0 ||
             pe[0] >= program.meshWidth() || pe[1] >= program.meshHeight()))
    return emitOpError("means no PE of the mesh of ")
           << program.meshWidth() << "x" << program.meshHeight();
  auto side = dyn_cast<StringAttr>(getTarget());
  if (side &&
      fabric::portNamed(side.getValue()).value_or(Port::Ramp) == Port::Ramp)
    return emitOpError("'") << side.getValue() << "' is no side of the mesh";
  if (!other && !pe && !side)
    return emitOpError("needs a region, a PE or a side of the mesh");
  // (C2)
  if (getWeight() < 1 || getWeight() > 1000)
    return emitOpError("has a weight of ")
           << getWeight() << ", expected 1 to 1000";
  return success();
}
