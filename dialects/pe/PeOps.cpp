// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs, routes and classes. Instructions are in PeVector.cpp, the host side
// in PeHost.cpp.

#include "dialects/pe/PeMistakes.h"
#include "dialects/pe/PeSyntax.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>
#include <map>
#include <utility>

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
  const int64_t limit = std::numeric_limits<int32_t>::max();
  if (int64_t extent = std::max(getWidth(), getHeight()); extent > limit) // C1
    return emitOpError("has a mesh of ")
           << extent << " PEs along a side, the limit is " << limit;
  return success();
}

static LogicalResult verifyInside(Operation *op, RectAttr rect,
                                  ProgramOp program) {
  if (rect.getX1() <= program.getWidth() && rect.getY1() <= program.getHeight())
    return success();
  return withNote(op->emitOpError("has a rectangle that reaches to (")
                      << rect.getX1() - 1 << ", " << rect.getY1() - 1
                      << "), but the mesh is " << program.getWidth() << "x"
                      << program.getHeight(),
                  program, "the program with this mesh");
}

static LogicalResult verifyChannels(StreamOp stream, ProgramOp program) {
  bool in = stream.getDirection() == Direction::In;
  int64_t span = in ? program.getWidth() : program.getHeight();
  for (auto channel : stream.getChannelsAttr().getAsRange<ChannelAttr>())
    if (channel.getRow() >= program.getHeight() || channel.getEnd() > span)
      return withNote(stream.emitOpError("has channel ")
                          << channel.getRow() << " -> " << channel.getBegin()
                          << ':' << channel.getEnd() << " outside the mesh "
                          << program.getWidth() << "x" << program.getHeight(),
                      program, "the program with this mesh");
  return success();
}

// Routes, classes, kernels and streams stay inside the mesh: C2.
static LogicalResult verifyPlace(Operation &op, ProgramOp program) {
  if (auto route = dyn_cast<RouteOp>(op))
    return verifyInside(route, route.getRect(), program);
  if (auto chain = dyn_cast<ChainOp>(op))
    return verifyInside(chain, chain.getRect(), program);
  if (auto copy = dyn_cast<CopyOp>(op))
    return verifyInside(copy, copy.getRect(), program);
  if (auto entry = dyn_cast<EntryOp>(op)) {
    for (auto copy : entry.getOps<CopyOp>())
      if (failed(verifyInside(copy, copy.getRect(), program)))
        return failure();
    for (auto value : entry.getOps<ValueOp>())
      if (failed(verifyInside(value, value.getRect(), program)))
        return failure();
  }
  if (auto value = dyn_cast<ValueOp>(op))
    return verifyInside(value, value.getRect(), program);
  if (auto kernel = dyn_cast<KernelOp>(op))
    return verifyInside(kernel, kernel.getRegion(), program);
  if (auto stream = dyn_cast<StreamOp>(op))
    return verifyChannels(stream, program);
  if (auto peClass = dyn_cast<ClassOp>(op))
    for (auto rect : peClass.getRectsAttr().getAsRange<RectAttr>())
      if (failed(verifyInside(peClass, rect, program)))
        return failure();
  return success();
}

/// The last slot of each color and direction.
using SlotOrders =
    std::map<std::pair<int64_t, int64_t>, std::pair<int64_t, LaunchOp>>;
/// By name, the first of each.
using Routines = llvm::MapVector<StringRef, RoutineOp>;

static SmallVector<StringRef> namesOf(const Routines &routines) {
  SmallVector<StringRef> names;
  for (const auto &[name, routine] : routines)
    names.push_back(name);
  return names;
}

static unsigned countArguments(RoutineOp routine) {
  return routine.getBody().getNumArguments();
}

