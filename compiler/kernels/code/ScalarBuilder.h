// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the scalars of a PE class or of a host stream: each function of the
// coordinates once, and none that can be computed now.

#ifndef COMPILER_KERNELS_CODE_SCALARBUILDER_H
#define COMPILER_KERNELS_CODE_SCALARBUILDER_H

#include "compiler/machine/Machine.h"
#include "dialects/pe/Pe.h"
#include "mlir/IR/Builders.h"

#include <map>
#include <optional>
#include <vector>

namespace wsec {

class ScalarBuilder {
public:
  using Value = mlir::Value;

  /// Puts scalars at the start of `block`, in order of creation. Coordinates
  /// are those of a region, counted from its north-west corner. With
  /// `everywhere` the scalars are asked of all PEs of the mesh: those outside
  /// of the region count as the nearest of it.
  ScalarBuilder(mlir::Block *block, mlir::Location loc, const Machine &region,
                bool everywhere = false);

  Value constant(int64_t value);
  Value px();
  Value py();
  /// The row of the mesh.
  Value pyOfMesh();
  /// Whether a PE of the mesh lies in a column of the region.
  Value inColumns();
  /// The row of the mesh where channel `channel` of the region is.
  Value channelRowOfMesh(Value channel);
  /// The channel of the region that carries this row off the wafer.
  Value channelOfRow();
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);
  Value mod(Value a, Value b);
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value equal(Value a, Value b);
  Value less(Value a, Value b);
  Value logicalAnd(Value a, Value b);
  Value logicalNot(Value a);
  /// The first of two numbers, neither below 0, where `condition` holds, which
  /// is 0 or 1; the other elsewhere.
  Value choose(Value condition, Value first, Value other) {
    return max(mul(condition, first), mul(logicalNot(condition), other));
  }
  Value add(Value a, int64_t b) { return add(a, constant(b)); }
  Value sub(Value a, int64_t b) { return sub(a, constant(b)); }
  Value sub(int64_t a, Value b) { return sub(constant(a), b); }
  Value mul(Value a, int64_t b) { return mul(a, constant(b)); }
  Value div(Value a, int64_t b) { return div(a, constant(b)); }
  Value mod(Value a, int64_t b) { return mod(a, constant(b)); }
  Value min(Value a, int64_t b) { return min(a, constant(b)); }
  Value max(Value a, int64_t b) { return max(a, constant(b)); }
  Value equal(Value a, int64_t b) { return equal(a, constant(b)); }
  Value less(Value a, int64_t b) { return less(a, constant(b)); }
  Value less(int64_t a, Value b) { return less(constant(a), b); }
  Value tileStart(int64_t elements, int64_t parts, Value part);
  Value tileSize(int64_t elements, int64_t parts, Value part);
  Value tileIndex(int64_t elements, int64_t parts, Value element);
  /// The spread tiling of compiler/machine/Tiling.h; `part` is one of them, for
  /// its start perhaps the one behind the last.
  Value spreadStart(int64_t elements, int64_t parts, Value part);
  Value spreadSize(int64_t elements, int64_t parts, Value part);

  /// The value of a scalar that is the same in every PE.
  static std::optional<int64_t> known(Value scalar);
  /// Whether it is known to be `value` in every PE.
  static bool is(Value scalar, int64_t value) {
    return known(scalar) == std::optional<int64_t>(value);
  }

  /// Whether in no PE both can be other than zero: one is the other's not, or
  /// that of a sum with it, or they say that one scalar is two constants.
  static bool excludes(Value a, Value b);

  int64_t width() const { return region.width; }
  int64_t height() const { return region.height; }

private:
  Value coordinate(pe::ScalarKind kind, int64_t begin, int64_t extent,
                   int64_t meshExtent);
  Value get(pe::ScalarKind kind, llvm::ArrayRef<Value> inputs);
  template <typename Create>
  Value append(Create create);

  mlir::OpBuilder builder;
  mlir::Block *block;
  mlir::Location loc;
  mlir::Operation *last = nullptr;
  const Machine &region;
  bool everywhere;
  std::map<int64_t, Value> constants;
  /// Scalars made so far, by kind and the numbers of their inputs.
  std::map<std::vector<int64_t>, Value> made;
  llvm::DenseMap<Value, int64_t> numbers;
};

} // namespace wsec

#endif // COMPILER_KERNELS_CODE_SCALARBUILDER_H
