// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/facts/Residency.h"
#include "runtime/program/RectSet.h"
#include "runtime/program/facts/PlacedBuffers.h"
#include "runtime/program/proof/FabricUse.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace wsec::runtime {

namespace {

using program::OperandKind;
using ColorSet = std::bitset<256>;

std::vector<program::Rect> rectsOf(const program::PEClass &peClass) {
  std::vector<program::Rect> rects;
  for (const program::Rect *rect : *peClass.rects())
    rects.push_back(*rect);
  return rects;
}

/// Which colors the affine functions of a class name.
class ClassColors {
public:
  ClassColors(const program::PEClass &peClass, const program::Machine &machine,
              ProofSteps &steps)
      : scalars(peClass.scalars(), rectsOf(peClass), machine.width(),
                machine.height(), steps) {
    for (const program::Rect *rect : *peClass.rects())
      pes += uint64_t(rectSize(*rect));
  }

  /// All where it is not understood.
  ColorSet colors(const program::Affine &affine) const {
    ColorSet result;
    try {
      for (int64_t color : scalars.values(affine))
        if (color >= 0 && color < int64_t(result.size()))
          result.set(size_t(color));
    } catch (const NotUnderstood &) {
      result.set();
    }
    return result;
  }

  uint64_t pes = 0;

private:
  AxisScalars scalars;
};

/// For each buffer of a class the one that stands for its bytes, whatever type
/// they are read as: a persistent one if there is one.
std::vector<uint32_t> buffersByBytes(const program::PEClass &peClass) {
  std::vector<uint32_t> result;
  if (!peClass.buffers())
    return result;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;
  for (const bool persistent : {true, false})
    for (uint32_t b = 0; b < peClass.buffers()->size(); ++b) {
      const program::Buffer &buffer = *peClass.buffers()->Get(b);
      if (buffer.persistent() == persistent)
        known.insert({{buffer.address(), buffer.bytes()}, b});
    }
  for (const program::Buffer *buffer : *peClass.buffers())
    result.push_back(known.at({buffer->address(), buffer->bytes()}));
  return result;
}

/// Since when a buffer holds weights, and under which conditions it got them.
struct Holding {
  size_t launch;
  std::vector<int> guards;
};
using BufferId = std::pair<uint32_t, uint32_t>; ///< class, buffer
using Holdings = std::map<BufferId, Holding>;

class Analysis {
public:
  explicit Analysis(const program::Program &program) : program(program) {
    for (const program::PEClass *peClass : *program.classes()) {
      classColors.emplace_back(*peClass, *program.machine(), steps);
      placed.emplace_back(*peClass);
      byBytes.push_back(buffersByBytes(*peClass));
    }
  }

  WeightResidency run() {
    for (const program::Entry *entry : *program.entries())
      for (unsigned l = 0; l < entry->launches()->size(); ++l)
        calls.push_back({entry, l});
    resident.assign(calls.size(), 0);
    WeightResidency result;
    for (launch = 0; launch < calls.size(); ++launch) {
      if (calls[launch].second == 0)
        forgetCall();
      followLaunch();
      uint64_t held = 0;
      for (const BufferId &buffer : touched)
        held += bytes(buffer);
      result.bufferedBytes = std::max(result.bufferedBytes, held);
    }
    for (uint64_t held : resident)
      result.residentBytes = std::max(result.residentBytes, held);
    result.bufferedBytes = std::max(result.bufferedBytes, result.residentBytes);
    return result;
  }

private:
  /// Words that PEs relay may reach a class that was followed before: again
  /// until no further color is found to carry weights.
  void followLaunch() {
    const auto [entry, number] = calls[launch];
    arguments = knownArguments(*entry, *entry->launches()->Get(number));
    weightColors = streamedColors();
    followCopies();
    if (weightColors.none() && holdings.empty())
      return touched.clear();
    Holdings before = holdings;
    for (ColorSet known;;) {
      known = weightColors;
      holdings = before;
      touched.clear();
      reads.clear();
      for (uint32_t c = 0; c < program.classes()->size(); ++c)
        followClass(c);
      if (weightColors == known)
        break;
    }
    for (const auto &[buffer, since] : reads)
      extend(buffer, since);
  }

