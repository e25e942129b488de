// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element by element: each operation of the body becomes one vector instruction
// over all elements of the PE. Vectors with one constant per feature are used
// as they arrive, once per use.
//
// Functions take a PE long, and of few tokens most rows have none. Where that
// is faster, what a function is of goes down the column, the first rows of the
// batch element compute a share each, and the rows with tokens hear all of
// them.

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/attention/CachedTokens.h"
#include "compiler/kernels/elementwise/ElementwisePlan.h"

using namespace mlir;

namespace wsec {
namespace {

/// Cycles an element of the function that a PE calls; 0 where it calls none.
double functionCycles(Opcode opcode, const Machine &machine) {
  const double No = 0, Divide = machine.divideCycles,
               Function = machine.functionCycles;
  switch (opcode) {
#define WSEC_INSTRUCTION(Name, name, sources, numbers, software, words)        \
  case Opcode::Name:                                                           \
    return software;
#include "runtime/program/Opcodes.def"
  }
  return No;
}

/// Words from an element of an input to the next feature, sequence and token of
/// the result.
struct InputSteps {
  int64_t feature, sequence, token;
};

InputSteps stepsOf(const Layout &input, const Layout &result, int64_t height) {
  int64_t pitch = input.pitch(height);
  bool oneFeature = input.features.total() == 1 && input.features.replicated &&
                    !(result.features == input.features);
  bool perSequence = input.tokens == 1 && input.replicatedRows;
  InputSteps steps;
  steps.feature = oneFeature ? 0 : pitch;
  steps.token = perSequence ? 0 : 1;
  steps.sequence = perSequence ? 1 : input.tokens;
  return steps;
}

FailureOr<ElementwisePlan> planOf(wse::ElementwiseOp op) {
  return planElementwise(op.getInputs(), op.getResult(), op.getBody().front());
}

SmallVector<wse::WeightAttr> vectorsOf(wse::ElementwiseOp op) {
  return llvm::to_vector(op.getVectors().getAsRange<wse::WeightAttr>());
}

/// A vector for each use.
SmallVector<wse::WeightAttr> vectorUses(wse::ElementwiseOp op,
                                        const ElementwisePlan &plan) {
  return llvm::map_to_vector(plan.vectorUses, [&](unsigned vector) {
    return cast<wse::WeightAttr>(op.getVectors()[vector]);
  });
}

/// Whether floats of the type hold `value` as well as any number of its size:
/// bf16 has the range of f32.
bool fits(float value, Type element) {
  const float size = std::fabs(value);
  if (size == 0 || std::isinf(size) || element.isBF16())
    return true;
  return element.isF16() ? size >= 0x1p-14f && size <= 65504
                         : size >= 0x1p-30f && size <= 0x1.ff8p31f;
}

/// What the steps compute with. Results of 16 bits are computed in their own
/// type, but in f32 where integers or a constant ask for more.
struct Arithmetic {
  Type element;        ///< of temporary floats
  bool ownSlot = true; ///< whether slot 0 is the result itself

  Arithmetic(wse::ElementwiseOp op, const ElementwisePlan &plan) {
    Builder builder(op.getContext());
    auto elementOf = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getElementType();
    };
    const Type result = elementOf(op.getResult());
    element = result.isInteger() ? Type(builder.getF32Type()) : result;
    if (element.isF32())
      return;
    bool wide = llvm::is_contained(plan.integers, true) ||
                llvm::any_of(op.getInputs(), [&](Value input) {
                  return elementOf(input).isInteger();
                });
    for (const ElementwiseStep &step : plan.steps)
      for (const ElementwiseSource &source : step.sources)
        wide |= source.kind == ElementwiseSource::Immediate &&
                !fits(source.value, element);
    if (!wide)
      return;
    element = builder.getF32Type();
    ownSlot = plan.steps.size() == 1;
  }

