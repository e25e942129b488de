// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions, loops and waits.

#include "dialects/pe/PeMistakes.h"
#include "dialects/pe/PeSyntax.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace wsec::pe;

static constexpr int64_t kMaxExtents = 4;
static constexpr int64_t kMaxThreads = 8;

unsigned wsec::pe::sourceCount(Opcode opcode) {
  switch (opcode) {
#define WSEC_INSTRUCTION(Name, name, sources, numbers, software, words)        \
  case Opcode::Name:                                                           \
    return sources;
#include "runtime/program/Opcodes.def"
  }
  return 1;
}

// A guard that is a constant would be code that always or never runs.
static void addOperands(OperationState &state, ArrayRef<Value> values,
                        Value guard) {
  state.addOperands(values);
  if (guard)
    state.addOperands(guard);
}

//===----------------------------------------------------------------------===//
// pe.vector
//===----------------------------------------------------------------------===//

void VectorOp::build(OpBuilder &builder, OperationState &state, Opcode opcode,
                     const Operand &dst, ArrayRef<Operand> sources,
                     ArrayRef<Affine> extents, const Issue &issue) {
  AffineEncoder encoder(builder.getContext());
  auto &properties = state.getOrAddProperties<Properties>();
  properties.opcode = OpcodeAttr::get(builder.getContext(), opcode);
  properties.dst = encoder.encode(dst);
  if (!sources.empty())
    properties.a = encoder.encode(sources[0]);
  if (sources.size() > 1)
    properties.b = encoder.encode(sources[1]);
  properties.extents = encoder.encode(extents);
  if (issue.thread >= 0)
    properties.thread = builder.getI64IntegerAttr(issue.thread);
  auto symbol = [&](const std::string &name) {
    return name.empty() ? FlatSymbolRefAttr()
                        : FlatSymbolRefAttr::get(builder.getContext(), name);
  };
  properties.activate = symbol(issue.activate);
  properties.unblock = symbol(issue.unblock);
  if (issue.advance)
    properties.advance = builder.getUnitAttr();
  if (issue.endOnControl)
    properties.end_on_control = builder.getUnitAttr();
  if (issue.noWrap)
    properties.no_wrap = builder.getUnitAttr();
  addOperands(state, encoder.getValues(), issue.guard);
  properties.operandSegmentSizes = {int(encoder.getValues().size()),
                                    issue.guard ? 1 : 0, 0};
}

Operand VectorOp::getDstOperand() { return decode(getDst(), getValues()); }

SmallVector<Operand, 2> VectorOp::getSources() {
  SmallVector<Operand, 2> sources;
  for (Attribute source : {getAAttr(), getBAttr()})
    if (source)
      sources.push_back(decode(source, getValues()));
  return sources;
}

SmallVector<Affine, 4> VectorOp::getExtentAffines() {
  SmallVector<Affine, 4> extents;
  for (auto extent : getExtents().getAsRange<AffineAttr>())
    extents.push_back(decode(extent, getValues()));
  return extents;
}

LogicalResult wsec::pe::verifyAffine(Operation *op, AffineAttr affine,
                                     ValueRange values) {
  for (int64_t number : affine.getValues())
    if (number < 0 || number >= int64_t(values.size()))
      return op->emitOpError("has an expression over operand ")
             << number << ", but only " << values.size() << " scalars";
  return success();
}

static LogicalResult verifyMemory(VectorOp op, MemoryAttr memory) {
  if (memory.getStrides().size() != op.getExtents().size()) // C4
    return op.emitOpError("has ")
           << op.getExtents().size() << " extents, but "
           << memory.getStrides().size() << " strides for buffer "
           << memory.getBuffer();
  return verifyAffine(op, memory.getOffset(), op.getValues()); // C7
}

static LogicalResult verifyPacking(VectorOp op, FabricAttr fabric,
                                   bool destination) {
  Type type = fabric.getType();
  bool half = type && elementBytes(type) == 2;
  if (type && (!isWireType(type) || type.isF32())) // C11
    return op.emitOpError("sends or receives ")
           << type << ", expected " << kWireTypes;
  if ((fabric.getPair() || fabric.getIndex()) && !half) // C11
    return op.emitOpError("has a pair or an index in a wavelet whose elements "
                          "are not of 16 bits");
  if (fabric.getIndex() && (fabric.getPair() || !destination)) // C11
    return op.emitOpError("has an index beside a ")
           << (destination ? "pair" : "received element");
  return success();
}

static LogicalResult verifyFabric(VectorOp op, FabricAttr fabric,
                                  bool destination) {
  unsigned depth = fabric.getDepth(), extents = op.getExtents().size();
  if (depth < 1 || depth > extents) // C5
    return op.emitOpError("has a fabric operand of depth ")
           << depth << ", but " << extents << " extents";
  if (destination && (depth != extents || fabric.getWindowTotal())) // C5
    return op.emitOpError("sends to the fabric: expected depth ")
           << extents << " and no window";
  for (AffineAttr affine : {fabric.getColor(), fabric.getWindowOffset(),
                            fabric.getWindowTotal(), fabric.getIndex()})
    if (affine && failed(verifyAffine(op, affine, op.getValues()))) // C7
      return failure();
  return verifyPacking(op, fabric, destination);
}