  /// Persistent buffers alone hold what an entry left in them.
  void forgetCall() {
    std::erase_if(holdings, [&](const auto &held) {
      const auto [index, buffer] = held.first;
      return !program.classes()
                  ->Get(index)
                  ->buffers()
                  ->Get(buffer)
                  ->persistent();
    });
  }

  /// Copies of the host fill whole buffers, those of inputs too: where only
  /// some PEs of a class get other values, the rest may hold weights still.
  void followCopies() {
    const auto [entry, number] = calls[launch];
    if (!entry->copies())
      return;
    for (const program::HostCopy *copy : *entry->copies()) {
      auto role = program.tensors()->Get(copy->tensor())->role();
      if (copy->launch() != number || (role != program::TensorRole::Weight &&
                                       role != program::TensorRole::Constant))
        continue;
      for (uint32_t c = 0; c < program.classes()->size(); ++c)
        holdCopy(c, *copy);
    }
  }
  void holdCopy(uint32_t index, const program::HostCopy &copy) {
    const program::PEClass &peClass = *program.classes()->Get(index);
    if (!peClass.buffers())
      return;
    for (uint32_t b = 0; b < peClass.buffers()->size(); ++b)
      if (peClass.buffers()->Get(b)->name()->string_view() ==
          copy.buffer()->string_view())
        holdings[{index, byBytes[index][b]}] = {launch, {}};
  }

  ColorSet streamedColors() const {
    ColorSet colors;
    const auto *streams = current().streams();
    if (!streams)
      return colors;
    for (uint32_t index : *streams) {
      const program::HostStream &stream = *program.streams()->Get(index);
      if (stream.direction() != program::Direction::In)
        continue;
      for (const program::Segment *segment : *stream.segments())
        if (isWeight(*segment))
          colors.set(stream.color());
    }
    return colors;
  }

  bool isWeight(const program::Segment &segment) const {
    auto role = [&](uint32_t tensor) {
      return program.tensors()->Get(tensor)->role();
    };
    if (segment.index_tensor() >= 0 &&
        role(uint32_t(segment.index_tensor())) == program::TensorRole::Input)
      return false;
    return role(segment.tensor()) == program::TensorRole::Weight ||
           role(segment.tensor()) == program::TensorRole::Constant;
  }

  void followClass(uint32_t index) {
    currentClass = index;
    const program::PEClass &peClass = *program.classes()->Get(index);
    uint32_t id = current().routine();
    guards.clear();
    if (peClass.routines())
      for (const program::Routine *routine : *peClass.routines())
        if (routine->id() == id)
          followBody(routine->body());
    followTasks(peClass);
  }

  /// Any task may run in any launch, in any order, or not at all: until none
  /// moves weights to a further buffer.
  void followTasks(const program::PEClass &peClass) {
    if (!peClass.tasks())
      return;
    for (size_t known = holdings.size() + 1; known != holdings.size();) {
      known = holdings.size();
      for (const program::Task *task : *peClass.tasks())
        followUncertain(task->body());
    }
  }

  using Body = flatbuffers::Vector<flatbuffers::Offset<program::Statement>>;

  /// Follows what may or may not run; what it writes covers nothing but what
  /// it has written itself.
  void followUncertain(const Body *body) {
    guards.push_back(--uncertain);
    followBody(body);
    guards.pop_back();
  }

  /// Scalar code makes new values of weights, as arithmetic does.
  void followBody(const Body *body) {
    if (!body)
      return;
    const size_t outer = guards.size();
    for (const program::Statement *statement : *body) {
      if (statement->kind_as_Break()) {
        guards.push_back(--uncertain); // what is behind it
      } else if (const auto *loop = statement->kind_as_Loop()) {
        enter(loop->guard());
        followBody(loop->body());
        leave(loop->guard());
      } else if (const auto *branch = statement->kind_as_If()) {
        followUncertain(branch->then());
        followUncertain(branch->otherwise());
      } else if (const auto *instruction = statement->kind_as_Instruction()) {
        enter(instruction->guard());
        followInstruction(*instruction);
        leave(instruction->guard());
      }
    }
    guards.resize(outer);
  }
  void enter(int guard) {
    if (guard >= 0)
      guards.push_back(guard);
  }
  void leave(int guard) {
    if (guard >= 0)
      guards.pop_back();
  }

