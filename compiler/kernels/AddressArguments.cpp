// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/AddressArguments.h"

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
// What statements say in numbers
//===----------------------------------------------------------------------===//

/// An expression of a statement: of an operand in SRAM the offset in `buffer`.
struct Slot {
  pe::Affine value;
  std::string buffer = {};
  bool isColor = false;
};

/// Visits the expressions of a statement in the order of its text, and keeps
/// what `visit` makes of them.
void visitSlots(Operation *op, function_ref<void(Slot &)> visit) {
  pe::AffineEncoder encoder(op->getContext());
  auto affine = [&](const pe::Affine &before, bool isColor = false) {
    Slot slot{before, "", isColor};
    visit(slot);
    return slot.value;
  };
  auto encoded = [&](pe::AffineAttr before, ValueRange values) {
    return encoder.encode(affine(pe::decode(before, values)));
  };
  auto element = [&](auto access) {
    Slot slot{pe::decode(access.getOffset(), access.getValues()),
              access.getBuffer().str()};
    visit(slot);
    access.setBuffer(slot.buffer);
    access.setOffsetAttr(encoder.encode(slot.value));
  };
  auto operand = [&](Attribute attribute, ValueRange values) -> Attribute {
    if (!attribute)
      return attribute;
    pe::Operand its = pe::decode(attribute, values);
    if (its.kind == pe::Operand::Kind::Immediate)
      return attribute;
    if (its.kind == pe::Operand::Kind::Memory) {
      Slot slot{its.offset, its.buffer};
      visit(slot);
      its.offset = slot.value;
      its.buffer = slot.buffer;
      return encoder.encode(its);
    }
    its.color = affine(its.color, /*isColor=*/true);
    if (its.window) {
      its.window->first = affine(its.window->first);
      its.window->second = affine(its.window->second);
    }
    if (its.index)
      its.index = affine(*its.index);
    return encoder.encode(its);
  };
  auto keep = [&](auto statement) {
    statement.getValuesMutable().assign(encoder.getValues());
  };
  if (auto vector = dyn_cast<pe::VectorOp>(op)) {
    const SmallVector<Value> values(vector.getValues());
    vector.setDstAttr(operand(vector.getDst(), values));
    if (Attribute a = vector.getAAttr())
      vector.setAAttr(operand(a, values));
    if (Attribute b = vector.getBAttr())
      vector.setBAttr(operand(b, values));
    vector.setExtentsAttr(ArrayAttr::get(
        op->getContext(),
        llvm::map_to_vector(vector.getExtents().getAsRange<pe::AffineAttr>(),
                            [&](pe::AffineAttr each) -> Attribute {
                              return encoded(each, values);
                            })));
    keep(vector);
  } else if (auto loop = dyn_cast<pe::ForOp>(op)) {
    loop.setCountAttr(encoded(loop.getCount(), loop.getValues()));
    keep(loop);
  } else if (auto load = dyn_cast<pe::LoadOp>(op)) {
    element(load);
    keep(load);
  } else if (auto store = dyn_cast<pe::StoreOp>(op)) {
    element(store);
    store.setValueAttr(encoded(store.getValue(), store.getValues()));
    keep(store);
  } else if (auto compute = dyn_cast<pe::ComputeOp>(op)) {
    compute.setInputsAttr(ArrayAttr::get(
        op->getContext(),
        llvm::map_to_vector(compute.getInputs().getAsRange<pe::AffineAttr>(),
                            [&](pe::AffineAttr each) -> Attribute {
                              return encoded(each, compute.getValues());
                            })));
    keep(compute);
  }
}

bool ofClass(const std::pair<Value, int64_t> &term) {
  return pe::isClassScalar(term.first);
}

/// Whether others may stand in its place that differ in scalars.
bool mayVary(Operation *op) { return isa<pe::VectorOp, pe::StoreOp>(op); }

/// A statement of a routine.
struct Statement {
  Operation *op = nullptr;
  llvm::SmallVector<Slot, 6> slots;

