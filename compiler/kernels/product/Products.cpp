// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several products of a token with weights that stay, which only differ in
// these: what each would wait for alone, activations on their way down, sums
// along the rows, results on their way north, they wait for once.
// StationaryProduct.h has what they share with one alone.

#include "compiler/kernels/Selection.h"
#include "compiler/kernels/product/BatchedProduct.h"
#include "compiler/kernels/product/MatmulShape.h"
#include "compiler/kernels/product/StationaryProduct.h"
#include "compiler/machine/Machine.h"
#include "dialects/onnx/Onnx.h"

#include "llvm/ADT/SetVector.h"

#include <limits>

using namespace mlir;

namespace wsec {
namespace {

SmallVector<MatmulForm> formsOf(wse::ProductsOp op) {
  return llvm::map_to_vector(
      llvm::seq<unsigned>(op.getNumResults()),
      [&](unsigned number) { return MatmulForm(op, number); });
}

TogetherShape shapeOf(wse::ProductsOp op, const Machine &machine) {
  return TogetherShape(formsOf(op), machine);
}

/// Those of an input along the rows.
std::optional<RowsProducts> ofRows(wse::ProductsOp op, const Machine &machine) {
  if (!wse::liesAlongRows(op.getInput()))
    return std::nullopt;
  return RowsProducts(formsOf(op), machine);
}

bool canBe(wse::ProductsOp op, const Machine &machine) {
  if (auto products = ofRows(op, machine))
    return products->canBe(machine);
  return shapeOf(op, machine).canBe(machine) &&
         llvm::all_equal(llvm::map_range(op.getResults(), [](Value result) {
           return wse::liesAlongRows(result);
         }));
}

class Products final : public KernelFor<wse::ProductsOp> {
  KernelCost costOf(wse::ProductsOp op, const Machine &machine) const final {
    const auto product = ofRows(op, machine);
    KernelCost cost =
        product ? product->cost(machine) : shapeOf(op, machine).cost(machine);
    const CostModel model(machine, isNarrow(op.getInput()));
    for (const MatmulForm &form : formsOf(op))
      cost.lowerBound +=
          model.leastFmacs(double(form.getWeight().getType().getNumElements()) /
                           machine.peCount());
    return cost;
  }
  std::optional<HeldWeight> held(Operation *op, int, wse::WeightAttr weight,
                                 const Machine &machine) const final {
    auto products = cast<wse::ProductsOp>(op);
    if (auto product = ofRows(products, machine))
      return product->held(weight);
    for (const MatmulForm &form : formsOf(products))
      if (form.getWeight() == weight)
        return heldStationary(form, machine);
    if (products.getScale() == weight)
      return heldVector(products.getInput(), weight, machine);
    return std::nullopt;
  }
  SmallVector<Relay> relays() const final { return stationaryRelays(); }
  SmallVector<StreamNeed> streamsOf(wse::ProductsOp op,
                                    const Machine &machine) const final {
    if (auto product = ofRows(op, machine))
      return product->streams(machine);
    const TogetherShape shape = shapeOf(op, machine);
    return sumStreams(machine, double(shape.sums()), shape.toRows);
  }
  int64_t scratchWords(wse::ProductsOp op, const Machine &machine) const final {
    if (auto product = ofRows(op, machine))
      return product->scratchWords();
    return shapeOf(op, machine).words();
  }
  LogicalResult lowerOp(wse::ProductsOp op, RoutineBuilder &b) const final {
    const SmallVector<MatmulForm> forms = formsOf(op);
    for (wse::WeightAttr weight : wse::allWeights(op))
      if (!wse::residentOf(op, weight))
        return op.emitOpError("needs ") << weight.getName() << " on the wafer";
    if (!canBe(op, b.machine()))
      return op.emitOpError("cannot keep its weights in the ")
             << b.width() << "x" << b.height()
             << " PEs: each has as many result features as rows, and more than "
                "one row and column";
    if (auto product = ofRows(op, b.machine()))
      product->lower(b);
    else
      lowerTogether(forms, b);
    return success();
  }
};

/// A constant that may stay.
bool mayStay(Operation *op, wse::WeightAttr weight) {
  wse::ParameterOp parameter = wse::parameterOf(op, weight);
  return parameter && !parameter.getTrainable();
}

/// Whether it is of one token, with constants and no bias.
bool isAlike(const MatmulForm &product) {
  const wse::TokenTiling tiling = tilingOf(product.getInput());
  return !product.getBias() && !product.getEntry() &&
         mayStay(product, product.getWeight()) && !isBatched(product) &&
         tiling.getBatch() * tiling.getTokens() == 1 && tiling.splitsRows() &&
         elementTypeOf(product.getInput()) ==
             elementTypeOf(product.getResult());
}

double cyclesOf(Operation *op, const Machine &machine) {
  return findKernel(op)->cost(op, machine).total();
}

/// The norm that all of these are of, and nobody else reads; null: there is
/// none.
wse::RMSNormOp normOf(ArrayRef<MatmulForm> forms) {
  auto norm = forms.front().getInput().getDefiningOp<wse::RMSNormOp>();
  auto isOne = [&](Operation *user) {
    return llvm::any_of(forms, [&](const MatmulForm &form) {
      return static_cast<Operation *>(form) == user;
    });
  };
  return norm && !norm.getByHead() && mayStay(norm, norm.getScale()) &&
                 llvm::all_of(norm->getUsers(), isOne)
             ? norm
             : wse::RMSNormOp();
}

/// One operation of all of these, beside them.
wse::ProductsOp together(ArrayRef<MatmulForm> forms, wse::RMSNormOp norm) {
  SmallVector<Attribute> weights, nodes, values;
  llvm::SetVector<Attribute> absorbed;
  Operation *first = forms.front();
  OpBuilder builder(first);
  auto names = [&](Operation *op) {
    llvm::append_range(nodes, cast<wse::KernelOp>(op).getNodeNames());
    if (auto its = op->getAttrOfType<ArrayAttr>(onnx::absorbedAttrName))
      absorbed.insert_range(its);
  };
  if (norm)
    names(norm);
  for (const MatmulForm &form : forms) {
    names(form);
    weights.push_back(form.getWeight());
    Operation *op = form;
    auto its = op->getAttrOfType<ArrayAttr>(onnx::valuesAttrName);
    values.push_back(its ? its[0] : builder.getArrayAttr({}));
  }
  auto all = createKernel<wse::ProductsOp>(
      builder, first->getLoc(), builder.getArrayAttr(nodes),
      cast<wse::KernelOp>(first).getRegionRef(),
      llvm::map_to_vector(
          forms,
          [](const MatmulForm &form) -> Type { return form.resultType(); }),
      norm ? norm.getInput() : forms.front().getInput(),
      norm ? norm.getScaleAttr() : wse::WeightAttr(),
      norm ? norm.getEpsilonAttr() : FloatAttr(),
      builder.getArrayAttr(weights));
  if (!absorbed.empty())
    all->setAttr(onnx::absorbedAttrName,
                 builder.getArrayAttr(absorbed.getArrayRef()));
  all->setAttr(onnx::valuesAttrName, builder.getArrayAttr(values));
  return all;
}

/// Whether others read a weight of the kernel: then it would stay twice, in two
/// ways.
bool sharesWeights(Operation *op) {
  auto reads = [&](wse::KernelOp kernel) {
    return kernel != op &&
           llvm::any_of(wse::allWeights(kernel), [&](wse::WeightAttr weight) {
             return llvm::any_of(wse::allWeights(op), [&](wse::WeightAttr its) {
               return its.getName() == weight.getName();
             });
           });
  };
  return llvm::any_of(op->getParentOfType<wse::ProgramOp>().kernels(), reads);
}

/// Of one token in a row, that type along the rows; null: it is of another.
Type alongRows(Value value) {
  const auto type = cast<RankedTensorType>(value.getType());
  const wse::TokenTiling tiling = tilingOf(value);
  if (tiling.getBatch() * tiling.getTokens() != 1 || !tiling.splitsRows() ||
      wse::featuresOf(type) < 2 || !isa<FloatType>(type.getElementType()))
    return {};
  return wse::TokenTiling(1, wse::featuresOf(type))
      .withColumns(wse::ColumnPlacement::Replicated)
      .type(1, type.getElementType());
}

/// Has a product of what is made, element by element, of the results of
/// products take it along the rows: there is no way north, and none down the
/// columns, between them.
///
///   %g, %u = products %x      in a row    -> along the rows
///   %m = elementwise %g, %u   in a row    -> along the rows
///   %y = matmul %m            in a row       sums go north
void takeAlongRows(const MatmulForm &last) {
  auto between = last.getInput().getDefiningOp<wse::ElementwiseOp>();
  if (!between || sharesWeights(last) || !between.getVectors().empty() ||
      !between.getResult().hasOneUse() || between.getInputs().empty())
    return;
  auto products = between.getInputs()[0].getDefiningOp<wse::ProductsOp>();
  const Type along = alongRows(between.getResult());
  if (!products || !along || wse::liesAlongRows(products.getInput()) ||
      llvm::any_of(between.getInputs(),
                   [&](Value input) {
                     return input.getDefiningOp() != products ||
                            input.getType() != between.getResult().getType();
                   }) ||
      llvm::any_of(products->getUsers(),
                   [&](Operation *user) { return user != between; }))
    return;
  for (Value result : products.getResults())
    result.setType(along);
  between.getResult().setType(cast<RankedTensorType>(along));
  last.getResult().replaceAllUsesWith(together(last, {}).getResult(0));
  static_cast<Operation *>(last)->erase();
}

/// A sum of a value and the product of another, with weights of its own.
struct ResidualSum {
  wse::ElementwiseOp sum;
  wse::MatmulOp product;
  Value other;

