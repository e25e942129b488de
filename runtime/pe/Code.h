// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code of a program's PE classes in the form the engines execute, and what
// can be said about it before it runs.
#ifndef RUNTIME_PE_CODE_H
#define RUNTIME_PE_CODE_H

#include "runtime/pe/Arithmetic.h"
#include "runtime/program/program_generated.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace wsec::runtime {

struct PeResources;

inline constexpr int maxExtents = 4;

/// Values a routine's affine functions refer to.
struct Bindings {
  const int64_t *scalars = nullptr;
  const int64_t *loops = nullptr;
  const int32_t *locals = nullptr;
};

struct AffineTerm {
  bool loop;
  uint16_t index;
  int64_t scale;
  bool local = false; ///< and not `loop`

  /// Whether it may change while a routine or task runs.
  bool atRunTime() const { return loop || local; }
  int64_t variable(Bindings bindings) const {
    if (local)
      return bindings.locals[index];
    return loop ? bindings.loops[index] : bindings.scalars[index];
  }
};

struct AffineFunction {
  int64_t constant = 0;
  std::vector<AffineTerm> terms;

  int runtimeTerms() const {
    int count = 0;
    for (const AffineTerm &term : terms)
      count += term.atRunTime();
    return count;
  }
  int64_t value(Bindings bindings) const {
    int64_t result = constant;
    for (const AffineTerm &term : terms)
      result += term.scale * term.variable(bindings);
    return result;
  }
};

struct OperandCode {
  program::OperandKind kind = program::OperandKind::None;
  uint16_t buffer = 0;
  AffineFunction offset;
  std::array<int64_t, maxExtents> strides{};
  AffineFunction color;
  int depth = 0;
  bool windowed = false;
  AffineFunction windowOffset, windowTotal;
  float immediate = 0;
  /// Elements of the buffer, or on the wire.
  program::ElementType type = program::ElementType::F32;
  program::Packing packing = program::Packing::Single;
  bool indexed = false; ///< sent with `wireIndex` + i in the upper half
  AffineFunction wireIndex;

  bool fabric() const { return kind == program::OperandKind::Fabric; }
  bool memory() const { return kind == program::OperandKind::Memory; }
};

struct InstructionCode {
  program::Opcode op{};
  NumberKind numbers = NumberKind::Single;
  std::vector<AffineFunction> extents;
  OperandCode dst, a, b;
  int guard = -1;
  int thread = -1;
  int activate = -1, unblock = -1; ///< tasks of the class, on completion
  bool sendsControl = false;       ///< a control wavelet, and nothing else
  bool advanceSwitch = false;
  program::OnControl onControl = program::OnControl::Task;
  bool noWrap = false;  ///< integer results have to fit
  int runtimeTerms = 0; ///< of all extents, offsets, windows and colors
  int index = 0;        ///< in the class, for tables
  uint32_t routine = 0;
  /// Scalars whose values may differ among the PEs of a strip, and that decide
  /// what the instruction does.
  std::vector<uint16_t> looseScalars;

  /// Whether a result may be an IntegerError.
  bool checksIntegers() const {
    return noWrap || (op == program::Opcode::Div && ofIntegers(numbers));
  }

  bool asynchronous() const { return thread >= 0; }
  bool usesFabric() const { return dst.fabric() || a.fabric() || b.fabric(); }
  /// Whether it waits for nobody.
  bool inMemory() const { return !usesFabric() && !asynchronous(); }
};

struct LoopCode;
struct AwaitCode {
  uint8_t threads = 0;
};
struct ComputeCode {
  uint16_t local = 0;
  program::ScalarOp op{};
  AffineFunction a, b, c;
};
/// What it computes in the PE at (x, y); none: it would divide by `b`.
std::optional<int32_t> valueOf(const ComputeCode &compute, Bindings bindings,
                               int64_t x, int64_t y);