static LogicalResult verifyOperand(VectorOp op, Attribute operand,
                                   bool destination) {
  if (auto memory = dyn_cast<MemoryAttr>(operand))
    return verifyMemory(op, memory);
  if (auto fabric = dyn_cast<FabricAttr>(operand))
    return verifyFabric(op, fabric, destination);
  if (destination) // C2
    return op.emitOpError("writes to a constant");
  return success();
}

LogicalResult wsec::pe::verifyThread(Operation *op, int64_t thread) {
  if (thread < 0 || thread >= kMaxThreads)
    return op->emitOpError("runs on microthread ")
           << thread << ", expected one below " << kMaxThreads;
  return success();
}

// A number or scalar that a procedure is given where it is called.
static bool isParameter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isa<ProcedureOp>(argument.getOwner()->getParentOp());
}

// A guard is decided at load.
static LogicalResult verifyGuard(Operation *op, Value guard) {
  if (guard && !isClassScalar(guard) && !isParameter(guard))
    return op->emitOpError("has a guard that is not a scalar of the class");
  return success();
}

static LogicalResult verifyCompletion(VectorOp op) {
  bool notifies = op.getActivateAttr() || op.getUnblockAttr();
  if (notifies && !op.getThread() && !op.getThreadParameter()) // C9
    return op.emitOpError("activates or unblocks a task, but is not "
                          "asynchronous");
  if (op.getAdvance() && !isa<FabricAttr>(op.getDst())) // C10
    return op.emitOpError("advances a switch, but sends nothing");
  if (op.getEndOnControl() && !isa_and_nonnull<FabricAttr>(op.getAAttr()) &&
      !isa_and_nonnull<FabricAttr>(op.getBAttr())) // C10
    return op.emitOpError("ends at a control wavelet, but receives nothing");
  return verifyGuard(op, op.getGuard()); // C8
}

static LogicalResult verifyIssue(VectorOp op) {
  if (Value parameter = op.getThreadParameter();
      parameter && !isParameter(parameter)) // C8
    return op.emitOpError("runs on a microthread that is no number, and no "
                          "parameter of a procedure");
  if (failed(verifyThread(op, op.getThread().value_or(0)))) // C6
    return failure();
  return verifyCompletion(op);
}

LogicalResult VectorOp::verify() {
  if (getExtents().empty() || getExtents().size() > kMaxExtents) // C1
    return emitOpError("has ")
           << getExtents().size() << " extents, expected one to four";
  for (Attribute extent : getExtents()) {
    auto affine = dyn_cast<AffineAttr>(extent);
    if (!affine)
      return emitOpError("has an extent that is not affine");
    if (failed(verifyAffine(*this, affine, getValues()))) // C7
      return failure();
  }
  unsigned sources = (getAAttr() ? 1 : 0) + (getBAttr() ? 1 : 0);
  if (sources != sourceCount(getOpcode()) || !getAAttr()) // C3
    return emitOpError() << stringifyOpcode(getOpcode()) << " takes "
                         << sourceCount(getOpcode()) << " sources, found "
                         << sources;
  if (failed(verifyOperand(*this, getDst(), /*destination=*/true)))
    return failure();
  for (Attribute source : {getAAttr(), getBAttr()})
    if (source && failed(verifyOperand(*this, source, /*destination=*/false)))
      return failure();
  return verifyIssue(*this);
}

//===----------------------------------------------------------------------===//
// pe.for and pe.await
//===----------------------------------------------------------------------===//

void ForOp::build(OpBuilder &builder, OperationState &state,
                  const Affine &count, Value guard) {
  AffineEncoder encoder(builder.getContext());
  auto &properties = state.getOrAddProperties<Properties>();
  properties.count = encoder.encode(count);
  addOperands(state, encoder.getValues(), guard);
  properties.operandSegmentSizes = {int(encoder.getValues().size()),
                                    guard ? 1 : 0};
  Block &body = state.addRegion()->emplaceBlock();
  body.addArgument(ScalarType::get(builder.getContext()), state.location);
}

Affine ForOp::getCountAffine() { return decode(getCount(), getValues()); }

void ForOp::getAsmBlockArgumentNames(Region &region,
                                     OpAsmSetValueNameFn setName) {
  setName(region.getArgument(0), "i");
}

LogicalResult ForOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != 1 ||
      !isa<ScalarType>(body.getArgument(0).getType())) // C1
    return emitOpError("needs one loop variable");
  if (failed(verifyGuard(*this, getGuard()))) // C3
    return failure();
  if (getCount().getValues().empty() && getCount().getConstant() < 0) // C4
    return emitOpError("repeats its body ")
           << getCount().getConstant() << " times";
  return verifyAffine(*this, getCount(), getValues()); // C2
}

LogicalResult AwaitOp::verify() {
  if (getThreads().empty()) // C1
    return emitOpError("waits for no microthread");
  unsigned seen = 0;
  for (int64_t thread : getThreads()) {
    if (thread < 0 || thread >= kMaxThreads) // C1
      return emitOpError("waits for microthread ")
             << thread << ", expected one below " << kMaxThreads;
    if (seen & (1u << thread)) // C1
      return emitOpError("waits for microthread ") << thread << " twice";
    seen |= 1u << thread;
  }
  return success();
}
