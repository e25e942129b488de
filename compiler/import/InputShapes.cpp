// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/InputShapes.h"
#include "compiler/Refusals.h"
#include "compiler/import/ElementTypes.h"
#include "compiler/import/TensorData.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace wsec;

namespace {
class ShapeBinder {
public:
  ShapeBinder(const OnnxModel &model, ArrayRef<const ValueInfoProto *> inputs,
              const ImportOptions &options, MLIRContext *context)
      : model(model), inputs(inputs), options(options), context(context),
        refusals(model.path) {}

  FailureOr<SmallVector<RankedTensorType>> run();

private:
  void checkNames();
  void checkKind(const ValueInfoProto &input);
  void bindParameter(StringRef parameter, int64_t extent, const Twine &by);
  void bindFromShape(const ValueInfoProto &input);
  void fillIn(const ValueInfoProto &input, SmallVectorImpl<int64_t> &shape);
  LogicalResult reportOpenDimensions();

  /// The shape that the user states for an input, and by which flag.
  struct Given {
    std::optional<ArrayRef<int64_t>> shape;
    StringRef flag;
  };
  Given givenShape(StringRef input) const;

  const OnnxModel &model;
  ArrayRef<const ValueInfoProto *> inputs;
  const ImportOptions &options;
  MLIRContext *context;
  Refusals refusals;
  struct Binding {
    int64_t extent;
    std::string by;
  };
  llvm::MapVector<StringRef, Binding> bindings;
  std::vector<std::string> open;              // "input_ids[0] 'batch'"
  bool statesNone = false;                    // a 0, open or none
  llvm::SmallVector<std::string> openNames;   // batch
  llvm::SmallVector<std::string> openUnnamed; // what --shape takes, "x=2xN"
};
} // namespace

static const TensorShapeProto &shapeOf(const ValueInfoProto &value) {
  return value.type().tensor_type().shape();
}
static bool hasShape(const ValueInfoProto &value) {
  return value.type().tensor_type().has_shape();
}

static std::string kindOf(const TypeProto &type) {
  switch (type.value_case()) {
  case TypeProto::kTensorType:
    return "a tensor";
  case TypeProto::kSequenceType:
    return "a sequence";
  case TypeProto::kMapType:
    return "a map";
  case TypeProto::kSparseTensorType:
    return "a sparse tensor";
  case TypeProto::kOptionalType:
    return "an optional";
  case TypeProto::kOpaqueType:
    return "an opaque value";
  case TypeProto::VALUE_NOT_SET:
    break;
  }
  return "of no type";
}

/// A fixed extent; some exporters write -1 or 0 for an open dimension.
static std::optional<int64_t>
fixedExtent(const TensorShapeProto::Dimension &dimension) {
  if (dimension.dim_value() > 0)
    return dimension.dim_value();
  return std::nullopt;
}

/// "1x'sequence'x?": a declared shape for messages.
static std::string declaredShape(const ValueInfoProto &value) {
  if (!hasShape(value))
    return "unknown";
  if (shapeOf(value).dim().empty())
    return "scalar";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      shapeOf(value).dim(),
      [&](const TensorShapeProto::Dimension &dimension) {
        if (std::optional<int64_t> extent = fixedExtent(dimension))
          os << *extent;
        else if (!dimension.dim_param().empty())
          os << "'" << dimension.dim_param() << "'";
        else
          os << "?";
      },
      [&] { os << "x"; });
  return text;
}

ShapeBinder::Given ShapeBinder::givenShape(StringRef input) const {
  for (const auto &[name, shape] : options.shapes)
    if (name == input)
      return {ArrayRef<int64_t>(shape), "--shape "};
  for (const BoundInput &bound : options.bindings)
    if (bound.name == input)
      return {ArrayRef<int64_t>(bound.shape), "--bind "};
  return {};
}

template <typename Range, typename Name>
static std::string listNames(const Range &range, Name name) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(
      range, os, [&](const auto &item) { os << "'" << name(item) << "'"; });
  return text.empty() ? "none" : text;
}

/// Names given on the command line must exist.
void ShapeBinder::checkNames() {
  auto checkInput = [&](StringRef flag, StringRef name) {
    if (llvm::none_of(inputs,
                      [&](auto *input) { return input->name() == name; }))
      refusals.add(
          flag + name + ": no such input; the model's inputs are " +
          listNames(inputs, [](auto *input) { return input->name(); }));
  };
  for (const auto &[name, shape] : options.shapes)
    checkInput("--shape ", name);
  for (const BoundInput &bound : options.bindings) {
    checkInput("--bind ", bound.name);
    if (givenShape(bound.name).flag != "--bind ")
      refusals.add("--shape " + bound.name +
                   ": --bind states its shape already; leave one out");
  }
  llvm::MapVector<StringRef, bool> parameters;
  for (const ValueInfoProto *input : inputs)
    for (const TensorShapeProto::Dimension &dimension : shapeOf(*input).dim())
      if (!fixedExtent(dimension) && !dimension.dim_param().empty())
        parameters[dimension.dim_param()] = true;
  for (const auto &[name, extent] : options.dims) {
    if (!parameters.count(name))
      refusals.add(
          "--dim " + name +
          (parameters.empty()
               ? ": every dimension of the model's inputs is fixed"
               : ": no such dimension; the model's open dimensions are " +
                     listNames(parameters,
                               [](auto &item) { return item.first; })));
    bindParameter(name, extent, "--dim " + name);
  }
}

