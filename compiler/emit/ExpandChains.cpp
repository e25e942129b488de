// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains of PEs as what they stand for: routes, and colors that depend on
// whether a PE's column or row is odd.

#include "compiler/emit/Translation.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace wsec::emit {

using pe::Port;

namespace {
/// The axis of a chain, and the way along it.
struct Way {
  bool alongX;
  int64_t step;
};
} // namespace

static Way wayOf(Port direction) {
  return {isAlongRows(direction),
          direction == Port::East || direction == Port::South ? 1 : -1};
}

//===----------------------------------------------------------------------===//
// Routes
//===----------------------------------------------------------------------===//

// Every other PE from `begin` on; nothing if there is none.
static pe::RectAttr everyOther(pe::RectAttr rect, bool alongX, int64_t begin,
                               int64_t end) {
  if (begin >= end)
    return {};
  if (alongX)
    return pe::RectAttr::get(rect.getContext(),
                             {begin, end, 2, rect.getY0(), rect.getY1(), 1});
  return pe::RectAttr::get(rect.getContext(),
                           {rect.getX0(), rect.getX1(), 1, begin, end, 2});
}

static void writeRoutes(pe::ChainOp chain) {
  OpBuilder builder(chain);
  const pe::RectAttr rect = chain.getRect();
  const Way way = wayOf(chain.getDirection());
  const int64_t begin = way.alongX ? rect.getX0() : rect.getY0(),
                end = way.alongX ? rect.getX1() : rect.getY1();
  // All but the last one in the chain's direction send.
  const int64_t first = way.step > 0 ? begin : begin + 1,
                last = way.step > 0 ? end - 1 : end;
  for (int64_t parity : {0, 1}) {
    const int64_t start = first + (first % 2 == parity ? 0 : 1);
    const int64_t color = parity ? chain.getOdd() : chain.getEven();
    if (auto senders = everyOther(rect, way.alongX, start, last))
      pe::RouteOp::create(builder, chain.getLoc(), color, senders, Port::Ramp,
                          portBit(chain.getDirection()));
    if (auto receivers =
            everyOther(rect, way.alongX, start + way.step, last + way.step))
      pe::RouteOp::create(builder, chain.getLoc(), color, receivers,
                          opposite(chain.getDirection()), portBit(Port::Ramp));
  }
}

//===----------------------------------------------------------------------===//
// Colors
//===----------------------------------------------------------------------===//

namespace {
/// Whether the PEs of a class are in odd columns or rows.
class Parities {
public:
  explicit Parities(pe::ClassOp peClass) : peClass(peClass) {}

  /// Where all are alike.
  std::optional<int64_t> known(bool alongX);
  /// A scalar that says so; one that the class has, or a new one.
  Value scalar(bool alongX);

private:
  pe::ClassOp peClass;
  Value scalars[2];
};
} // namespace

std::optional<int64_t> Parities::known(bool alongX) {
  std::optional<int64_t> parity;
  for (auto rect : peClass.getRects().getAsRange<pe::RectAttr>()) {
    const int64_t begin = alongX ? rect.getX0() : rect.getY0(),
                  end = alongX ? rect.getX1() : rect.getY1(),
                  step = alongX ? rect.getXstep() : rect.getYstep();
    if (end - begin > step && step % 2 != 0)
      return std::nullopt;
    if (parity.value_or(begin % 2) != begin % 2)
      return std::nullopt;
    parity = begin % 2;
  }
  return parity;
}

static bool isNumber(OpFoldResult input, int64_t number) {
  if (auto attribute = dyn_cast<Attribute>(input))
    return cast<IntegerAttr>(attribute).getInt() == number;
  auto constant = cast<Value>(input).getDefiningOp<pe::ConstantOp>();
  return constant && int64_t(constant.getValue()) == number;
}

Value Parities::scalar(bool alongX) {
  Value &parity = scalars[alongX];
  if (parity)
    return parity;
  const auto kind = alongX ? pe::ScalarKind::Px : pe::ScalarKind::Py;
  pe::ScalarOp place;
  for (auto scalar : peClass.getOps<pe::ScalarOp>()) {
    if (scalar.getKind() == kind && !place)
      place = scalar;
    if (scalar.getKind() != pe::ScalarKind::Mod)
      continue;
    auto inputs = scalar.getMixedInputs();
    auto of = dyn_cast<Value>(inputs[0]);
    auto its = of ? of.getDefiningOp<pe::ScalarOp>() : nullptr;
    if (its && its.getKind() == kind && isNumber(inputs[1], 2))
      return parity = scalar;
  }
  Block &body = peClass.getBody().front();
  OpBuilder builder(body.getParentOp()->getContext());
  builder.setInsertionPointToStart(&body);
  auto type = pe::ScalarType::get(builder.getContext());
  if (place)
    builder.setInsertionPointAfter(place);
  else
    place = pe::ScalarOp::create(builder, peClass.getLoc(), type, kind,
                                 ValueRange());
  return parity = pe::ScalarOp::create(
             builder, peClass.getLoc(), type, pe::ScalarKind::Mod,
             ValueRange(place),
             builder.getDenseI64ArrayAttr({ShapedType::kDynamic, 2}));
}

// A PE in an odd column sends on the odd color; its neighbour, whom it hears,
// on the even one.
static Attribute withColor(pe::VectorOp op, Attribute operand, bool sends,
                           const mlir::SymbolTable &symbols,
                           Parities &parities) {
  auto fabric = llvm::dyn_cast_or_null<pe::FabricAttr>(operand);
  if (!fabric || !fabric.getChain())
    return operand;
  auto chain = symbols.lookup<pe::ChainOp>(fabric.getChain().getValue());
  int64_t even = chain.getEven(), odd = chain.getOdd();
  if (!sends)
    std::swap(even, odd);
  const bool alongX = wayOf(chain.getDirection()).alongX;
  MLIRContext *context = op.getContext();
  pe::AffineAttr color;
  if (std::optional<int64_t> parity = parities.known(alongX)) {
    color = pe::AffineAttr::get(context, *parity ? odd : even, {}, {});
  } else {
    const int64_t number = op.getValues().size();
    op.getValuesMutable().append(parities.scalar(alongX));
    color = pe::AffineAttr::get(context, even, {number}, {odd - even});
  }
  return pe::FabricAttr::get(context, color, fabric.getDepth(),
                             fabric.getWindowOffset(), fabric.getWindowTotal(),
                             fabric.getType(), fabric.getPair(),
                             fabric.getIndex());
}

void expandChains(pe::ProgramOp program) {
  mlir::SymbolTable symbols(program);
  for (auto peClass : program.getOps<pe::ClassOp>()) {
    Parities parities(peClass);
    peClass.walk([&](pe::VectorOp op) {
      op.setDstAttr(withColor(op, op.getDst(), true, symbols, parities));
      if (Attribute a = op.getAAttr())
        op.setAAttr(withColor(op, a, false, symbols, parities));
      if (Attribute b = op.getBAttr())
        op.setBAttr(withColor(op, b, false, symbols, parities));
    });
  }
  for (auto chain : llvm::make_early_inc_range(program.getOps<pe::ChainOp>())) {
    writeRoutes(chain);
    chain.erase();
  }
}

} // namespace wsec::emit