  /// Temporary tensors that the plan asks for.
  int64_t temporaries(const ElementwisePlan &plan) const {
    return int64_t(plan.slots) - ownSlot;
  }
};

/// Whether a step is a function of what lies in SRAM as the result.
bool isFunctionOfAlike(wse::ElementwiseOp op, const ElementwisePlan &plan,
                       const ElementwiseStep &step, const Machine &machine) {
  if (functionCycles(step.opcode, machine) == 0 || step.sources.size() != 1 ||
      plan.integers[step.slot])
    return false;
  const ElementwiseSource &source = step.sources.front();
  return source.kind == ElementwiseSource::Slot
             ? !plan.integers[source.index]
             : source.kind == ElementwiseSource::Input &&
                   elementTypeOf(op.getInputs()[source.index]) ==
                       elementTypeOf(op.getResult());
}

/// Functions of a token along the rows, which all columns have: of each group
/// of `pitch` columns one computes `each` elements.
struct ColumnShares {
  int64_t pitch = 0; ///< 0: columns compute all
  int64_t perWord = 1;
  int64_t all = 0;
  int64_t each = 0; ///< in whole words

  ColumnShares(wse::ElementwiseOp op, const ElementwisePlan &plan,
               const Layout &layout, const Machine &machine) {
    if (!wse::liesAlongRows(op.getResult()) ||
        !streamedVectors(op, vectorsOf(op)).empty() ||
        Arithmetic(op, plan).element != elementTypeOf(op.getResult()))
      return;
    perWord = isNarrow(op.getResult()) ? 2 : 1;
    all = layout.pitch(machine.height);
    for (int64_t columns = 2; columns <= machine.width; ++columns) {
      ColumnShares other = *this;
      other.pitch = columns;
      other.each = llvm::alignTo(tileSizeMax(all, columns), perWord);
      if (machine.width % columns == 0 &&
          (!pitch || other.cycles(machine.functionCycles, machine) <
                         cycles(machine.functionCycles, machine)))
        *this = other;
    }
  }
  bool has(wse::ElementwiseOp op, const ElementwisePlan &plan,
           const ElementwiseStep &step, const Machine &machine) const {
    const double function = functionCycles(step.opcode, machine);
    return pitch && isFunctionOfAlike(op, plan, step, machine) &&
           cycles(function, machine) < function * double(all);
  }
  double cycles(double function, const Machine &machine) const {
    CostModel model(machine);
    return double(each) * function + 4 * machine.vectorSetup +
           std::max(model.chain(double(pitch), 0),
                    model.thereAndBack(double(all / perWord))) +
           model.multicast(double(pitch), 0);
  }
};

/// Functions of few tokens, which most rows have none of, where that is faster:
/// the first rows of a batch element compute `each` elements of its tokens, so
/// many that neither they nor their results on the way north take longest.
struct RowShares {
  int64_t rows = 0; ///< of a batch element; 0: rows compute what is their own
  int64_t all = 0;  ///< elements of its tokens
  int64_t each = 0;

