// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/code/ProgramBuilder.h"
#include "compiler/kernels/Kernel.h"

#include "dialects/StridedRange.h"
#include "dialects/onnx/Lengths.h"
#include "dialects/onnx/Onnx.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace wsec {

static pe::ProgramOp createProgram(wse::ProgramOp source, int64_t launchColor,
                                   OpBuilder &builder) {
  auto module = source->getParentOfType<ModuleOp>();
  auto program = pe::ProgramOp::create(
      builder, source.getLoc(), source.getSymNameAttr(), source.getMeshAttr(),
      source.getMachineAttr(), builder.getI64IntegerAttr(launchColor),
      module.getSymNameAttr(),
      module->getAttrOfType<IntegerAttr>(onnx::parametersAttrName),
      module->getAttrOfType<IntegerAttr>(onnx::weightBytesAttrName));
  program.getBody().emplaceBlock();
  if (Attribute axes = source->getAttr(onnx::lengthAxesAttrName))
    program->setAttr(onnx::lengthAxesAttrName, axes);
  return program;
}

static pe::ClassOp createClass(ProgramBuilder &shared, const Machine &region) {
  pe::ProgramOp program = shared.program;
  auto builder = OpBuilder::atBlockEnd(&program.getBody().front());
  Attribute rect = pe::RectAttr::get(program.getContext(),
                                     {region.x, region.x + region.width, 1,
                                      region.y, region.y + region.height, 1});
  auto peClass =
      pe::ClassOp::create(builder, program.getLoc(),
                          builder.getStringAttr(shared.freshSymbol("every_pe")),
                          builder.getArrayAttr(rect));
  peClass.getBody().emplaceBlock();
  return peClass;
}

ProgramBuilder::ProgramBuilder(wse::ProgramOp source, int64_t launchColor,
                               OpBuilder &builder)
    : program(createProgram(source, launchColor, builder)) {
  declareEnds(source);
}

ClassBuilder::ClassBuilder(ProgramBuilder &shared, const Machine &region,
                           StringAttr regionName)
    : shared(shared), machine(region), regionName(regionName),
      peClass(createClass(shared, region)),
      scalars(&peClass.getBody().front(), peClass.getLoc(), machine) {}

std::string ClassBuilder::buffer(StringRef name, int64_t address, int64_t bytes,
                                 Type element, StringRef node,
                                 bool persistent) {
  std::string &symbol =
      buffers[{address, bytes, pe::elementBytes(element), element.isInteger()}];
  if (!symbol.empty())
    return symbol;
  symbol = shared.freshSymbol(name);
  ranges[symbol] = {address, address + bytes};
  OpBuilder builder(peClass.getContext());
  if (lastBuffer)
    builder.setInsertionPointAfter(lastBuffer);
  else
    builder.setInsertionPointToEnd(&peClass.getBody().front());
  // Buffers stand before routines, wherever those are in the making.
  if (!lastBuffer)
    for (Operation &op : peClass.getBody().front())
      if (isa<pe::RoutineOp>(op)) {
        builder.setInsertionPoint(&op);
        break;
      }
  lastBuffer = pe::BufferOp::create(
      builder, peClass.getLoc(), builder.getStringAttr(symbol),
      builder.getI64IntegerAttr(address), builder.getI64IntegerAttr(bytes),
      TypeAttr::get(element), persistent ? builder.getUnitAttr() : UnitAttr(),
      node.empty() ? StringAttr() : builder.getStringAttr(node),
      ElementsAttr());
  return symbol;
}

std::string ClassBuilder::view(StringRef of, StringRef suffix, StringRef node,
                               Type element) {
  auto [begin, end] = range(of);
  return buffer((of + suffix).str(), begin, end - begin, element, node);
}

ClassSet::ClassSet(ProgramBuilder &shared, wse::ProgramOp source) {
  for (wse::RegionOp region : source.kernelRegions())
    classes.push_back(std::make_unique<ClassBuilder>(shared, region.machine(),
                                                     region.getSymNameAttr()));
  if (classes.empty())
    classes.push_back(std::make_unique<ClassBuilder>(
        shared, source.targetMachine(), StringAttr()));
  shared.declareAliases(source);
}

ClassBuilder *ClassSet::classOf(StringAttr region) {
  for (auto &each : classes)
    if (each->regionName == region)
      return each.get();
  return nullptr;
}

SmallVector<ClassBuilder *> ClassSet::takingPart(wse::KernelOp kernel) {
  llvm::SmallSetVector<ClassBuilder *, 2> part;
  for (Value operand : kernel->getOperands())
    if (auto producer = operand.getDefiningOp<wse::KernelOp>())
      part.insert(classOf(producer.getRegionRef().getAttr()));
  ClassBuilder *own = classOf(kernel.getRegionRef().getAttr());
  part.remove(own);
  part.insert(own);
  return part.takeVector();
}

std::string ProgramBuilder::freshSymbol(StringRef name) {
  unsigned &asked = symbols[name];
  if (!asked++)
    return name.str();
  // "a_1" may have been asked for by that name, or be asked for later:
  // exporters number equal nodes in this way. So what is made here is taken.
  for (;; ++asked) {
    std::string symbol = (name + "_" + Twine(asked - 1)).str();
    if (symbols.try_emplace(symbol, 1).second)
      return symbol;
  }
}