  void followInstruction(const program::Instruction &instruction) {
    bool weight = readsWeight(instruction.a());
    weight |= readsWeight(instruction.b());
    weight &= instruction.op() == program::Opcode::Mov;
    const program::Operand &dst = *instruction.dst();
    if (dst.kind() == OperandKind::Fabric) {
      if (weight)
        weightColors |= classColors[currentClass].colors(*dst.color());
      return;
    }
    const BufferId buffer = bufferOf(dst);
    if (weight) {
      hold(buffer);
      touched.insert(buffer);
    } else if (auto held = holdings.find(buffer);
               held != holdings.end() && covers(held->second)) {
      holdings.erase(held);
    }
  }

  /// What an uncertain body adds to a buffer does not end what is there.
  void hold(const BufferId &buffer) {
    bool certain = std::all_of(guards.begin(), guards.end(),
                               [](int guard) { return guard >= 0; });
    if (certain || !holdings.count(buffer))
      holdings[buffer] = {launch, guards};
  }

  /// Whether what runs now runs wherever the buffer got its weights.
  bool covers(const Holding &holding) const {
    return std::all_of(guards.begin(), guards.end(), [&](int guard) {
      return std::find(holding.guards.begin(), holding.guards.end(), guard) !=
             holding.guards.end();
    });
  }

  bool readsWeight(const program::Operand *operand) {
    if (!operand)
      return false;
    if (operand->kind() == OperandKind::Fabric)
      return weightColors.any() &&
             (classColors[currentClass].colors(*operand->color()) &
              weightColors)
                 .any();
    if (operand->kind() != OperandKind::Memory)
      return false;
    auto held = holdings.find(bufferOf(*operand));
    if (held == holdings.end())
      return false;
    touched.insert(held->first);
    if (held->second.launch < launch)
      reads.insert({held->first, held->second.launch});
    return true;
  }

  BufferId bufferOf(const program::Operand &operand) const {
    return {currentClass, byBytes[currentClass][placed[currentClass].of(
                              operand.buffer(), operand.offset(), arguments)]};
  }

  /// The buffer has held its weights from launch `since` until now.
  void extend(const BufferId &buffer, size_t since) {
    size_t &known = keptUntil[{buffer, since}];
    for (size_t l = std::max(known, since); l < launch; ++l)
      resident[l] += bytes(buffer);
    known = launch;
  }

  uint64_t bytes(const BufferId &buffer) const {
    const program::PEClass &peClass = *program.classes()->Get(buffer.first);
    return peClass.buffers()->Get(buffer.second)->bytes() *
           classColors[buffer.first].pes;
  }

  const program::Program &program;
  ProofSteps steps;
  std::vector<ClassColors> classColors;
  std::vector<PlacedBuffers> placed;          ///< by class
  std::vector<std::vector<uint32_t>> byBytes; ///< likewise
  const program::Launch &current() const {
    const auto [entry, number] = calls[launch];
    return *entry->launches()->Get(number);
  }

  /// The launches of all entries, called in order.
  std::vector<std::pair<const program::Entry *, unsigned>> calls;
  std::vector<uint64_t> resident; ///< bytes held from launch i to i + 1
  std::map<std::pair<BufferId, size_t>, size_t> keptUntil;
  Holdings holdings;

  // The launch being followed.
  size_t launch = 0;
  KnownArguments arguments;
  uint32_t currentClass = 0;
  ColorSet weightColors;
  /// Scalars, and negative numbers for conditions that only a run decides.
  std::vector<int> guards;
  int uncertain = 0;
  std::set<BufferId> touched;
  std::set<std::pair<BufferId, size_t>> reads;
};

} // namespace

WeightResidency weightResidency(const program::Program &program) {
  return Analysis(program).run();
}

} // namespace wsec::runtime
