// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/code/AddressArguments.h"

#include "runtime/program/Checker.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/OwningOpRef.h"

#include <deque>
#include <map>
#include <numeric>

using namespace mlir;
using namespace wsec;

bool wsec::doTheSame(pe::RoutineOp a, pe::RoutineOp b) {
  return OperationEquivalence::isRegionEquivalentTo(
      &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

llvm::hash_code wsec::hashOf(pe::RoutineOp routine) {
  llvm::hash_code hash = 0;
  routine.getBody().walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

namespace {

//===----------------------------------------------------------------------===//
// Operands in SRAM
//===----------------------------------------------------------------------===//

/// What an instruction says of an operand in SRAM.
struct Access {
  FlatSymbolRefAttr buffer;
  pe::AffineAttr offset;
};

/// Puts another access in place of each of a routine, in the order of the code.
void rewriteAccesses(pe::RoutineOp routine,
                     function_ref<Access(Operation *, Access)> rewrite) {
  auto element = [&](auto op) {
    const Access its = rewrite(op, {op.getBufferAttr(), op.getOffsetAttr()});
    op.setBufferAttr(its.buffer);
    op.setOffsetAttr(its.offset);
  };
  routine.getBody().walk([&](Operation *op) {
    auto operand = [&](Attribute before) -> Attribute {
      auto memory = dyn_cast_or_null<pe::MemoryAttr>(before);
      if (!memory)
        return before;
      const Access its = rewrite(op, {memory.getBuffer(), memory.getOffset()});
      return pe::MemoryAttr::get(op->getContext(), its.buffer, its.offset,
                                 memory.getStrides());
    };
    if (auto vector = dyn_cast<pe::VectorOp>(op)) {
      vector.setDstAttr(operand(vector.getDst()));
      if (Attribute a = vector.getAAttr())
        vector.setAAttr(operand(a));
      if (Attribute b = vector.getBAttr())
        vector.setBAttr(operand(b));
    } else if (auto load = dyn_cast<pe::LoadOp>(op)) {
      element(load);
    } else if (auto store = dyn_cast<pe::StoreOp>(op)) {
      element(store);
    }
  });
}

/// A buffer of a class: where it lies, and what may lie in its place.
struct BufferPlace {
  int64_t address = 0, bytes = 0;
  Type type;
  enum Kind { Passing, Resident, State } kind = Passing;

  int64_t end() const { return address + bytes; }
};

/// The buffers of a class by name.
class Places {
public:
  Places(wse::ProgramOp source, ClassBuilder &its) : its(its) {
    const Machine &region = its.machine;
    llvm::SmallVector<BufferPlace> states;
    for (wse::PersistentOp held : source.persistents())
      if (isa<wse::StateOp>(*held) && held.getHeldAddress() &&
          held.getHome().getAttr() == its.regionName)
        states.push_back({*held.getHeldAddress(),
                          held.getHeldBytes(region.width, region.height),
                          held.getHeldType().getElementType()});
    for (auto buffer : its.peClass.getOps<pe::BufferOp>())
      if (buffer.getPersistent())
        persistent[*buffer.getAddress()] =
            *buffer.getAddress() + buffer.getBytes();
    for (auto buffer : its.peClass.getOps<pe::BufferOp>()) {
      BufferPlace place{int64_t(*buffer.getAddress()),
                        int64_t(buffer.getBytes()), buffer.getType()};
      auto next = persistent.upper_bound(place.address);
      if (next != persistent.begin() && std::prev(next)->second > place.address)
        place.kind = BufferPlace::Resident;
      for (const BufferPlace &state : states)
        if (state.address <= place.address && place.end() <= state.end())
          place.kind = BufferPlace::State;
      places[buffer.getSymName()] = place;
    }
  }

  const BufferPlace &of(FlatSymbolRefAttr buffer) const {
    return places.find(buffer.getValue())->second;
  }

  /// Whether a buffer of these bytes has to do with what stays as those of this
  /// kind have: it is the bytes of persistent ones, or has none of theirs.
  bool canHold(BufferPlace::Kind kind, int64_t begin, int64_t end) const {
    if (kind == BufferPlace::Passing)
      return llvm::all_of(persistent, [&](const auto &held) {
        return held.second <= begin || end <= held.first;
      });
    for (auto next = persistent.find(begin);
         begin < end && next != persistent.end(); next = persistent.find(begin))
      begin = next->second;
    return begin == end;
  }

  /// A buffer from the first byte of all of these to the last.
  FlatSymbolRefAttr around(FlatSymbolRefAttr first, int64_t begin, int64_t end,
                           Type type) {
    const std::string name = its.buffer((first.getValue() + "_and_more").str(),
                                        begin, end - begin, type, "");
    return FlatSymbolRefAttr::get(first.getContext(), name);
  }

  mlir::Operation *peClass() const { return its.peClass; }

private:
  ClassBuilder &its;
  llvm::StringMap<BufferPlace> places;   // looked up only
  std::map<int64_t, int64_t> persistent; // ends by beginnings
};

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Routines that are equal but for addresses. `shape` is the first of them with
/// kinds and types in place of buffers.
struct Group {
  llvm::SmallVector<OwningOpRef<pe::RoutineOp>, 1> shape;
  llvm::SmallVector<RoutineParts> members;
};

class Merger {
public:
  Merger(wse::ProgramOp source, ClassSet &classes, bool all) : all(all) {
    for (const std::unique_ptr<ClassBuilder> &each : classes.all())
      places.emplace_back(source, *each);
  }

  RoutineCalls merge(std::vector<RoutineParts> &routines);

private:
  /// For each operand whose address is one of several, which argument times how
  /// many elements it lies behind the first, if it is not the same in all.
  struct Placement {
    FlatSymbolRefAttr buffer;
    int64_t begin = 0, end = 0;
    Type type;
    unsigned argument = 0;
    int64_t scale = 0;
  };
  struct Plan {
    std::vector<llvm::SmallVector<Placement>> placements; // of each part
    std::map<std::vector<int64_t>, unsigned> arguments;   // by all their values
  };

  Places &placesOf(pe::RoutineOp routine);
  OwningOpRef<pe::RoutineOp> shapeOf(pe::RoutineOp routine);
  Group &groupOf(const RoutineParts &parts);
  llvm::SmallVector<FlatSymbolRefAttr> buffersOf(pe::RoutineOp routine);
  bool plan(const Group &group, Plan &plan);
  bool planPart(const Group &group, size_t part, Plan &plan);
  void write(pe::RoutineOp routine, ArrayRef<Placement> placements,
             unsigned arguments);

  const bool all;
  std::vector<Places> places;
  std::deque<Group> groups;
  llvm::DenseMap<llvm::hash_code, llvm::SmallVector<size_t, 1>> byHash;
};

} // namespace

Places &Merger::placesOf(pe::RoutineOp routine) {
  return *llvm::find_if(places, [&](const Places &each) {
    return each.peClass() == routine->getParentOp();
  });
}

OwningOpRef<pe::RoutineOp> Merger::shapeOf(pe::RoutineOp routine) {
  const Places &its = placesOf(routine);
  OwningOpRef<pe::RoutineOp> shape(cast<pe::RoutineOp>(routine->clone()));
  rewriteAccesses(*shape, [&](Operation *op, Access access) -> Access {
    const BufferPlace &place = its.of(access.buffer);
    if (!all && place.kind != BufferPlace::State)
      return access;
    std::string name;
    llvm::raw_string_ostream(name) << int(place.kind) << " " << place.type;
    return {FlatSymbolRefAttr::get(op->getContext(), name), access.offset};
  });
  return shape;
}

Group &Merger::groupOf(const RoutineParts &parts) {
  Group its;
  llvm::hash_code hash = 0;
  for (pe::RoutineOp part : parts) {
    its.shape.push_back(shapeOf(part));
    hash = llvm::hash_combine(hash, hashOf(*its.shape.back()),
                              part->getParentOp());
  }
  auto &candidates = byHash[hash];
  for (size_t candidate : candidates) {
    const Group &known = groups[candidate];
    bool equal = known.shape.size() == parts.size();
    for (size_t i = 0; equal && i < parts.size(); ++i)
      equal = known.members[0][i]->getParentOp() == parts[i]->getParentOp() &&
              doTheSame(*known.shape[i], *its.shape[i]);
    if (equal)
      return groups[candidate];
  }
  candidates.push_back(groups.size());
  groups.push_back(std::move(its));
  return groups.back();
}

llvm::SmallVector<FlatSymbolRefAttr> Merger::buffersOf(pe::RoutineOp routine) {
  llvm::SmallVector<FlatSymbolRefAttr> buffers;
  rewriteAccesses(routine, [&](Operation *, Access access) {
    buffers.push_back(access.buffer);
    return access;
  });
  return buffers;
}

bool Merger::planPart(const Group &group, size_t part, Plan &plan) {
  const Places &its = placesOf(group.members[0][part]);
  auto lists =
      llvm::map_to_vector(group.members, [&](const RoutineParts &member) {
        return buffersOf(member[part]);
      });
  for (size_t i = 0; i < lists[0].size(); ++i) {
    Placement &placement = plan.placements[part].emplace_back();
    placement.buffer = lists[0][i];
    if (llvm::all_of(lists,
                     [&](const auto &list) { return list[i] == lists[0][i]; }))
      continue;
    const BufferPlace &first = its.of(lists[0][i]);
    placement.type = first.type;
    placement.begin = first.address;
    placement.end = first.end();
    for (const auto &list : lists) {
      const BufferPlace &place = its.of(list[i]);
      placement.begin = std::min(placement.begin, place.address);
      placement.end = std::max(placement.end, place.end());
    }
    std::vector<int64_t> distances;
    int64_t step = 0;
    for (const auto &list : lists) {
      distances.push_back(its.of(list[i]).address - placement.begin);
      step = std::gcd(step, distances.back());
    }
    const int64_t element = pe::elementBytes(placement.type);
    if (step % element != 0 ||
        !its.canHold(first.kind, placement.begin, placement.end))
      return false;
    if (step == 0)
      continue;
    for (int64_t &distance : distances)
      distance /= step;
    placement.scale = step / element;
    placement.argument =
        plan.arguments.try_emplace(distances, plan.arguments.size())
            .first->second;
  }
  return true;
}

bool Merger::plan(const Group &group, Plan &plan) {
  const size_t parts = group.shape.size();
  plan.placements.resize(parts);
  for (size_t part = 0; part < parts; ++part)
    if (!planPart(group, part, plan))
      return false;
  pe::RoutineOp first = group.members[0][0];
  return first.getBody().getNumArguments() + plan.arguments.size() <=
         runtime::largestArgumentList;
}

void Merger::write(pe::RoutineOp routine, ArrayRef<Placement> placements,
                   unsigned arguments) {
  Places &its = placesOf(routine);
  Block &body = routine.getBody().front();
  const unsigned before = body.getNumArguments();
  for (unsigned i = 0; i < arguments; ++i)
    body.addArgument(pe::ScalarType::get(routine.getContext()),
                     routine.getLoc());
  rewriteAccesses(routine, [&](Operation *op, Access access) -> Access {
    const Placement placement = placements.front();
    placements = placements.drop_front();
    if (!placement.type)
      return access;
    FlatSymbolRefAttr buffer = its.around(placement.buffer, placement.begin,
                                          placement.end, placement.type);
    if (!placement.scale)
      return {buffer, access.offset};
    MutableOperandRange values =
        isa<pe::VectorOp>(op) ? cast<pe::VectorOp>(op).getValuesMutable()
        : isa<pe::LoadOp>(op) ? cast<pe::LoadOp>(op).getValuesMutable()
                              : cast<pe::StoreOp>(op).getValuesMutable();
    SmallVector<int64_t> numbers(access.offset.getValues()),
        scales(access.offset.getScales());
    numbers.push_back(values.size());
    scales.push_back(placement.scale);
    values.append(body.getArgument(before + placement.argument));
    return {buffer,
            pe::AffineAttr::get(op->getContext(), access.offset.getConstant(),
                                numbers, scales)};
  });
}

RoutineCalls Merger::merge(std::vector<RoutineParts> &routines) {
  for (const RoutineParts &parts : routines)
    groupOf(parts).members.push_back(parts);
  RoutineCalls calls;
  llvm::DenseSet<Operation *> merged; // looked up only
  for (const Group &group : groups) {
    Plan plan;
    if (group.members.size() < 2 || !this->plan(group, plan))
      continue;
    RoutineParts kept = group.members.front();
    for (auto [m, member] : llvm::enumerate(group.members)) {
      pe::RoutineOp first = member.front();
      RoutineCall &call = calls[first.getSymNameAttr()];
      call.routine = kept.front().getSymNameAttr();
      call.carried.resize(plan.arguments.size());
      for (const auto &[values, argument] : plan.arguments)
        call.carried[argument] = values[m];
      if (m > 0)
        merged.insert(first);
    }
    for (auto [part, placements] : llvm::zip_equal(kept, plan.placements))
      write(part, placements, plan.arguments.size());
  }
  llvm::erase_if(routines, [&](RoutineParts &parts) {
    if (!merged.contains(parts.front()))
      return false;
    for (pe::RoutineOp part : parts)
      part.erase();
    return true;
  });
  return calls;
}

RoutineCalls wsec::mergeByAddress(wse::ProgramOp source, ClassSet &classes,
                                  std::vector<RoutineParts> &routines,
                                  bool all) {
  return Merger(source, classes, all).merge(routines);
}