void ProgramBuilder::declareEnds(wse::ProgramOp source) {
  for (auto input : source.getOps<wse::InputOp>())
    declareTensor(input.getSymNameAttr(), pe::Role::Input, input.getType(), {},
                  {}, {});
  for (auto passing : source.getOps<wse::IntermediateOp>())
    declareTensor(passing.getSymNameAttr(), pe::Role::Intermediate,
                  passing.getType(), {}, {}, {})
        .setExpertsAttr(passing.getExpertsAttr());
  for (auto parameter : source.getOps<wse::ParameterOp>())
    parameters[parameter.getSymNameAttr()] = parameter;
  for (wse::KernelOp kernel : source.kernels())
    // An output may leave in pieces.
    if (auto stored = findKernel(kernel)->stored(kernel);
        stored && !symbols.contains(stored->first.getValue()))
      declareTensor(stored->first, pe::Role::Output, stored->second, {}, {},
                    {});
  for (auto alias : source.getOps<wse::AliasOp>())
    symbols[alias.getOutput()]++;
}

void ProgramBuilder::declareAliases(wse::ProgramOp source) {
  MLIRContext *context = source.getContext();
  // The constants that aliases show get what names are left.
  for (auto alias : source.getOps<wse::AliasOp>()) {
    auto symbol =
        FlatSymbolRefAttr::get(context, this->source(alias.getSource()).symbol);
    declareTensor(alias.getOutputAttr(), pe::Role::Output, alias.getType(), {},
                  {}, symbol);
  }
  declareGradients(source);
}

void ProgramBuilder::declareGradients(wse::ProgramOp source) {
  for (auto gradient : source.getOps<wse::GradientOp>()) {
    wse::ParameterOp parameter =
        parameters.lookup(gradient.getParameterAttr().getAttr());
    declareParameter(parameter);
    FlatSymbolRefAttr rows;
    if (gradient.getRowsAttr())
      rows = FlatSymbolRefAttr::get(
          program.getContext(), this->source(gradient.getRowsAttr()).symbol);
    tensors.lookup(gradient.getOutputAttr())
        .setGradientAttr(pe::GradientAttr::get(
            program.getContext(), parameter.getSymNameAttr(),
            gradient.getOffset(),
            gradient.getStrides().value_or(ArrayRef<int64_t>()), rows));
  }
}

bool ProgramBuilder::nameValue(StringAttr name) {
  return valueNames.insert(name).second;
}

pe::TensorOp ProgramBuilder::declareTensor(StringAttr name, pe::Role role,
                                           Type type, pe::FileAttr file,
                                           ElementsAttr value,
                                           FlatSymbolRefAttr alias,
                                           pe::SparseAttr sparse) {
  if (role == pe::Role::Input || role == pe::Role::Output)
    valueNames.insert(name);
  symbols[name.getValue()]++;
  OpBuilder builder(program.getContext());
  if (lastTensor)
    builder.setInsertionPointAfter(lastTensor);
  else
    builder.setInsertionPointToStart(&program.getBody().front());
  auto tensor = pe::TensorOp::create(
      builder, program.getLoc(), name,
      pe::RoleAttr::get(builder.getContext(), role), TypeAttr::get(type), file,
      value, alias, sparse, StringAttr(), pe::GradientAttr(), IntegerAttr());
  lastTensor = tensor;
  tensors[name] = tensor;
  return tensor;
}

HostTensor ProgramBuilder::source(Attribute source) {
  if (auto name = dyn_cast<FlatSymbolRefAttr>(source)) {
    pe::TensorOp tensor = tensors.lookup(name.getAttr());
    auto strides = denseStrides(tensor.getTensorType().getShape());
    return {name.getValue().str(), 0, {strides.begin(), strides.end()}};
  }
  auto weight = cast<wse::WeightAttr>(source);
  wse::ParameterOp parameter = parameters.lookup(weight.getName());
  HostTensor result;
  result.symbol =
      parameter ? declareParameter(parameter) : weight.getName().str();
  result.offset = weight.getViewOffset();
  llvm::append_range(result.strides, weight.viewStrides());
  return result;
}

std::string ProgramBuilder::declareSparse(pe::SparseAttr sparse) {
  std::string &symbol = sparseWeights[sparse];
  if (symbol.empty()) {
    symbol = freshSymbol((sparse.getTensor().getValue() + ".sparse").str());
    MLIRContext *context = program.getContext();
    declareTensor(
        StringAttr::get(context, symbol), pe::Role::Weight,
        RankedTensorType::get({sparse.getWords()}, Float32Type::get(context)),
        {}, {}, {}, sparse);
  }
  return symbol;
}

std::string
ProgramBuilder::declareConstant(Attribute key, StringAttr name,
                                function_ref<DenseElementsAttr()> elements) {
  std::string &symbol = values[key];
  if (symbol.empty()) {
    symbol = freshSymbol(name.getValue());
    const DenseElementsAttr data = elements();
    declareTensor(StringAttr::get(program.getContext(), symbol),
                  pe::Role::Constant, data.getType(), {}, data, {});
  }
  return symbol;
}

/// A tensor of its own, whatever others hold the same elements.
std::string ProgramBuilder::declareParameter(wse::ParameterOp parameter) {
  std::string &symbol = declared[parameter.getSymNameAttr()];
  if (!symbol.empty())
    return symbol;
  symbol = freshSymbol(parameter.getSymName());
  MLIRContext *context = program.getContext();
  pe::FileAttr file;
  auto data = dyn_cast<DenseElementsAttr>(parameter.getValue());
  if (auto external = dyn_cast<onnx::ExternalAttr>(parameter.getValue()))
    file = pe::FileAttr::get(context, external.getFile(),
                             int64_t(external.getOffset()));
  else if (onnx::QuantizedAttr quantized = parameter.getQuantized())
    data = quantized.expanded();
  pe::TensorOp tensor =
      declareTensor(StringAttr::get(context, symbol),
                    data ? pe::Role::Constant : pe::Role::Weight,
                    parameter.getTensorType(), file, data, {});
  if (parameter.getTrainable())
    tensor.setParameterAttr(parameter.getSymNameAttr());
  return symbol;
}

} // namespace wsec
