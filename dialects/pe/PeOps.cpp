// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs, routes, scalars and classes. Instructions are in PeVector.cpp, the
// host side in PeHost.cpp.

#include "dialects/pe/PeSyntax.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace wsec::pe;

#define GET_OP_CLASSES
#include "dialects/pe/PeOps.cpp.inc"

//===----------------------------------------------------------------------===//
// pe.program
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  if (getMesh().size() != 2 || getWidth() <= 0 || getHeight() <= 0) // C1
    return emitOpError("mesh is [width, height], both positive");
  return success();
}

static LogicalResult verifyInside(Operation *op, RectAttr rect,
                                  ProgramOp program) {
  if (rect.getX1() <= program.getWidth() && rect.getY1() <= program.getHeight())
    return success();
  return op->emitOpError("has a rectangle that reaches to (")
         << rect.getX1() - 1 << ", " << rect.getY1() - 1
         << "), but the mesh is " << program.getWidth() << "x"
         << program.getHeight();
}

static LogicalResult verifyLanes(StreamOp stream, ProgramOp program) {
  bool in = stream.getDirection() == Direction::In;
  int64_t span = in ? program.getWidth() : program.getHeight();
  for (auto lane : stream.getLanesAttr().getAsRange<LaneAttr>())
    if (lane.getRow() >= program.getHeight() || lane.getEnd() > span)
      return stream.emitOpError("has lane ")
             << lane.getRow() << " -> " << lane.getBegin() << ':'
             << lane.getEnd() << " outside the mesh " << program.getWidth()
             << "x" << program.getHeight();
  return success();
}

// Routes, classes, kernels and streams stay inside the mesh: C2.
static LogicalResult verifyPlace(Operation &op, ProgramOp program) {
  if (auto route = dyn_cast<RouteOp>(op))
    return verifyInside(route, route.getRect(), program);
  if (auto kernel = dyn_cast<KernelOp>(op))
    return verifyInside(kernel, kernel.getRegion(), program);
  if (auto stream = dyn_cast<StreamOp>(op))
    return verifyLanes(stream, program);
  if (auto peClass = dyn_cast<ClassOp>(op))
    for (auto rect : peClass.getRectsAttr().getAsRange<RectAttr>())
      if (failed(verifyInside(peClass, rect, program)))
        return failure();
  return success();
}

static LogicalResult verifyLaunch(LaunchOp launch, mlir::SymbolTable &symbols,
                                  const llvm::StringSet<> &routines) {
  if (!routines.contains(launch.getRoutine())) // C1
    return launch.emitOpError("starts routine @")
           << launch.getRoutine() << ", which no class has";
  if (!symbols.lookup<KernelOp>(launch.getKernel())) // C2
    return launch.emitOpError("is for kernel @")
           << launch.getKernel() << ", which does not exist";
  if (!launch.getStreams())
    return success();
  for (Attribute name : launch.getStreamsAttr()) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(name);
    if (!symbol || !symbols.lookup<StreamOp>(symbol.getValue())) // C2
      return launch.emitOpError("names stream ")
             << name << ", which does not exist";
  }
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  mlir::SymbolTable symbols(*this);
  llvm::StringSet<> routines;
  for (auto peClass : getOps<ClassOp>())
    for (auto routine : peClass.getOps<RoutineOp>())
      routines.insert(routine.getSymName());
  for (Operation &op : getBody().getOps()) {
    if (failed(verifyPlace(op, *this)))
      return failure();
    auto launch = dyn_cast<LaunchOp>(op);
    if (launch && failed(verifyLaunch(launch, symbols, routines)))
      return failure();
  }
  return success();
}

LogicalResult RouteOp::verify() {
  auto transmit = static_cast<uint32_t>(getTransmit());
  if (transmit == 0) // C1
    return emitOpError("transmits through no port");
  auto receive = 1u << static_cast<uint32_t>(getReceive());
  if (getReceive() != Port::Ramp && (transmit & receive)) // C2
    return emitOpError("sends wavelets back through the port they came from: ")
           << stringifyPort(getReceive());
  return success();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

LogicalResult ConstantOp::verify() {
  auto value = static_cast<int64_t>(getValue());
  if (!llvm::isInt<32>(value)) // C1
    return emitOpError("has value ") << value << ", more than 32 bits hold";
  return success();
}

void ConstantOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  auto value = static_cast<int64_t>(getValue());
  setName(getResult(), value < 0 ? "m" + std::to_string(-value)
                                 : "c" + std::to_string(value));
}

unsigned wsec::pe::inputCount(ScalarKind kind) {
  switch (kind) {
  case ScalarKind::Px:
  case ScalarKind::Py:
    return 0;
  case ScalarKind::Not:
    return 1;
  case ScalarKind::TileStart:
  case ScalarKind::TileSize:
  case ScalarKind::TileIndex:
    return 3;
  default:
    return 2;
  }
}

LogicalResult ScalarOp::verify() {
  unsigned expected = inputCount(getKind());
  if (getInputs().size() != expected) // C1
    return emitOpError() << stringifyScalarKind(getKind()) << " takes "
                         << expected << " operands, found "
                         << getInputs().size();
  for (Value input : getInputs())
    if (isa<BlockArgument>(input)) // C2
      return emitOpError("depends on a loop variable");
  return success();
}

void ScalarOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  StringRef name = stringifyScalarKind(getKind());
  name.consume_front("tile_");
  setName(getResult(), name);
}

//===----------------------------------------------------------------------===//
// Classes and buffers
//===----------------------------------------------------------------------===//

LogicalResult ClassOp::verify() {
  if (getRects().empty()) // C1
    return emitOpError("has no rectangle");
  for (Attribute rect : getRects())
    if (!isa<RectAttr>(rect)) // C1
      return emitOpError("has ") << rect << " where a rectangle is expected";
  return success();
}

LogicalResult ClassOp::verifyRegions() {
  llvm::StringSet<> buffers;
  for (auto buffer : getOps<BufferOp>())
    buffers.insert(buffer.getSymName());
  WalkResult result = walk([&](VectorOp vector) {
    for (Attribute operand :
         {vector.getDst(), vector.getAAttr(), vector.getBAttr()}) {
      auto memory = llvm::dyn_cast_or_null<MemoryAttr>(operand);
      if (!memory || buffers.contains(memory.getBuffer().getValue()))
        continue;
      vector.emitOpError("uses buffer ") // C2
          << memory.getBuffer() << ", which class @" << getSymName()
          << " does not have";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult BufferOp::verify() {
  if (!isElementType(getType())) // C2
    return emitOpError("has elements of ")
           << getType() << ", expected f32, f16, bf16, i32, i64 or i1";
  unsigned size = elementBytes(getType());
  if (getAddress() % size || getBytes() % size) // C1
    return emitOpError("of ")
           << getBytes() << " bytes at " << getAddress()
           << " is not aligned to its elements of " << size << " bytes";
  return success();
}