  RowShares(wse::ElementwiseOp op, const ElementwisePlan &plan,
            const Layout &layout, const Machine &machine) {
    if (llvm::none_of(plan.steps, [&](const ElementwiseStep &step) {
          return functionCycles(step.opcode, machine) > 0;
        }))
      return;
    // Vectors would wait in the column while words of functions pass.
    if (layout.group <= layout.span || layout.replicatedRows ||
        !streamedVectors(op, vectorsOf(op)).empty() ||
        Arithmetic(op, plan).element != elementTypeOf(op.getResult()))
      return;
    rows = layout.group;
    all = layout.tokens * layout.features.largest(machine.width);
    each = tileSizeMax(all, rows);
    auto cyclesOf = [&](int64_t count) {
      RowShares other = *this;
      other.each = count;
      return other.cycles(machine.functionCycles, layout, machine);
    };
    for (int64_t fewer = used() - 1; fewer > 1; --fewer)
      if (const int64_t count = tileSizeMax(all, fewer);
          cyclesOf(count) < cyclesOf(each))
        each = count;
  }
  /// Rows that compute some.
  int64_t used() const { return (all + each - 1) / each; }
  bool has(wse::ElementwiseOp op, const ElementwisePlan &plan,
           const ElementwiseStep &step, const Layout &layout,
           const Machine &machine) const {
    const double function = functionCycles(step.opcode, machine);
    return rows && isFunctionOfAlike(op, plan, step, machine) &&
           cycles(function, layout, machine) <
               function * double(layout.words(machine.width, machine.height));
  }
  /// Cycles of a function of so many cycles an element.
  double cycles(double function, const Layout &layout,
                const Machine &machine) const {
    CostModel model(machine);
    Layout nearby = layout;
    nearby.group = std::max(layout.span, used());
    return double(each) * function +
           multicastTokensCycles(nearby,
                                 double(layout.features.largest(machine.width)),
                                 machine) +
           4 * machine.vectorSetup +
           std::max(model.chain(double(used()), 0),
                    model.thereAndBack(double(all))) +
           model.multicast(double(nearby.group), 0);
  }
};

/// Whether rows share some step.
bool sharesRows(wse::ElementwiseOp op, const ElementwisePlan &plan,
                const Machine &machine) {
  const Layout layout = Layout::of(op.getResult(), machine.height);
  const RowShares shares(op, plan, layout, machine);
  return llvm::any_of(plan.steps, [&](const ElementwiseStep &step) {
    return shares.has(op, plan, step, layout, machine);
  });
}

/// Whether columns do.
bool sharesColumns(wse::ElementwiseOp op, const ElementwisePlan &plan,
                   const ColumnShares &shares, const Machine &machine) {
  return llvm::any_of(plan.steps, [&](const ElementwiseStep &step) {
    return shares.has(op, plan, step, machine);
  });
}

class Elementwise final : public KernelFor<wse::ElementwiseOp> {
  KernelCost costOf(wse::ElementwiseOp op, const Machine &machine) const final;
  bool mayOverwriteOf(wse::ElementwiseOp op, unsigned index) const final;

  SmallVector<Relay> relays() const final {
    SmallVector<Relay> relays = columnRelays();
    relays.append(batchRelays());
    relays.append({{StreamPattern::RowWest, StreamPattern::RowWest},
                   {StreamPattern::RowWest, StreamPattern::HeadCast}});
    return relays;
  }
  SmallVector<StreamNeed> streamsOf(wse::ElementwiseOp op,
                                    const Machine &machine) const final {
    const Layout layout = Layout::of(op.getResult(), machine.height);
    SmallVector<StreamNeed> needs;
    if (!streamedVectors(op, vectorsOf(op)).empty())
      needs = columnStreams(layout, machine);
    FailureOr<ElementwisePlan> plan = planOf(op);
    if (failed(plan))
      return needs;
    if (sharesRows(op, *plan, machine))
      needs.append(batchStreams(layout));
    if (const ColumnShares shares(op, *plan, layout, machine);
        sharesColumns(op, *plan, shares, machine))
      needs.append(
          {{StreamPattern::RowWest, {}},
           {StreamPattern::HeadCast,
            {machine.width / shares.pitch, shares.pitch, shares.pitch}}});
    return needs;
  }
  SmallVector<HostFlow> flowsOf(wse::ElementwiseOp op,
                                const Machine &machine) const final;
  std::optional<HeldWeight> held(Operation *op, int, wse::WeightAttr weight,
                                 const Machine &machine) const final {
    return heldVector(op->getResult(0), weight, machine);
  }
  int64_t scratchWords(wse::ElementwiseOp op,
                       const Machine &machine) const final {
    FailureOr<ElementwisePlan> plan = planOf(op);
    if (failed(plan))
      return 0; // lowering says why
    const Arithmetic arithmetic(op, *plan);
    const Layout layout = Layout::of(op.getResult(), machine.height);
    const RowShares shares(op, *plan, layout, machine);
    const ColumnShares columns(op, *plan, layout, machine);
    return arithmetic.temporaries(*plan) *
               wordsOf(arithmetic.element,
                       layout.words(machine.width, machine.height)) +
           (sharesRows(op, *plan, machine)
                ? wordsOf(arithmetic.element, shares.all)
                : 0) +
           (sharesColumns(op, *plan, columns, machine)
                ? wordsOf(arithmetic.element, columns.each)
                : 0);
  }

