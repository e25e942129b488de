// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/code/AddressArguments.h"

#include "compiler/kernels/code/RolledCode.h"
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

/// How an expression is written: an argument times `scale` behind `constant`.
struct Written {
  Numbers its;
  int64_t constant = 0, scale = 0;
  unsigned argument = 0;
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

Groups::Shape Merger::shapeOf(const RoutineParts &parts, Carried carried) {
  Groups::Shape shape;
  for (pe::RoutineOp part : parts) {
    const Places &its = placesOf(part);
    shape.emplace_back(cast<pe::RoutineOp>(part->clone()));
    shape.back()->getBody().walk(
        [&](Operation *op) { its.makeShape(op, carried, pe::isClassScalar); });
  }
  return shape;
}

/// An argument for what differs, or one that another expression has already.
std::optional<Written>
Merger::planSlot(const Places &its, ArrayRef<const Slot *> slots, Plan &plan) {
  std::optional<Numbers> numbers = its.numbers(slots);
  if (!numbers)
    return std::nullopt;
  Written written{*numbers, *llvm::min_element(numbers->values)};
  if (slots[0]->isColor)
    return written;
  for (int64_t &value : numbers->values) {
    value -= written.constant;
    written.scale = std::gcd(written.scale, value);
  }
  if (written.scale == 0)
    return written;
  for (int64_t &value : numbers->values)
    value /= written.scale;
  written.argument = plan.argument(std::move(numbers->values));
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
    auto variants = llvm::map_to_vector(all, [&](const auto &list) {
      return list[i].variant(pe::isClassScalar);
    });
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
        auto varies = [](const auto &term) {
          return !pe::isClassScalar(term.first);
        };
        llvm::erase_if(slot.value.terms, varies);
        llvm::copy_if(kept.value.terms, std::back_inserter(slot.value.terms),
                      varies);
        if (slot.isColor)
          return;
        slot.value.constant = written.constant;
        if (written.scale)
          slot.value.terms.emplace_back(
              body.getArgument(before + written.argument), written.scale);
        if (!slot.buffer.empty())
          slot.buffer = written.its.type ? its.around(kept.buffer, written.its)
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
  RoutineCalls calls = Merger(source, classes, carried).merge(routines);
  if (carried == Carried::Numbers)
    for (const std::unique_ptr<ClassBuilder> &each : classes.all())
      rollRepeats(source, *each);
  return calls;
}
