// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Checker.h"
#include "runtime/program/check/HostChecker.h"
#include "runtime/program/check/ScalarChecker.h"
#include "runtime/program/check/SparseRecords.h"

#include "absl/numeric/int128.h"

namespace wsec::runtime {

using program::Tensor;
using program::TensorRole;

static bool canBeSparse(program::ElementType type) {
  return type == program::ElementType::F32 ||
         type == program::ElementType::F16 ||
         type == program::ElementType::BF16;
}

void checkSparsity(const Tensor &tensor, const program::Program &program,
                   const Where &where) {
  const program::Sparsity &sparse = *tensor.sparsity();
  const Tensor &matrix =
      tensorAt(program, sparse.tensor(), "is the sparse form of", where);
  if ((matrix.role() != TensorRole::Weight &&
       matrix.role() != TensorRole::Constant) ||
      matrix.sparsity() || !canBeSparse(matrix.type()))
    throw badProgram(where, "is the sparse form of '" + matrix.name()->str() +
                                "', which is no weight of floats");
  if (sparse.method() > program::SparsityMethod::MAX)
    throw badProgram(where, "is made by an unknown method");
  if (sparse.strides()->size() != 2)
    throw badProgram(where, "is the sparse form of no matrix");
  checkAligned(*sparse.strides(), where);
  const int64_t size[] = {sparse.rows(), sparse.columns()};
  absl::int128 low = sparse.offset(), high = sparse.offset();
  for (unsigned d : {0, 1}) {
    checkStride("stride", sparse.strides()->Get(d), where);
    if (size[d] < 1 || size[d] > largestScalar)
      throw badProgram(where, "is the sparse form of a matrix with " +
                                  std::to_string(size[d]) +
                                  (d ? " columns" : " rows"));
    const absl::int128 reach =
        absl::int128(size[d] - 1) * sparse.strides()->Get(d);
    (reach < 0 ? low : high) += reach;
  }
  if (low < 0 || high >= absl::int128(elementCount(matrix)))
    throw badProgram(where, "is the sparse form of elements beyond the " +
                                std::to_string(elementCount(matrix)) + " of '" +
                                matrix.name()->str() + "'");
  const int64_t group = sparse.group();
  if (group < 1 || sparse.kept() > group ||
      int64_t(sparse.rest()) > size[1] % group)
    throw badProgram(where, "keeps more elements of a group than it has");
  if (absl::int128(group - 1) * sparse.index_step() > largestSparseIndex)
    throw badProgram(where,
                     "has indices above " + std::to_string(largestSparseIndex));
  if (tensor.type() != program::ElementType::F32 ||
      absl::int128(elementCount(tensor)) !=
          absl::int128(size[0]) *
              (size[1] / group * recordWords(sparse.kept()) +
               recordWords(sparse.rest())))
    throw badProgram(where, "does not have the words of its sparse form");
}

} // namespace wsec::runtime
