// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/Handovers.h"
#include "compiler/kernels/Selection.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

/// A name that no tensor of the program has.
std::string Handovers::freeName(StringRef name) {
  if (taken.empty())
    program.walk([&](Operation *op) {
      if (auto symbol = dyn_cast<SymbolOpInterface>(op))
        taken.insert(symbol.getName());
      if (StringAttr written = wse::tensorWritten(op))
        taken.insert(written.getValue());
      if (auto alias = dyn_cast<wse::AliasOp>(op))
        taken.insert(alias.getOutput());
    });
  std::string fresh = name.str();
  for (int number = 1; !taken.insert(fresh).second; ++number)
    fresh = name.str() + "_" + std::to_string(number);
  return fresh;
}

/// Right behind the kernel that makes it, so that nothing lives longer.
void Handovers::add(Value value) {
  auto producer = cast<wse::KernelOp>(value.getDefiningOp());
  OpBuilder builder(producer);
  auto its = cast<RankedTensorType>(value.getType());
  Type element = its.getElementType().isInteger() ? its.getElementType()
                                                  : builder.getF32Type();
  auto tensor = wse::IntermediateOp::create(
      builder, value.getLoc(), freeName(producer.getReportName()),
      RankedTensorType::get(its.getShape(), element), IntegerAttr());
  builder.setInsertionPointAfter(producer);
  auto store = createKernel<wse::StoreOp>(
      builder, value.getLoc(), producer.getNodeNames(), producer.getRegionRef(),
      value, tensor.getSymNameAttr(), builder.getI64IntegerAttr(0),
      DenseI64ArrayAttr(), tensor.getTypeAttr(), UnitAttr());
  auto load = createKernel<wse::LoadOp>(
      builder, value.getLoc(), producer.getNodeNames(), producer.getRegionRef(),
      value.getType(), FlatSymbolRefAttr::get(tensor.getSymNameAttr()),
      builder.getI64IntegerAttr(0), DenseI64ArrayAttr());
  all[value] = {tensor, store, load};
}

void Handovers::remove() {
  for (auto &[value, its] : all) {
    its.load->erase();
    its.store->erase();
    its.tensor.erase();
  }
  all.clear();
}

std::pair<wse::KernelOp, Value> Handovers::passOn(Value value, Value held,
                                                  wse::KernelOp before) {
  Handover its = all.find(value)->second;
  OpBuilder builder(its.tensor);
  auto tensor = cast<wse::IntermediateOp>(builder.clone(*its.tensor));
  tensor.setSymName(freeName(its.tensor.getSymName()));
  builder.setInsertionPoint(before);
  auto store = cast<wse::StoreOp>(builder.clone(*its.store));
  store.getValueMutable().assign(held);
  store.setOutputAttr(tensor.getSymNameAttr());
  auto load = cast<wse::LoadOp>(builder.clone(*its.load));
  load.setSourceAttr(FlatSymbolRefAttr::get(tensor.getSymNameAttr()));
  return {cast<wse::KernelOp>(store.getOperation()), load.getResult()};
}