static LogicalResult verifyLaunch(LaunchOp launch, ProgramOp program,
                                  mlir::SymbolTable &symbols,
                                  const Routines &routines) {
  const auto *routine = routines.find(launch.getRoutine());
  if (routine == routines.end()) // C1
    return launch.emitOpError("starts routine @")
           << launch.getRoutine() << ", which no class has"
           << nearest(launch.getRoutine(), namesOf(routines));
  const unsigned arguments = countArguments(routine->second);
  if (launch.getCarried().size() != arguments) // C3
    return withNote(launch.emitOpError("carries ")
                        << launch.getCarried().size() << " numbers, routine @"
                        << launch.getRoutine() << " takes " << arguments,
                    routine->second, "the routine");
  for (Value value : launch.getCarried())
    if (!isClassScalar(value)) // C4
      return launch.emitOpError("carries what is no scalar of its entry");
  if (launch.getKernel() && !symbols.lookup<KernelOp>(*launch.getKernel()))
    return launch.emitOpError("is for kernel @") // C2
           << *launch.getKernel() << ", which does not exist"
           << nearestSymbol<KernelOp>(*launch.getKernel(), program);
  if (!launch.getStreams())
    return success();
  for (Attribute name : launch.getStreamsAttr()) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(name);
    if (!symbol || !symbols.lookup<StreamOp>(symbol.getValue())) // C2
      return launch.emitOpError("names stream ")
             << name << ", which does not exist"
             << nearestSymbol<StreamOp>(symbol ? symbol.getValue() : "",
                                        program);
  }
  return success();
}

// PEs find out by themselves that it is next.
static LogicalResult verifyFollower(LaunchOp launch, bool isFirst,
                                    ProgramOp program) { // C7
  if (!launch.getFollows())
    return success();
  if (!program.getLaunchColor())
    return launch.emitOpError("follows the one before, but the host calls the "
                              "launches of this program");
  if (isFirst)
    return launch.emitOpError("follows the one before, but is the first");
  return success();
}

// Words of one color can't overtake one another.
static LogicalResult verifySlots(LaunchOp launch, mlir::SymbolTable &symbols,
                                 SlotOrders &lastSlot) {
  if (!launch.getSlots())
    return success();
  size_t streams = launch.getStreams() ? launch.getStreams()->size() : 0;
  if (launch.getSlots()->size() != streams) // C5
    return launch.emitOpError("has ") << launch.getSlots()->size()
                                      << " slots for " << streams << " streams";
  if (streams == 0)
    return success();
  for (auto [name, attribute] :
       llvm::zip_equal(*launch.getStreams(), *launch.getSlots())) {
    auto stream =
        symbols.lookup<StreamOp>(cast<FlatSymbolRefAttr>(name).getValue());
    int64_t order = cast<SlotAttr>(attribute).getOrder();
    auto [last, isNew] = lastSlot.try_emplace(
        {stream.getColor(), int64_t(stream.getDirection())},
        std::pair(order, launch));
    if (!isNew && order <= last->second.first) // C6
      return withNote(launch.emitOpError("has slot ")
                          << order << " for stream " << name
                          << ", but words of a color flow in the order of "
                             "launches",
                      last->second.second,
                      "slot " + Twine(last->second.first) + " is used here");
    last->second = {order, launch};
  }
  return success();
}

// Launches that wavelets start overlap: the host has no time to copy between
// them.
static LogicalResult verifyCopies(Block &block) {
  auto launches = block.getOps<LaunchOp>();
  if (launches.empty())
    return success();
  Operation *first = *launches.begin(), *last = first;
  for (LaunchOp launch : launches)
    last = launch;
  for (auto copy : block.getOps<CopyOp>())
    if (first->isBeforeInBlock(copy) && copy->isBeforeInBlock(last))
      return withNote(
          copy.emitOpError("stands between launches that overlap; without a "
                           "launch color they do not"), // C3
          last, "the last of the launches");
  return success();
}