  explicit Statement(Operation *op) : op(op) {
    visitSlots(op, [&](Slot &slot) { slots.push_back(slot); });
  }

  /// What it says beside numbers, of those that have one shape.
  std::vector<const void *> variant() const {
    std::vector<const void *> its;
    auto number = [](int64_t value) {
      return reinterpret_cast<const void *>(value);
    };
    if (!mayVary(op))
      return its;
    if (auto vector = dyn_cast<pe::VectorOp>(op))
      its.push_back(vector.getGuard().getAsOpaquePointer());
    for (const Slot &slot : slots) {
      for (const auto &term : slot.value.terms)
        if (ofClass(term))
          its.insert(its.end(),
                     {term.first.getAsOpaquePointer(), number(term.second)});
      its.insert(its.end(),
                 {nullptr, number(slot.isColor ? slot.value.constant : 0)});
    }
    return its;
  }
};

std::vector<Statement> statementsOf(pe::RoutineOp routine) {
  std::vector<Statement> statements;
  routine.getBody().walk([&](Operation *op) { statements.emplace_back(op); });
  return statements;
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

  const BufferPlace &of(StringRef buffer) const {
    return places.find(buffer)->second;
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
  std::string around(StringRef first, int64_t begin, int64_t end, Type type) {
    return its.buffer((first + "_and_more").str(), begin, end - begin, type,
                      "");
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

/// Routines that are to be one.
using Members = llvm::SmallVector<RoutineParts>;

/// Routines by what is equal in them, in the order of the first of each.
class Groups {
public:
  using Shape = llvm::SmallVector<OwningOpRef<pe::RoutineOp>, 1>;

  /// The group of those with this shape, which is of classes as `parts` are.
  size_t of(Shape shape, const RoutineParts &parts) {
    llvm::hash_code hash = 0;
    for (auto [part, its] : llvm::zip_equal(parts, shape))
      hash = llvm::hash_combine(hash, hashOf(*its), part->getParentOp());
    auto &candidates = byHash[hash];
    for (size_t candidate : candidates)
      if (isEqual(shapes[candidate], shape, firsts[candidate], parts))
        return candidate;
    candidates.push_back(shapes.size());
    shapes.push_back(std::move(shape));
    firsts.push_back(parts);
    return shapes.size() - 1;
  }

private:
  static bool isEqual(Shape &a, Shape &b, const RoutineParts &ofA,
                      const RoutineParts &ofB) {
    if (a.size() != b.size())
      return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (ofA[i]->getParentOp() != ofB[i]->getParentOp() ||
          !doTheSame(*a[i], *b[i]))
        return false;
    return true;
  }

  std::deque<Shape> shapes;
  std::vector<RoutineParts> firsts;
  llvm::DenseMap<llvm::hash_code, llvm::SmallVector<size_t, 1>> byHash;
};

/// How an expression is written where it is not the same in all members: an
/// argument times `scale` behind `constant`.
struct Written {
  int64_t constant = 0, scale = 0;
  unsigned argument = 0;
  int64_t begin = 0, end = 0;
  Type type =
      {}; ///< of a buffer around those of all members; null: all have one
};

/// How a statement is written.
struct Together {
  llvm::SmallVector<Written, 6> slots;
  /// The first member with each variant but the first one, and the argument
  /// that says whether it runs.
  llvm::SmallVector<std::pair<size_t, unsigned>, 0> others;
};

class Merger {
public:
  Merger(wse::ProgramOp source, ClassSet &classes, Carried carried)
      : carried(carried) {
    for (const std::unique_ptr<ClassBuilder> &each : classes.all())
      places.emplace_back(source, *each);
  }

  RoutineCalls merge(std::vector<RoutineParts> &routines);

private:
  struct Plan {
    std::vector<std::vector<Together>> parts;
    std::map<std::vector<int64_t>, unsigned> arguments; // by all their values
    int64_t words = 0;                                  // of code

    unsigned argument(std::vector<int64_t> values) {
      return arguments.try_emplace(std::move(values), arguments.size())
          .first->second;
    }
  };

  Places &placesOf(pe::RoutineOp routine);
  Groups::Shape shapeOf(const RoutineParts &parts, Carried carried);
  void makeShape(Operation *op, const Places &its, Carried carried);
  std::vector<Members> grouped(llvm::ArrayRef<RoutineParts> routines);
  std::vector<Members> byNumbers(std::vector<Members> groups);
  std::optional<Plan> plan(const Members &members);
  bool planPart(const Members &members, size_t part, Plan &plan);
  std::optional<Written>
  planSlot(const Places &its, llvm::ArrayRef<const Slot *> slots, Plan &plan);
  int64_t wordsOf(const Members &members);
  void write(const Members &members, size_t part, const Plan &plan);

  const Carried carried;
  std::vector<Places> places;
};

} // namespace

Places &Merger::placesOf(pe::RoutineOp routine) {
  return *llvm::find_if(places, [&](const Places &each) {
    return each.peClass() == routine->getParentOp();
  });
}

/// Leaves of a statement what members have in common.
void Merger::makeShape(Operation *op, const Places &its, Carried carried) {
  visitSlots(op, [&](Slot &slot) {
    if (!slot.buffer.empty()) {
      const BufferPlace &place = its.of(slot.buffer);
      if (carried != Carried::StateAddresses ||
          place.kind == BufferPlace::State) {
        slot.buffer.clear();
        llvm::raw_string_ostream(slot.buffer)
            << int(place.kind) << " " << place.type;
      }
    }
    if (carried != Carried::Numbers)
      return;
    if (!slot.isColor || llvm::all_of(slot.value.terms, ofClass))
      slot.value.constant = 0;
    if (mayVary(op))
      llvm::erase_if(slot.value.terms, ofClass);
  });
  if (auto vector = dyn_cast<pe::VectorOp>(op);
      vector && carried == Carried::Numbers)
    vector.getGuardMutable().clear();
}

Groups::Shape Merger::shapeOf(const RoutineParts &parts, Carried carried) {
  Groups::Shape shape;
  for (pe::RoutineOp part : parts) {
    const Places &its = placesOf(part);
    shape.emplace_back(cast<pe::RoutineOp>(part->clone()));
    shape.back()->getBody().walk(
        [&](Operation *op) { makeShape(op, its, carried); });
  }
  return shape;
}

/// An argument for what differs, or one that another expression has already.
std::optional<Written>
Merger::planSlot(const Places &its, ArrayRef<const Slot *> slots, Plan &plan) {
  Written written;
  std::vector<int64_t> values;
  for (const Slot *slot : slots)
    values.push_back(slot->value.constant);
  if (llvm::any_of(slots, [&](const Slot *slot) {
        return slot->buffer != slots[0]->buffer;
      })) {
    const BufferPlace &first = its.of(slots[0]->buffer);
    written.type = first.type;
    written.begin = first.address;
    for (const Slot *slot : slots) {
      const BufferPlace &place = its.of(slot->buffer);
      written.begin = std::min(written.begin, place.address);
      written.end = std::max(written.end, place.end());
    }
    if (!its.canHold(first.kind, written.begin, written.end))
      return std::nullopt;
    const int64_t element = pe::elementBytes(written.type);
    for (auto [slot, value] : llvm::zip_equal(slots, values)) {
      const int64_t distance = its.of(slot->buffer).address - written.begin;
      if (distance % element != 0)
        return std::nullopt;
      value += distance / element;
    }
  }
  written.constant = *llvm::min_element(values);
  for (int64_t &value : values) {
    value -= written.constant;
    written.scale = std::gcd(written.scale, value);
  }
  if (written.scale == 0 || slots[0]->isColor)
    return written;
  for (int64_t &value : values)
    value /= written.scale;
  written.argument = plan.argument(std::move(values));
  return written;
}

bool Merger::planPart(const Members &members, size_t part, Plan &plan) {
  const Places &its = placesOf(members[0][part]);
  auto all = llvm::map_to_vector(members, [&](const RoutineParts &member) {
    return statementsOf(member[part]);
  });
  for (size_t i = 0; i < all[0].size(); ++i) {
    Together &together = plan.parts[part].emplace_back();
    plan.words += pe::codeWords(all[0][i].op);
    for (size_t s = 0; s < all[0][i].slots.size(); ++s) {
      auto written = planSlot(
          its,
          llvm::map_to_vector(
              all, [&](const auto &list) { return &list[i].slots[s]; }),
          plan);
      if (!written)
        return false;
      together.slots.push_back(*written);
    }
    if (carried != Carried::Numbers)
      continue;
    auto variants = llvm::map_to_vector(
        all, [&](const auto &list) { return list[i].variant(); });
    for (size_t m = 1; m < members.size(); ++m) {
      if (llvm::is_contained(ArrayRef(variants).take_front(m), variants[m]))
        continue;
      std::vector<int64_t> runs;
      for (const auto &variant : variants)
        runs.push_back(variant == variants[m]);
      together.others.emplace_back(m, plan.argument(std::move(runs)));
      plan.words += 2 + pe::codeWords(all[m][i].op); // behind a branch
    }
  }
  plan.words += pe::codeWords(members[0][part]);
  return true;
}

std::optional<Merger::Plan> Merger::plan(const Members &members) {
  Plan plan;
  const size_t parts = members[0].size();
  plan.parts.resize(parts);
  for (size_t part = 0; part < parts; ++part)
    if (!planPart(members, part, plan))
      return std::nullopt;
  plan.words += int64_t(parts * plan.arguments.size());
  pe::RoutineOp first = members[0][0];
  if (first.getBody().getNumArguments() + plan.arguments.size() >
      runtime::largestArgumentList)
    return std::nullopt;
  return plan;
}

void Merger::write(const Members &members, size_t part, const Plan &plan) {
  pe::RoutineOp routine = members[0][part];
  Places &its = placesOf(routine);
  Block &body = routine.getBody().front();
  const unsigned before = body.getNumArguments();
  for (size_t i = 0; i < plan.arguments.size(); ++i)
    body.addArgument(pe::ScalarType::get(routine.getContext()),
                     routine.getLoc());
  const std::vector<Statement> statements = statementsOf(routine);
  std::vector<std::vector<Statement>> others; // of members with variants
  auto statementOf = [&](size_t member, size_t i) -> Operation * {
    others.resize(members.size());
    if (others[member].empty())
      others[member] = statementsOf(members[member][part]);
    return others[member][i].op;
  };
  for (size_t i = 0; i < statements.size(); ++i) {
    const Statement &first = statements[i];
    const Together &together = plan.parts[part][i];
    // Its own scalars, and variables of the routine that stays.
    auto writeSlots = [&](Operation *op) {
      size_t s = 0;
      visitSlots(op, [&](Slot &slot) {
        const Slot &kept = first.slots[s];
        const Written &written = together.slots[s++];
        llvm::erase_if(slot.value.terms,
                       [](const auto &term) { return !ofClass(term); });
        llvm::copy_if(kept.value.terms, std::back_inserter(slot.value.terms),
                      [](const auto &term) { return !ofClass(term); });
        if (slot.isColor)
          return;
        slot.value.constant = written.constant;
        if (written.scale)
          slot.value.terms.emplace_back(
              body.getArgument(before + written.argument), written.scale);
        if (!slot.buffer.empty())
          slot.buffer = written.type ? its.around(kept.buffer, written.begin,
                                                  written.end, written.type)
                                     : kept.buffer;
      });
    };
    OpBuilder builder(first.op);
    for (auto [member, argument] : together.others) {
      pe::AffineEncoder encoder(builder.getContext());
      const pe::AffineAttr condition =
          encoder.encode(pe::Affine(body.getArgument(before + argument)));
      auto branch = pe::IfOp::create(builder, first.op->getLoc(),
                                     encoder.getValues(), condition);
      builder.setInsertionPointToStart(&branch.getThen().emplaceBlock());
      writeSlots(builder.clone(*statementOf(member, i)));
      builder.setInsertionPointToStart(&branch.getOtherwise().emplaceBlock());
    }
    if (!together.others.empty())
      first.op->moveBefore(builder.getInsertionBlock(),
                           builder.getInsertionPoint());
    writeSlots(first.op);
  }
}

/// Those that are equal but for addresses.
std::vector<Members> Merger::grouped(ArrayRef<RoutineParts> routines) {
  const Carried addresses = std::min(carried, Carried::Addresses);
  Groups groups;
  std::vector<Members> members;
  for (const RoutineParts &parts : routines) {
    const size_t its = groups.of(shapeOf(parts, addresses), parts);
    members.resize(std::max(members.size(), its + 1));
    members[its].push_back(parts);
  }
  return members;
}

/// Words of code of routines that were to be one, or that of which could not.
int64_t Merger::wordsOf(const Members &members) {
  int64_t words = 0;
  for (const RoutineParts &member : members)
    for (pe::RoutineOp part : member)
      part->walk([&](Operation *op) { words += pe::codeWords(op); });
  return words;
}

/// Of these, those that differ in numbers together, where it is less code.
std::vector<Members> Merger::byNumbers(std::vector<Members> groups) {
  Groups shapes;
  struct Cluster {
    Members members;
    int64_t words;
    size_t shape;
  };
  std::vector<Cluster> clusters;
  auto add = [&](Members members) {
    const std::optional<Plan> alone = plan(members);
    Cluster its{std::move(members), 0, 0};
    its.words = alone ? alone->words : wordsOf(its.members);
    its.shape =
        shapes.of(shapeOf(its.members[0], Carried::Numbers), its.members[0]);
    for (Cluster &known : clusters) {
      if (known.shape != its.shape)
        continue;
      Members both = known.members;
      both.append(its.members);
      if (const std::optional<Plan> together = plan(both);
          together && together->words < known.words + its.words) {
        known.members = std::move(both);
        known.words = together->words;
        return;
      }
    }
    clusters.push_back(std::move(its));
  };
  for (Members &members : groups)
    add(std::move(members));
  std::vector<Members> together;
  for (Cluster &its : clusters)
    together.push_back(std::move(its.members));
  return together;
}

RoutineCalls Merger::merge(std::vector<RoutineParts> &routines) {
  std::vector<Members> groups = grouped(routines);
  if (carried == Carried::Numbers)
    groups = byNumbers(std::move(groups));
  RoutineCalls calls;
  llvm::DenseSet<Operation *> merged; // looked up only
  for (const Members &members : groups) {
    if (members.size() < 2)
      continue;
    const std::optional<Plan> plan = this->plan(members);
    if (!plan)
      continue;
    for (auto [m, member] : llvm::enumerate(members)) {
      pe::RoutineOp first = member.front();
      RoutineCall &call = calls[first.getSymNameAttr()];
      call.routine = pe::RoutineOp(members[0].front()).getSymNameAttr();
      call.carried.resize(plan->arguments.size());
      for (const auto &[values, argument] : plan->arguments)
        call.carried[argument] = values[m];
      if (m > 0)
        merged.insert(first);
    }
    for (size_t part = 0; part < members[0].size(); ++part)
      write(members, part, *plan);
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

Carried wsec::carriedIn(wse::ProgramOp source) {
  if (source.getNumberArguments())
    return Carried::Numbers;
  return source.getAddressArguments() ? Carried::Addresses
                                      : Carried::StateAddresses;
}

RoutineCalls wsec::mergeRoutines(wse::ProgramOp source, ClassSet &classes,
                                 std::vector<RoutineParts> &routines,
                                 Carried carried) {
  return Merger(source, classes, carried).merge(routines);
}