void ShapeBinder::checkKind(const ValueInfoProto &input) {
  const TypeProto &type = input.type();
  if (!type.has_tensor_type())
    refusals.add("not a tensor but " + kindOf(type) +
                     ", which is not supported",
                 "input", "'" + input.name() + "'");
  else if (!convertElementType(type.tensor_type().elem_type(), context))
    refusals.add("elements of type " +
                     elementTypeName(type.tensor_type().elem_type()) +
                     " are not supported; compute what needs them outside of "
                     "the model",
                 "input", "'" + input.name() + "'");
}

void ShapeBinder::bindParameter(StringRef parameter, int64_t extent,
                                const Twine &by) {
  auto [place, isNew] = bindings.insert({parameter, Binding{extent, by.str()}});
  if (!isNew && place->second.extent != extent)
    refusals.add("dimension '" + parameter + "' is " +
                 Twine(place->second.extent) + " by " + place->second.by +
                 " and " + Twine(extent) + " by " + by);
}

/// A given shape has the declared rank and keeps the declared extents.
void ShapeBinder::bindFromShape(const ValueInfoProto &input) {
  const auto [shape, flag] = givenShape(input.name());
  if (!shape || !hasShape(input))
    return;
  auto mismatch = [&, flag = flag, shape = shape](const Twine &what) {
    refusals.add(flag + input.name() + "=" + shapeText(*shape) + ": " + what +
                 "; the model declares " + declaredShape(input));
  };
  if (shape->size() != size_t(shapeOf(input).dim_size()))
    return mismatch("rank " + Twine(shape->size()) + " instead of " +
                    Twine(shapeOf(input).dim_size()));
  for (auto [index, dimension] : llvm::enumerate(shapeOf(input).dim())) {
    std::optional<int64_t> extent = fixedExtent(dimension);
    if (extent && *extent != (*shape)[index])
      return mismatch("dimension " + Twine(index) + " cannot change");
    if (!extent && !dimension.dim_param().empty())
      bindParameter(dimension.dim_param(), (*shape)[index],
                    flag + input.name());
  }
}

void ShapeBinder::fillIn(const ValueInfoProto &input,
                         SmallVectorImpl<int64_t> &shape) {
  if (auto given = givenShape(input.name()).shape) {
    shape.append(given->begin(), given->end());
    return;
  }
  bool needsShape = !hasShape(input);
  if (needsShape)
    open.push_back(input.name() + " (of unknown rank)");
  SmallVector<std::string> extents;
  for (auto [index, dimension] : llvm::enumerate(shapeOf(input).dim())) {
    std::optional<int64_t> extent = fixedExtent(dimension);
    auto binding = bindings.find(dimension.dim_param());
    if (!extent && !dimension.dim_param().empty() && binding != bindings.end())
      extent = binding->second.extent;
    shape.push_back(extent.value_or(1));
    extents.push_back(extent ? std::to_string(*extent) : "N");
    if (extent)
      continue;
    std::string what = (input.name() + "[" + Twine(index) + "]").str();
    statesNone |= dimension.has_dim_value() && dimension.dim_value() == 0;
    if (dimension.has_dim_value())
      what += (" (stated as " + Twine(dimension.dim_value()) + ")").str();
    if (dimension.dim_param().empty())
      needsShape = true;
    else
      what += " '" + dimension.dim_param() + "'";
    open.push_back(what);
    if (!dimension.dim_param().empty() &&
        !llvm::is_contained(openNames, dimension.dim_param()))
      openNames.push_back(dimension.dim_param());
  }
  if (needsShape)
    openUnnamed.push_back(
        input.name() + "=" +
        (hasShape(input) ? llvm::join(extents, "x") : "NxN..."));
}

LogicalResult ShapeBinder::reportOpenDimensions() {
  if (open.empty())
    return success();
  InFlightDiagnostic error =
      emitError(UnknownLoc::get(context))
      << model.path << ": " << open.size()
      << (open.size() == 1 ? " dimension" : " dimensions")
      << " of the inputs must be bound: " << llvm::join(open, ", ") << "; add";
  for (StringRef name : openNames) {
    bool quote = name.find_first_of(" ()*/") != StringRef::npos;
    error << " --dim " << (quote ? "'" : "") << name << "=N"
          << (quote ? "'" : "");
  }
  for (StringRef name : openUnnamed)
    error << " --shape " << name;
  if (statesNone)
    error << ", where 0 stands for no elements";
  return error;
}

FailureOr<SmallVector<RankedTensorType>> ShapeBinder::run() {
  checkNames();
  llvm::for_each(inputs, [&](auto *input) { checkKind(*input); });
  llvm::for_each(inputs, [&](auto *input) { bindFromShape(*input); });
  if (failed(refusals.report(context)))
    return failure();
  SmallVector<RankedTensorType> types;
  for (const ValueInfoProto *input : inputs) {
    SmallVector<int64_t> shape;
    fillIn(*input, shape);
    Type element =
        convertElementType(input->type().tensor_type().elem_type(), context);
    if (!countBytes(shape, elementBytes(element)))
      refusals.add("shape " + shapeText(shape) +
                       " has too many elements, expected fewer than 2^63 bytes",
                   "input", "'" + input->name() + "'");
    types.push_back(RankedTensorType::get(shape, element));
  }
  if (failed(reportOpenDimensions()) || failed(refusals.report(context)))
    return failure();
  return types;
}

FailureOr<SmallVector<RankedTensorType>>
wsec::bindInputShapes(const OnnxModel &model,
                      ArrayRef<const ValueInfoProto *> inputs,
                      const ImportOptions &options, MLIRContext *context) {
  return ShapeBinder(model, inputs, options, context).run();
}
