// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/code/RoutineText.h"

#include <numeric>

using namespace mlir;
using namespace wsec;

void wsec::visitSlots(Operation *op, function_ref<void(Slot &)> visit) {
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

bool wsec::mayVary(Operation *op) { return isa<pe::VectorOp, pe::StoreOp>(op); }

std::vector<const void *> Statement::variant(IsFixed isFixed) const {
  std::vector<const void *> its;
  auto number = [](int64_t value) {
    return reinterpret_cast<const void *>(value);
  };
  if (!mayVary(op))
    return its;
  if (auto vector = dyn_cast<pe::VectorOp>(op)) {
    its.push_back(vector.getGuard().getAsOpaquePointer());
    for (Attribute source : {vector.getAAttr(), vector.getBAttr()})
      its.push_back(isa_and_nonnull<FloatAttr>(source)
                        ? source.getAsOpaquePointer()
                        : nullptr);
  }
  for (const Slot &slot : slots) {
    for (const auto &[value, scale] : slot.value.terms)
      if (isFixed(value))
        its.insert(its.end(), {value.getAsOpaquePointer(), number(scale)});
    its.insert(its.end(),
               {nullptr, number(slot.isColor ? slot.value.constant : 0)});
  }
  return its;
}

std::vector<Statement> wsec::statementsOf(Operation *op) {
  std::vector<Statement> statements;
  op->walk([&](Operation *inner) {
    if (!isa<pe::RoutineOp>(inner))
      statements.emplace_back(inner);
  });
  return statements;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Places::Places(wse::ProgramOp source, ClassBuilder &its) : its(its) {
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
    BufferPlace place{int64_t(*buffer.getAddress()), int64_t(buffer.getBytes()),
                      buffer.getType()};
    auto next = persistent.upper_bound(place.address);
    if (next != persistent.begin() && std::prev(next)->second > place.address)
      place.kind = BufferPlace::Resident;
    for (const BufferPlace &state : states)
      if (state.address <= place.address && place.end() <= state.end())
        place.kind = BufferPlace::State;
    places[buffer.getSymName()] = place;
  }
}

/// Whether a buffer of these bytes has to do with what stays as those of this
/// kind have: it is the bytes of persistent ones, or has none of theirs.
bool Places::canHold(BufferPlace::Kind kind, int64_t begin, int64_t end) const {
  if (kind == BufferPlace::Passing)
    return llvm::all_of(persistent, [&](const auto &held) {
      return held.second <= begin || end <= held.first;
    });
  for (auto next = persistent.find(begin);
       begin < end && next != persistent.end(); next = persistent.find(begin))
    begin = next->second;
  return begin == end;
}

std::optional<Numbers> Places::numbers(ArrayRef<const Slot *> slots) const {
  Numbers its;
  for (const Slot *slot : slots)
    its.values.push_back(slot->value.constant);
  if (llvm::all_of(slots, [&](const Slot *slot) {
        return slot->buffer == slots[0]->buffer;
      }))
    return its;
  const BufferPlace &first = of(slots[0]->buffer);
  its.type = first.type;
  its.begin = first.address;
  for (const Slot *slot : slots) {
    its.begin = std::min(its.begin, of(slot->buffer).address);
    its.end = std::max(its.end, of(slot->buffer).end());
  }
  if (!canHold(first.kind, its.begin, its.end))
    return std::nullopt;
  const int64_t element = pe::elementBytes(its.type);
  for (auto [slot, value] : llvm::zip_equal(slots, its.values)) {
    const int64_t distance = of(slot->buffer).address - its.begin;
    if (distance % element != 0)
      return std::nullopt;
    value += distance / element;
  }
  return its;
}

std::string Places::around(StringRef first, const Numbers &numbers) {
  const std::string name =
      its.buffer((first + "_and_more").str(), numbers.begin,
                 numbers.end - numbers.begin, numbers.type, "");
  places.try_emplace(name,
                     BufferPlace{numbers.begin, numbers.end - numbers.begin,
                                 numbers.type, of(first).kind});
  return name;
}

void Places::makeShape(Operation *op, Carried carried, IsFixed isFixed) const {
  auto fixed = [&](const auto &term) { return isFixed(term.first); };
  visitSlots(op, [&](Slot &slot) {
    if (!slot.buffer.empty()) {
      const BufferPlace &place = of(slot.buffer);
      if (carried != Carried::StateAddresses ||
          place.kind == BufferPlace::State) {
        slot.buffer.clear();
        llvm::raw_string_ostream(slot.buffer)
            << int(place.kind) << " " << place.type;
      }
    }
    if (carried != Carried::Numbers)
      return;
    if (!slot.isColor || llvm::all_of(slot.value.terms, fixed))
      slot.value.constant = 0;
    if (mayVary(op))
      llvm::erase_if(slot.value.terms, fixed);
  });
  auto vector = dyn_cast<pe::VectorOp>(op);
  if (!vector || carried != Carried::Numbers)
    return;
  vector.getGuardMutable().clear();
  const Attribute zero = Builder(op->getContext()).getF32FloatAttr(0);
  if (isa<FloatAttr>(vector.getAAttr()))
    vector.setAAttr(zero);
  if (isa_and_nonnull<FloatAttr>(vector.getBAttr()))
    vector.setBAttr(zero);
}