struct LoadCode {
  uint16_t local = 0;
  uint16_t buffer = 0;
  AffineFunction offset;
};
struct StoreCode {
  uint16_t buffer = 0;
  AffineFunction offset, value;
};
struct IfCode;
struct SetTaskCode {
  program::TaskAction action{};
  uint16_t task = 0; ///< of the class
};
struct SendControlCode {
  InstructionCode instruction; ///< that sends it
  std::vector<program::SwitchCommand> commands;
  int task = -1; ///< control task id; < 0: not delivered
  AffineFunction data;
};
struct ReadClockCode {
  uint16_t buffer = 0;
  AffineFunction offset;
};
struct SetRouteCode {
  AffineFunction color;
  program::Port receive{};
  uint8_t transmit = 0;
};
struct BreakCode {
  AffineFunction condition;
};
using StatementCode =
    std::variant<InstructionCode, LoopCode, AwaitCode, ComputeCode, LoadCode,
                 StoreCode, IfCode, SetTaskCode, SendControlCode, ReadClockCode,
                 SetRouteCode, BreakCode>;
using Body = std::vector<StatementCode>;
struct LoopCode {
  AffineFunction count;
  Body body;
  int guard = -1;
};
struct IfCode {
  AffineFunction condition;
  Body then, otherwise;
};

/// What a launch starts. Its first locals are arguments of the launch.
struct RoutineCode {
  Body body;
  int arguments = 0;
};

struct TaskCode {
  std::string name;
  program::TaskKind kind{};
  int id = 0;
  bool blocked = false; ///< at load
  int wordBuffer = -1, indexBuffer = -1;
  Body body;
};

struct FilterCode {
  int color = 0;
  program::FilterKind kind{};
  AffineFunction min, max;
  bool limited = false;
  AffineFunction limit;
};

struct QueueCode {
  int color = 0;
  bool output = false;
  int queue = 0;
};

struct BufferCode {
  std::string name;
  int64_t firstWord = 0; ///< in the SRAM of the PE
  int64_t words = 0;
  program::ElementType type = program::ElementType::F32;
  int64_t address = 0; ///< in bytes
  int64_t elements = 0;
  bool persistent = false;
  /// What it holds when a call begins; null: nothing is written then.
  const flatbuffers::Vector<uint8_t> *initial = nullptr;
};

struct ClassCode {
  const program::PEClass *source = nullptr;
  std::string name;
  std::vector<BufferCode> buffers;
  std::map<uint32_t, RoutineCode> routines;
  std::vector<TaskCode> tasks;
  std::vector<FilterCode> filters;
  std::vector<QueueCode> queues;
  /// What there is for instructions in flight; null: its code never holds more.
  std::shared_ptr<const PeResources> resources;
  /// Scalars that must be equal in all PEs of a strip.
  std::vector<uint16_t> strictScalars;
  int instructions = 0;
  int loopDepth = 0;
  int locals = 0;            ///< that a body may use at a time
  int64_t firstDataWord = 0; ///< of the SRAM; code lies before
  int64_t endDataWord = 0;
  uint64_t highWaterBytes = 0;

  const RoutineCode *routine(uint32_t id) const {
    auto found = routines.find(id);
    return found == routines.end() ? nullptr : &found->second;
  }
};

/// Whether the host calls the launches of a program; else launch wavelets
/// start them.
bool calledByHost(const program::Program &program);

/// Decodes a class; throws BadProgram or SramOverflow.
ClassCode decodeClass(const program::Program &program, uint32_t index);

/// Calls `visit` with every statement of a body and of those inside.
template <class Visit>
void forEachStatement(const Body &body, const Visit &visit) {
  for (const StatementCode &statement : body) {
    visit(statement);
    if (const auto *loop = std::get_if<LoopCode>(&statement))
      forEachStatement(loop->body, visit);
    if (const auto *branch = std::get_if<IfCode>(&statement)) {
      forEachStatement(branch->then, visit);
      forEachStatement(branch->otherwise, visit);
    }
  }
}

/// Visits all statements of a class.
template <class Visit>
void forEachStatement(const ClassCode &code, const Visit &visit) {
  for (const auto &[id, routine] : code.routines)
    forEachStatement(routine.body, visit);
  for (const TaskCode &task : code.tasks)
    forEachStatement(task.body, visit);
}

/// Whether a class has code that sets routes.
bool setsRoutes(const ClassCode &code);

/// For messages: "fmac", or "fmac (microthread 2)".
std::string describe(const InstructionCode &instruction);

} // namespace wsec::runtime

#endif // RUNTIME_PE_CODE_H