// Code names chains of the program: C4 of class.
static LogicalResult verifyChains(ProgramOp program,
                                  const mlir::SymbolTable &symbols) {
  WalkResult result = program.walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (isa<ProcedureOp>(inner)) // Its names are parameters.
      return WalkResult::skip();
    auto op = dyn_cast<VectorOp>(inner);
    if (!op)
      return WalkResult::advance();
    for (Attribute operand : {op.getDst(), op.getAAttr(), op.getBAttr()}) {
      auto fabric = llvm::dyn_cast_or_null<FabricAttr>(operand);
      if (!fabric || !fabric.getChain() ||
          symbols.lookup<ChainOp>(fabric.getChain().getValue()))
        continue;
      op.emitOpError("names chain ")
          << fabric.getChain() << ", which does not exist"
          << nearestSymbol<ChainOp>(fabric.getChain().getValue(), program);
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

// Routines of one name take the same of their launches.
static LogicalResult addRoutine(RoutineOp routine, Routines &routines) {
  const unsigned arguments = countArguments(routine);
  RoutineOp first =
      routines.insert({routine.getSymName(), routine}).first->second;
  if (countArguments(first) == arguments)
    return success();
  return withNote(routine.emitOpError("takes ")
                      << arguments << " arguments, in another class "
                      << countArguments(first),
                  first, "the other routine");
}

LogicalResult ProgramOp::verifyRegions() {
  mlir::SymbolTable symbols(*this);
  if (failed(verifyChains(*this, symbols)) ||
      failed(verifyGradients(*this, symbols)))
    return failure();
  Routines routines;
  for (auto peClass : getOps<ClassOp>())
    for (auto routine : peClass.getOps<RoutineOp>())
      if (failed(addRoutine(routine, routines)))
        return failure();
  auto entries = llvm::to_vector(getOps<EntryOp>());
  for (Operation &op : getBody().getOps()) {
    if (failed(verifyPlace(op, *this)))
      return failure();
    if (!entries.empty() && isa<LaunchOp, CopyOp, ValueOp>(op)) // C1
      return withNote(op.emitOpError("stands beside entries, expected it in "
                                     "one of them"),
                      entries.front(), "the first entry");
  }
  SmallVector<Block *> called{&getBody().front()};
  for (EntryOp entry : entries)
    called.push_back(&entry.getBody().front());
  for (Block *block : called) {
    SlotOrders lastSlot;
    bool isFirst = true;
    for (auto launch : block->getOps<LaunchOp>()) {
      if (failed(verifyLaunch(launch, *this, symbols, routines)) ||
          failed(verifyFollower(launch, isFirst, *this)) ||
          failed(verifySlots(launch, symbols, lastSlot)))
        return failure();
      isFirst = false;
    }
    if (getLaunchColor() && failed(verifyCopies(*block)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// pe.entry
//===----------------------------------------------------------------------===//

void EntryOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  for (auto [argument, name] : llvm::zip(
           region.getArguments(), getNames().getAsValueRange<StringAttr>()))
    setName(argument, name);
}

static bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LogicalResult EntryOp::verify() {
  Block &block = getBody().front();
  if (getNames().size() != block.getNumArguments() ||
      getFrom().size() != getNames().size() ||
      getTo().size() != getNames().size())
    return emitOpError("has other names or ranges than arguments");
  llvm::StringSet<> taken;
  for (auto [name, from, to] : llvm::zip(
           getNames().getAsValueRange<StringAttr>(), getFrom(), getTo())) {
    if (!isIdentifier(name) || !taken.insert(name).second) // C4
      return emitOpError("has an argument '")
             << name << "', expected letters, digits and _, and no name twice";
    if (from > to || !llvm::isInt<32>(from) || !llvm::isInt<32>(to)) // C4
      return emitOpError("has an argument '")
             << name << "' from " << from << " to " << to
             << ", expected a range of 32-bit numbers";
  }
  for (Operation &op : block) {
    if (!isa<ConstantOp, ScalarOp, LaunchOp, CopyOp, ValueOp>(op)) // C2
      return withNote(emitOpError("holds ")
                          << op.getName()
                          << ", expected scalars, launches and copies",
                      &op, "the operation");
    auto scalar = dyn_cast<ScalarOp>(op);
    if (scalar && (scalar.getKind() == ScalarKind::Px ||
                   scalar.getKind() == ScalarKind::Py)) // C3
      return scalar.emitOpError("is a coordinate of a PE, an entry is called "
                                "for all of them");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// pe.route
//===----------------------------------------------------------------------===//

void RouteOp::build(OpBuilder &builder, OperationState &state, int64_t color,
                    RectAttr rect, Port receive, Ports transmit) {
  auto &properties = state.getOrAddProperties<Properties>();
  properties.color = builder.getI64IntegerAttr(color);
  properties.rect = rect;
  properties.receive = builder.getI32IntegerAttr(int32_t(receive));
  properties.transmit = builder.getI32IntegerAttr(transmit);
}

LogicalResult wsec::pe::verifyPorts(Operation *op, Port receive,
                                    Ports transmit) {
  if (transmit == 0) // C1
    return op->emitOpError("transmits through no port");
  if (receive != Port::Ramp && (transmit & portBit(receive))) // C2
    return op->emitOpError(
               "sends wavelets back through the port they came from: ")
           << keyword(receive);
  return success();
}

LogicalResult RouteOp::verify() {
  if (failed(verifyPorts(*this, getReceive(), getTransmit()))) // C1, C2
    return failure();
  int64_t positions = 1;
  Port receive = getReceive();
  Ports transmit = getTransmit();
  if (ArrayAttr further = getPositionsAttr())
    for (Attribute attribute : further) {
      auto position = dyn_cast<PositionAttr>(attribute);
      if (!position)
        return emitOpError("has ")
               << attribute << " where a position is expected";
      if (position.getReceive())
        receive = *position.getReceive();
      else
        transmit = position.getTransmit();
      if (failed(verifyPorts(*this, receive, transmit)))
        return failure();
      ++positions;
    }
  auto initial = static_cast<int64_t>(getInitial());
  if (initial < 0 || initial >= positions || (getRing() && positions == 1))
    return emitOpError("starts in position ") // C3
           << initial << (getRing() ? " of a ring of " : " of ") << positions;
  return success();
}

LogicalResult ChainOp::verify() {
  if (getDirection() == Port::Ramp) // C1
    return emitOpError(
        "leads to the ramp, expected north, south, east or west");
  if (getEven() == getOdd()) // C2
    return emitOpError("sends on color ")
           << getEven() << " only, expected two colors";
  if (getRect().getXstep() != 1 || getRect().getYstep() != 1) // C3
    return emitOpError("leaves PEs out, expected a rectangle without steps");
  return success();
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

// Buffers that an op of the code reads or writes.
static SmallVector<FlatSymbolRefAttr> namedBuffers(Operation *op) {
  SmallVector<FlatSymbolRefAttr> names;
  if (auto vector = dyn_cast<VectorOp>(op)) {
    for (Attribute operand :
         {vector.getDst(), vector.getAAttr(), vector.getBAttr()})
      if (auto memory = llvm::dyn_cast_or_null<MemoryAttr>(operand))
        names.push_back(memory.getBuffer());
  } else if (auto load = dyn_cast<LoadOp>(op)) {
    names.push_back(load.getBufferAttr());
  } else if (auto store = dyn_cast<StoreOp>(op)) {
    names.push_back(store.getBufferAttr());
  } else if (auto clock = dyn_cast<ClockOp>(op)) {
    names.push_back(clock.getBufferAttr());
  } else if (auto task = dyn_cast<TaskOp>(op)) {
    for (FlatSymbolRefAttr name : {task.getWordAttr(), task.getIndexAttr()})
      if (name) // C2
        names.push_back(name);
  }
  return names;
}

static LogicalResult verifyTask(Operation *op, FlatSymbolRefAttr name,
                                bool activates, ClassOp peClass,
                                const mlir::SymbolTable &symbols) {
  if (!name)
    return success();
  auto task = symbols.lookup<TaskOp>(name.getValue());
  if (!task) // C3
    return withNote(op->emitOpError("names task ")
                        << name << ", which class @" << peClass.getSymName()
                        << " does not have"
                        << nearestSymbol<TaskOp>(name.getValue(), peClass),
                    peClass, "the class");
  if (activates && task.getKind() != TaskKind::Local) // C3
    return withNote(op->emitOpError("activates ")
                        << name << ", which is not a local task",
                    task, "the task");
  return success();
}

static LogicalResult verifyTasks(Operation *op, ClassOp peClass,
                                 const mlir::SymbolTable &symbols) {
  if (auto activate = dyn_cast<ActivateOp>(op))
    return verifyTask(op, activate.getTaskAttr(), true, peClass, symbols);
  if (auto block = dyn_cast<BlockOp>(op))
    return verifyTask(op, block.getTaskAttr(), false, peClass, symbols);
  if (auto unblock = dyn_cast<UnblockOp>(op))
    return verifyTask(op, unblock.getTaskAttr(), false, peClass, symbols);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<VectorOp, ControlOp>([&](auto issued) {
        return failure(failed(verifyTask(op, issued.getActivateAttr(), true,
                                         peClass, symbols)) ||
                       failed(verifyTask(op, issued.getUnblockAttr(), false,
                                         peClass, symbols)));
      })
      .Default([](Operation *) { return success(); });
}

static LogicalResult verifyTaskIds(ClassOp peClass) {
  llvm::DenseMap<std::pair<int64_t, int64_t>, TaskOp> seen;
  for (auto task : peClass.getOps<TaskOp>()) {
    auto [twin, isNew] = seen.try_emplace(
        {int64_t(task.getKind()), int64_t(task.getId())}, task);
    if (isNew)
      continue;
    return withNote(task.emitOpError("has the kind and id of task @")
                        << twin->second.getSymName(), // C3 of task
                    twin->second, "the other task");
  }
  return success();
}

// Whether a buffer is the bytes of one persistent buffer, or of several that
// follow one another; their ends by their beginnings.
static bool isPersistent(BufferOp buffer,
                         const std::map<uint64_t, uint64_t> &persistent) {
  uint64_t begin = *buffer.getAddress();
  const uint64_t end = begin + buffer.getBytes();
  for (auto next = persistent.find(begin);
       begin < end && next != persistent.end(); next = persistent.find(begin))
    begin = next->second;
  return begin == end;
}

// A persistent buffer shares no byte with another one, unless that is not
// persistent and is the bytes of such ones: C3 of buffer. Those without an
// address lie behind all others.
static LogicalResult verifyPersistent(ClassOp peClass) {
  std::map<uint64_t, uint64_t> persistent;
  for (auto kept : peClass.getOps<BufferOp>())
    if (kept.getPersistent() && kept.getAddress())
      persistent[*kept.getAddress()] = *kept.getAddress() + kept.getBytes();
  for (auto kept : peClass.getOps<BufferOp>()) {
    if (!kept.getPersistent() || !kept.getAddress())
      continue;
    const uint64_t begin = *kept.getAddress(), end = begin + kept.getBytes();
    for (auto other : peClass.getOps<BufferOp>()) {
      if (other == kept || !other.getAddress() || *other.getAddress() >= end ||
          *other.getAddress() + other.getBytes() <= begin)
        continue;
      if (!other.getPersistent() && isPersistent(other, persistent))
        continue;
      return withNote(kept.emitOpError("is persistent, and shares bytes with @")
                          << other.getSymName(),
                      other, "the other buffer");
    }
  }
  return success();
}

// What a buffer holds first is its own: C5 of buffer.
static LogicalResult verifyInitial(ClassOp peClass) {
  for (auto filled : peClass.getOps<BufferOp>()) {
    if (!filled.getInitialAttr() || !filled.getAddress())
      continue;
    const uint64_t begin = *filled.getAddress(),
                   end = begin + filled.getBytes();
    for (auto other : peClass.getOps<BufferOp>())
      if (other != filled && other.getAddress() &&
          (other.getInitialAttr() || other.getPersistent()) &&
          *other.getAddress() < end &&
          *other.getAddress() + other.getBytes() > begin)
        return withNote(filled.emitOpError("has values, and shares bytes with "
                                           "@")
                            << other.getSymName(),
                        other, "the other buffer");
  }
  return success();
}

LogicalResult ClassOp::verifyRegions() {
  mlir::SymbolTable symbols(*this);
  WalkResult result = walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ProcedureOp>(op)) // Its names are parameters.
      return WalkResult::skip();
    for (FlatSymbolRefAttr name : namedBuffers(op)) {
      if (symbols.lookup<BufferOp>(name.getValue()))
        continue;
      return WalkResult(withNote(
          op->emitOpError("uses buffer ") // C2
              << name << ", which class @" << getSymName() << " does not have"
              << nearestSymbol<BufferOp>(name.getValue(), *this),
          *this, "the class"));
    }
    return WalkResult(verifyTasks(op, *this, symbols));
  });
  return failure(result.wasInterrupted() || failed(verifyTaskIds(*this)) ||
                 failed(verifyPersistent(*this)) ||
                 failed(verifyInitial(*this)));
}
