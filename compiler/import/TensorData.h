// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_TENSORDATA_H
#define COMPILER_IMPORT_TENSORDATA_H

#include "compiler/import/ImportModel.h"
#include "compiler/import/ModelFile.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/files/MappedFile.h"
#include "llvm/ADT/StringMap.h"
#include <deque>

namespace wsec {

/// A tensor as the `value` and type of an onnx.constant.
struct TensorConstant {
  mlir::Attribute value;
  mlir::RankedTensorType type;
};

/// Turns the tensors of one model into constants. Up to `inlineBytes` they
/// become dense elements; larger data stays where it is, in the model's file or
/// in its external data, and is referred to by position.
class TensorData {
public:
  static constexpr uint64_t inlineBytes = 64 * 1024;

  TensorData(const OnnxModel &model, const ImportOptions &options,
             mlir::MLIRContext *context)
      : model(model), options(options), context(context) {}

  /// Errors are complete sentences without the tensor's name.
  llvm::Expected<TensorConstant> constant(const TensorProto &tensor);
  /// The elements of `tensor`, never external: for attributes of nodes.
  llvm::Expected<mlir::DenseElementsAttr> elements(const TensorProto &tensor);

private:
  /// Contiguous little-endian elements, and where they lie: a name in one of
  /// the weight folders, none for those of a message. There are no bytes when
  /// the file is absent and may be.
  struct Storage {
    std::string file;
    uint64_t offset = 0;
    llvm::StringRef bytes;
  };

  llvm::Expected<mlir::RankedTensorType> typeOf(const TensorProto &tensor);
  /// External data of a tensor, as its message states it.
  struct Reference {
    std::string file;
    uint64_t offset = 0, length = 0;
  };
  llvm::Expected<Reference> referenceOf(const TensorProto &tensor,
                                        uint64_t bytes);
  llvm::Expected<Storage> externalStorage(const TensorProto &tensor,
                                          uint64_t bytes);
  llvm::Expected<Storage> computedStorage(const TensorProto &tensor,
                                          Reference place);
  llvm::Expected<llvm::StringRef> mapFile(llvm::StringRef path);
  /// None when the elements are numbers in a typed list.
  llvm::Expected<std::optional<Storage>> storage(const TensorProto &tensor,
                                                 uint64_t bytes);

  const OnnxModel &model;
  const ImportOptions &options;
  mlir::MLIRContext *context;
  llvm::StringMap<std::shared_ptr<const runtime::MappedFile>> files;
  std::deque<std::vector<float>> computed;
};

/// Bytes of a tensor, or nothing if an extent is negative or the bytes, an
/// extent of 0 counted as 1, are not countable in an int64.
std::optional<int64_t> countBytes(llvm::ArrayRef<int64_t> shape,
                                  int64_t elementBytes);

/// "2x3", or "scalar".
std::string shapeText(llvm::ArrayRef<int64_t> shape);

} // namespace wsec

#endif // COMPILER_IMPORT_TENSORDATA_H