  static std::optional<ResidualSum> of(wse::ElementwiseOp op) {
    const ValueRange inputs = op.getInputs();
    if (inputs.size() != 2 || !op.getVectors().empty() ||
        !alongRows(op.getResult()) || llvm::any_of(inputs, [&](Value input) {
          return input.getType() != op.getResult().getType();
        }))
      return std::nullopt;
    for (int i : {0, 1})
      if (auto product = inputs[i].getDefiningOp<wse::MatmulOp>();
          product && inputs[i].hasOneUse() && isAlike(MatmulForm(product)) &&
          !sharesWeights(product))
        return ResidualSum{op, product, inputs[1 - i]};
    return std::nullopt;
  }
};

Value turned(Value value, Type type, OpBuilder &builder) {
  auto maker = cast<wse::KernelOp>(value.getDefiningOp());
  return createKernel<wse::RedistributeOp>(
      builder, value.getLoc(), maker.getNodeNames(), maker.getRegionRef(), type,
      value, builder.getI64IntegerAttr(1));
}

/// Has products alternate: what they add to one another lies along the rows,
/// what they make of that in a row. So none brings its results back to where
/// its input was: each has one way less, or two.
///
///   %q = products %x       along the rows -> in a row
///   %o = attention %q      in a row
///   %p = products %o       in a row       -> along the rows
///   %y = %x + %p           along the rows
void alternate(Block &block) {
  SmallVector<ResidualSum> sums;
  llvm::SmallDenseMap<Value, Value> along; // what sums are of, and they
  for (auto op : block.getOps<wse::ElementwiseOp>())
    if (auto sum = ResidualSum::of(op)) {
      sums.push_back(*sum);
      along[op.getResult()] = op.getResult();
    }
  for (ResidualSum &its : sums) {
    const Type inRow = its.sum.getResult().getType();
    const Type type = alongRows(its.sum.getResult());
    OpBuilder builder(its.sum);
    wse::ProductsOp product = together(MatmulForm(its.product), {});
    product.getResult(0).setType(type);
    Value &other = along[its.other];
    if (!other) {
      builder.setInsertionPointAfterValue(its.other);
      other = turned(its.other, type, builder);
    }
    its.sum->replaceUsesOfWith(its.other, other);
    its.sum->replaceUsesOfWith(its.product.getResult(), product.getResult(0));
    its.product.erase();
    its.sum.getResult().setType(cast<RankedTensorType>(type));
    Value back;
    for (OpOperand &use : llvm::make_early_inc_range(its.sum->getUses())) {
      Operation *user = use.getOwner();
      if (llvm::any_of(sums,
                       [&](const ResidualSum &sum) {
                         return sum.sum == user && sum.other == use.get();
                       }) ||
          (isa<wse::ProductsOp>(user) && !sharesWeights(user)))
        continue;
      if (!back) {
        builder.setInsertionPointAfter(its.sum);
        back = turned(its.sum.getResult(), inRow, builder);
      }
      if (back.getDefiningOp() != user)
        use.set(back);
    }
  }
}

/// Of a program with weights that stay; infinite where it has products that
/// cannot be.
double cyclesOf(wse::ProgramOp program, const Machine &machine) {
  double cycles = 0;
  for (wse::KernelOp kernel : program.kernels()) {
    if (auto all = dyn_cast<wse::ProductsOp>(*kernel);
        all && !canBe(all, machine))
      return std::numeric_limits<double>::infinity();
    auto product = dyn_cast<wse::MatmulOp>(*kernel);
    if (product && isAlike(MatmulForm(product)) &&
        TogetherShape(MatmulForm(product), machine).canBe(machine))
      cycles +=
          TogetherShape(MatmulForm(product), machine).cost(machine).total();
    else if (findKernel(kernel))
      cycles += cyclesOf(kernel, machine);
  }
  return cycles;
}

/// Bytes of the PE that has most of them, of weights that stay.
int64_t heldBytes(wse::ProgramOp program, const Machine &machine) {
  int64_t bytes = 0;
  auto add = [&](const std::optional<HeldWeight> &held) {
    if (held)
      bytes += wse::DistAttr::heldBytesPerPE(held->type, machine.width,
                                             machine.height);
  };
  for (wse::KernelOp kernel : program.kernels()) {
    auto product = dyn_cast<wse::MatmulOp>(*kernel);
    if (product && isAlike(MatmulForm(product)))
      add(heldStationary(MatmulForm(product), machine));
    else if (auto all = dyn_cast<wse::ProductsOp>(*kernel))
      for (wse::WeightAttr weight : wse::allWeights(all))
        add(findKernel(all)->held(all, findKernel(all)->variantOf(all), weight,
                                  machine));
  }
  return bytes;
}

} // namespace

wse::ProgramOp layAlongRows(wse::ProgramOp program, const Machine &machine,
                            int64_t room) {
  OpBuilder builder(program->getContext());
  builder.setInsertionPointAfter(program);
  SmallVector<OwningOpRef<wse::ProgramOp>, 2> others;
  for (int i = 0; i < 2; ++i)
    others.emplace_back(cast<wse::ProgramOp>(builder.clone(*program)));
  for (Block *block : others[0]->entryBlocks())
    alternate(*block);
  for (Block *block : others[1]->entryBlocks())
    for (auto product :
         llvm::make_early_inc_range(block->getOps<wse::MatmulOp>()))
      if (isAlike(MatmulForm(product)))
        takeAlongRows(MatmulForm(product));
  room = std::max(room, heldBytes(program, machine));
  OwningOpRef<wse::ProgramOp> best = program;
  for (OwningOpRef<wse::ProgramOp> &other : others)
    if (cyclesOf(*other, machine) < cyclesOf(*best, machine) &&
        heldBytes(*other, machine) <= room)
      std::swap(best, other);
  return best.release();
}

/// Those that have room together, with the norm that they are of.
bool joinProducts(ArrayRef<MatmulForm> products, const Machine &machine) {
  SmallVector<MatmulForm> forms;
  double apart = 0;
  for (const MatmulForm &product : products) {
    if (!isAlike(product))
      continue;
    forms.push_back(product);
    if (TogetherShape(forms, machine).canBe(machine))
      apart += TogetherShape(product, machine).cost(machine).total();
    else
      forms.pop_back();
  }
  if (forms.empty())
    return false;
  // It is divided by its root after the products: until then f16 may not hold
  // its values times the scale.
  const bool holdsScaled =
      !elementTypeOf(forms.front().getInput()).isF16() ||
      hasPrecisionLevel(forms.front(), PrecisionLevel::NarrowProducts);
  for (wse::RMSNormOp norm :
       {holdsScaled ? normOf(forms) : wse::RMSNormOp(), wse::RMSNormOp()}) {
    // Results that only leave the wafer may do so piece by piece.
    if (forms.size() < 2 &&
        (!norm || llvm::any_of(forms.front().getResult().getUsers(),
                               [](Operation *user) {
                                 return user->getNumResults() == 0;
                               })))
      continue;
    wse::ProductsOp all = together(forms, norm);
    if (!shapeOf(all, machine).canBe(machine) ||
        cyclesOf(all, machine) >=
            apart + (norm ? cyclesOf(norm, machine) : 0)) {
      all.erase();
      continue;
    }
    for (auto [form, result] : llvm::zip_equal(forms, all.getResults())) {
      form.getResult().replaceAllUsesWith(result);
      static_cast<Operation *>(form)->erase();
    }
    if (norm)
      norm.erase();
    return true;
  }
  return false;
}

WSEC_DEFINE_KERNEL(Products)

} // namespace wsec
