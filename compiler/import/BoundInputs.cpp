// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/BoundInputs.h"
#include "compiler/Refusals.h"
#include "compiler/import/ElementTypes.h"
#include "compiler/import/TensorData.h"

using namespace mlir;
using namespace wsec;
using llvm::createStringError;
using llvm::Expected;

static Expected<APFloat> floatOf(StringRef text,
                                 const llvm::fltSemantics &type) {
  APFloat value(type);
  Expected<APFloat::opStatus> read =
      value.convertFromString(text, APFloat::rmNearestTiesToEven);
  if (!read)
    return createStringError("'" + text +
                             "' is no number: " + toString(read.takeError()));
  if (*read & APFloat::opOverflow)
    return createStringError("'" + text + "' is too large");
  return value;
}

static Expected<APInt> integerOf(StringRef text, Type type) {
  unsigned bits = type.getIntOrFloatBitWidth();
  int64_t value;
  if (bits == 1 && (text == "true" || text == "false"))
    value = text == "true";
  else if (text.getAsInteger(10, value))
    return createStringError(
        "'" + text +
        (bits == 1 ? "' is neither true nor false" : "' is no integer"));
  // One bit is a truth value, not a sign.
  bool isSigned = bits > 1 && !type.isUnsignedInteger();
  if (isSigned ? !llvm::isIntN(bits, value)
               : value < 0 || !llvm::isUIntN(bits, value))
    return createStringError("'" + text + "' is beyond " + Twine(bits) +
                             " bits");
  return APInt(bits, uint64_t(value), isSigned);
}

template <typename Number, typename Read>
static Expected<DenseElementsAttr>
fromTexts(RankedTensorType type, ArrayRef<std::string> texts, Read read) {
  SmallVector<Number> values;
  for (StringRef text : texts) {
    Expected<Number> value = read(text);
    if (!value)
      return value.takeError();
    values.push_back(*value);
  }
  return DenseElementsAttr::get(type, values);
}

static Expected<DenseElementsAttr> elementsOf(const BoundInput &bound,
                                              const ValueInfoProto &input,
                                              RankedTensorType type,
                                              TensorData &data) {
  if (!bound.elementType) {
    Type element = type.getElementType();
    if (auto floats = dyn_cast<FloatType>(element))
      return fromTexts<APFloat>(type, bound.numbers, [&](StringRef text) {
        return floatOf(text, floats.getFloatSemantics());
      });
    return fromTexts<APInt>(type, bound.numbers, [&](StringRef text) {
      return integerOf(text, element);
    });
  }
  const int expected = input.type().tensor_type().elem_type();
  if (bound.elementType != expected)
    return createStringError(
        "its file has elements of type " + elementTypeName(bound.elementType) +
        ", the input of type " + elementTypeName(expected));
  TensorProto tensor;
  tensor.mutable_dims()->Add(bound.shape.begin(), bound.shape.end());
  tensor.set_data_type(int(bound.elementType));
  tensor.set_raw_data(bound.bytes);
  return data.elements(tensor);
}

FailureOr<llvm::StringMap<DenseElementsAttr>>
wsec::boundElements(const OnnxModel &model,
                    ArrayRef<const ValueInfoProto *> inputs,
                    ArrayRef<RankedTensorType> types,
                    const ImportOptions &options, MLIRContext *context) {
  Refusals refusals(model.path);
  TensorData data(model, options, context);
  llvm::StringMap<DenseElementsAttr> elements;
  for (const BoundInput &bound : options.bindings)
    for (auto [input, type] : llvm::zip(inputs, types)) {
      if (input->name() != bound.name)
        continue;
      Expected<DenseElementsAttr> value = elementsOf(bound, *input, type, data);
      if (value)
        elements[input->name()] = *value;
      else
        refusals.add("--bind " + bound.name + ": " +
                     toString(value.takeError()));
    }
  if (failed(refusals.report(context)))
    return failure();
  return elements;
}