  LogicalResult lowerOp(wse::ElementwiseOp op, RoutineBuilder &b) const final;
};

/// Where the two are laid out alike, and no instruction reads the input after
/// one has begun to write the result.
bool Elementwise::mayOverwriteOf(wse::ElementwiseOp op, unsigned index) const {
  if (op.getInputs()[index].getType() != op.getResult().getType())
    return false;
  FailureOr<ElementwisePlan> plan = planOf(op);
  if (failed(plan))
    return false; // lowering says why
  bool written = false;
  for (const ElementwiseStep &step : plan->steps) {
    for (const ElementwiseSource &source : step.sources)
      if (written && source.kind == ElementwiseSource::Input &&
          op.getInputs()[source.index] == op.getInputs()[index])
        return false;
    written |= step.slot == 0;
  }
  return true;
}

/// Cycles of a step over so many elements, but for its set-up.
double stepCycles(const ElementwiseStep &step, double elements, bool halves,
                  const Machine &machine) {
  if (const double cycles = functionCycles(step.opcode, machine); cycles > 0)
    return elements * cycles;
  return step.opcode == Opcode::Mov
             ? elements / (halves ? machine.copyRate16 : machine.copyRate)
             : elements / (halves ? machine.addRate16 : machine.addRate);
}

/// Whether all that steps read and write in SRAM has 16 bits.
bool computesInHalves(wse::ElementwiseOp op, const ElementwisePlan &plan) {
  return wse::elementBytes(op.getResult().getType()) == 2 &&
         !Arithmetic(op, plan).element.isF32() &&
         llvm::all_of(op.getInputs().getTypes(),
                      [](Type type) { return wse::elementBytes(type) == 2; });
}

/// The words of a vector are used by one step each.
SmallVector<HostFlow> Elementwise::flowsOf(wse::ElementwiseOp op,
                                           const Machine &machine) const {
  FailureOr<ElementwisePlan> plan = planOf(op);
  if (failed(plan))
    return {};
  const size_t words = streamedVectors(op, vectorUses(op, *plan)).size();
  if (words == 0)
    return {};
  Layout layout = Layout::of(op.getResult(), machine.height);
  double elements = layout.words(machine.width, machine.height);
  const bool halves = computesInHalves(op, *plan);
  double cycles = 0, first = -1, last = 0;
  for (const ElementwiseStep &step : plan->steps) {
    bool uses =
        llvm::any_of(step.sources, [&](const ElementwiseSource &source) {
          return source.kind == ElementwiseSource::Vector &&
                 !wse::residentOf(
                     op, cast<wse::WeightAttr>(op.getVectors()[source.index]));
        });
    if (uses && first < 0)
      first = cycles;
    cycles += machine.vectorSetup + stepCycles(step, elements, halves, machine);
    if (uses)
      last = cycles;
  }
  return {CostModel(machine).columnFlow(layout.features, words, first / cycles,
                                        last / cycles)};
}

KernelCost Elementwise::costOf(wse::ElementwiseOp op,
                               const Machine &machine) const {
  KernelCost cost;
  FailureOr<ElementwisePlan> plan = planOf(op);
  if (failed(plan))
    return cost;
  Layout layout = Layout::of(op.getResult(), machine.height);
  CostModel model(machine);
  double channels = layout.pitch(machine.height);
  const bool halves = computesInHalves(op, *plan);
  const RowShares shares(op, *plan, layout, machine);
  const ColumnShares columns(op, *plan, layout, machine);
  auto compute = [&](double features, bool least) {
    double elements = features * channels, cycles = 0;
    for (const ElementwiseStep &step : plan->steps)
      if (shares.has(op, *plan, step, layout, machine))
        cycles += least ? 0
                        : shares.cycles(functionCycles(step.opcode, machine),
                                        layout, machine);
      else if (columns.has(op, *plan, step, machine))
        cycles += least ? 0
                        : columns.cycles(functionCycles(step.opcode, machine),
                                         machine);
      else
        cycles += stepCycles(step, elements, halves, machine);
    return cycles;
  };
  double features = layout.features.largest(machine.width);
  double vectors = streamedVectors(op, vectorUses(op, *plan)).size();
  cost.compute =
      plan->steps.size() * (machine.vectorSetup + model.guard(layout)) +
      compute(features, /*least=*/false);
  cost.stream = model.channelCycles(layout, layout.features, vectors);
  cost.lowerBound =
      std::max(compute(double(layout.features.total()) / machine.width,
                       /*least=*/true),
               vectors * layout.features.total() / machine.westCount());
  return cost;
}

/// result = opcode(source) of the tokens of a batch element, of which its first
/// rows compute as many each; the rows with tokens keep their own.
static void overRows(RoutineBuilder &b, const Tile &out, Opcode opcode,
                     const RowShares &shares, const std::string &all,
                     const Operand &source, const Operand &result) {
  ScalarBuilder &s = b.scalars();
  const Layout &layout = out.layout;
  const int64_t rows = shares.rows, each = shares.each;
  Value features = RoutineBuilder::featureCount(s, layout.features);
  Value total = s.mul(features, layout.tokens);
  Value row = s.mod(s.py(), rows);
  Value first = s.min(s.mul(row, each), total);
  Value end = s.min(s.mul(s.add(row, 1), each), total);
  auto share = [&] {
    multicastTokens(b, out, {out.features, out.channels}, source, features,
                    {total}, Operand::memory(all, 0, {1}));
    GroupBlock block;
    block.extents = {s.sub(end, first)};
    block.own = Operand::memory(all, first, {1});
    block.wordsBehind = s.sub(total, end);
    block.anyBehind = s.less(end, total);
    b.vector(opcode, block.extents, block.own, {block.own});
    Operand kept = result;
    kept.strides.insert(kept.strides.begin(), 0);
    Value before =
        s.sub(out.firstToken, s.mul(s.div(s.py(), rows), layout.tokens));
    Operand heard = Operand::fabric(b.color(StreamPattern::KeyCast), 3);
    multicastBlocks(b, PEGroups::ofBatch(layout), block,
                    {1, out.features, out.channels}, kept,
                    heard.windowed(s.mul(before, features), total));
  };
  if (layout.batch * rows == b.height())
    return share();
  b.where(s.less(s.py(), layout.batch * rows), share);
}

/// result = opcode(source) of the elements of a row, of which the columns of a
/// group compute as many each.
static void overColumns(RoutineBuilder &b, const Tile &out, Opcode opcode,
                        const ColumnShares &shares, const std::string &own,
                        Operand source, const Operand &result) {
  ScalarBuilder &s = b.scalars();
  auto inWords = [&](Value elements) {
    return s.div(s.add(elements, shares.perWord - 1), shares.perWord);
  };
  auto asWords = [&](const std::string &buffer) {
    return shares.perWord == 2 ? b.wordsOf(buffer) : buffer;
  };
  Value column = s.mod(s.px(), shares.pitch), total = out.channels;
  Value first = s.min(s.mul(column, shares.each), total);
  Value end = s.min(s.mul(s.add(column, 1), shares.each), total);
  source.offset = source.offset + Affine(first);
  b.vector(opcode, {1, s.sub(end, first)}, Operand::memory(own, 0, {1, 1}),
           {source});
  GroupBlock block;
  block.extents = {s.sub(inWords(end), inWords(first))};
  block.own = Operand::memory(asWords(own), 0, {1});
  block.wordsBehind = s.sub(inWords(total), inWords(end));
  block.anyBehind = s.less(end, total);
  block.anyOwn = s.less(first, end);
  multicastBlocks(b, {shares.pitch, StreamPattern::HeadCast}, block,
                  {inWords(total)},
                  Operand::memory(asWords(result.buffer), 0, {1}),
                  Operand::fabric(b.color(StreamPattern::HeadCast)));
}

LogicalResult Elementwise::lowerOp(wse::ElementwiseOp op,
                                   RoutineBuilder &b) const {
  FailureOr<ElementwisePlan> plan = planOf(op);
  if (failed(plan))
    return failure();
  Tile out = b.tile(op.getResult());
  const Layout &layout = out.layout;
  // Rows with whole batch elements tell sequences and tokens apart.
  bool bySequence = layout.group == 0;
  auto vectors = b.bringVectors(vectorUses(op, *plan), layout.features,
                                /*inner=*/bySequence ? 2 : 1);
  const Operand *nextVector = vectors.begin();
  SmallVector<Affine> extents = {out.features};
  if (bySequence)
    extents.push_back(out.sequences);
  extents.push_back(out.tokens);
  auto memory = [&](StringRef buffer, InputSteps steps) {
    if (bySequence)
      return Operand::memory(buffer, 0,
                             {steps.feature, steps.sequence, steps.token});
    return Operand::memory(buffer, 0, {steps.feature, steps.token});
  };

  SmallVector<Operand, 0> inputs, slots;
  for (Value input : op.getInputs())
    inputs.push_back(
        memory(b.tile(input).buffer,
               stepsOf(Layout::of(input, b.height()), layout, b.height())));
  InputSteps steps = {out.pitch, layout.tokens, 1};
  const Operand result = memory(out.buffer, steps);
  const Arithmetic arithmetic(op, *plan);
  if (arithmetic.ownSlot)
    slots.push_back(result);
  Builder types(op.getContext());
  for (unsigned slot = slots.size(); slot < plan->slots; ++slot) {
    Type element = arithmetic.element;
    if (plan->integers[slot])
      element = types.getI32Type();
    slots.push_back(memory(
        b.scratch("temporary", layout.words(b.width(), b.height()), element),
        steps));
  }

  const RowShares shares(op, *plan, layout, b.machine());
  const ColumnShares columns(op, *plan, layout, b.machine());
  auto isShared = [&](const ElementwiseStep &step) {
    return shares.has(op, *plan, step, layout, b.machine());
  };
  std::string all, own;
  if (sharesColumns(op, *plan, columns, b.machine()))
    own = b.scratch("of_column", columns.each, arithmetic.element);
  if (sharesRows(op, *plan, b.machine()))
    all = b.scratch("of_all_rows", shares.all, arithmetic.element);
  auto run = [&](ArrayRef<ElementwiseStep> steps) {
    for (const ElementwiseStep &step : steps) {
      SmallVector<Operand, 0> sources;
      for (const ElementwiseSource &source : step.sources)
        switch (source.kind) {
        case ElementwiseSource::Slot:
          sources.push_back(slots[source.index]);
          break;
        case ElementwiseSource::Input:
          sources.push_back(inputs[source.index]);
          break;
        case ElementwiseSource::Vector:
          sources.push_back(*nextVector++);
          break;
        case ElementwiseSource::Immediate:
          sources.push_back(Operand::immediate(source.value));
          break;
        }
      pe::Issue issue;
      issue.noWrap = step.noWrap;
      // Where an instruction reads what it writes, that is not the result yet.
      const bool reads =
          step.opcode == Opcode::Select || step.opcode == Opcode::Fmac;
      const bool last = &step == &plan->steps.back();
      const Operand &slot = slots[step.slot];
      if (step.keepsBits) {
        Operand to = last ? result : slot;
        for (Operand *operand : {&to, &sources.front()})
          operand->buffer = b.wordsOf(operand->buffer);
        b.vector(Opcode::Mov, extents, to, sources);
        continue;
      }
      if (isShared(step)) {
        overRows(b, out, step.opcode, shares, all, sources.front(),
                 last ? result : slot);
        continue;
      }
      if (columns.has(op, *plan, step, b.machine())) {
        overColumns(b, out, step.opcode, columns, own, sources.front(),
                    last ? result : slot);
        continue;
      }
      b.vector(step.opcode, extents, last && !reads ? result : slot, sources,
               issue);
      if (last && reads && slot.buffer != result.buffer)
        b.vector(Opcode::Mov, extents, result, {slot});
    }
  };
  // All rows of a batch element share in functions, those with tokens compute
  // what lies between them.
  for (ArrayRef<ElementwiseStep> rest = plan->steps; !rest.empty();) {
    const bool shared = isShared(rest.front());
    const size_t count = shared ? 1 : rest.take_until(isShared).size();
    if (shared)
      run(rest.take_front());
    else
      b.where(out.active, [&] { run(rest.take_front(count)); });
    rest = rest.drop_front(count);
  }
  return success();
}

} // namespace

WSEC_DEFINE_KERNEL(Elementwise)

} // namespace wsec
