// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/Sparsity.h"
#include "runtime/memoryx/SparseMatrix.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>

namespace wsec::runtime {

bool Masks::Matrix::operator==(const Matrix &) const = default;

std::optional<SparsityAlgorithm> findSparsityAlgorithm(std::string_view name) {
  if (name == "static")
    return SparsityAlgorithm::Static;
  if (name == "gmp")
    return SparsityAlgorithm::Gmp;
  if (name == "set")
    return SparsityAlgorithm::Set;
  if (name == "rigl")
    return SparsityAlgorithm::RigL;
  return std::nullopt;
}

double SparsityOptions::sparsityAt(uint64_t step) const {
  if (algorithm != SparsityAlgorithm::Gmp)
    return sparsity;
  const double left =
      step < stop ? 1 - double(step) / double(stop) : 0; // cubic (Zhu 2017)
  return sparsity + (initial - sparsity) * left * left * left;
}

double SparsityOptions::dropFractionAt(uint64_t step) const {
  return dropFraction / 2 *
         (1 + std::cos(std::numbers::pi * double(step) / double(stop)));
}

bool SparsityOptions::updatesAt(uint64_t step) const {
  if (algorithm == SparsityAlgorithm::Static || step == 0 || step % every != 0)
    return false;
  // Pruning ends with the first update that is not before its last step.
  return step < (algorithm == SparsityAlgorithm::Gmp ? stop + every : stop);
}

uint64_t SparsityOptions::kept(double sparsity, uint64_t weights) {
  return uint64_t(std::llround((1 - sparsity) * double(weights)));
}

// ---------------------------------------------------------------- groups

Masks::Masks(const SparsityOptions &options, const program::Program &program)
    : options(options) {
  if (options.sparsity == 0)
    return;
  std::map<std::string, size_t> numbers;
  for (const program::Tensor *tensor : *program.tensors()) {
    const program::Sparsity *its = tensor->sparsity();
    const program::Tensor *dense =
        its ? program.tensors()->Get(its->tensor()) : nullptr;
    if (!dense || !dense->parameter())
      continue;
    const std::string name = dense->parameter()->str();
    const auto [found, isNew] = numbers.try_emplace(name, sparse.size());
    if (isNew)
      sparse.push_back({name, {}});
    Parameter &parameter = sparse[found->second];
    const Matrix matrix = {uint64_t(its->offset()),  its->strides()->Get(0),
                           its->strides()->Get(1),   uint64_t(its->rows()),
                           uint64_t(its->columns()), its->group(),
                           uint64_t(its->seed())};
    // Kernels may count indices in other steps.
    std::vector<Matrix> &known = parameter.matrices;
    if (std::find(known.begin(), known.end(), matrix) == known.end())
      known.push_back(matrix);
    requireApart(parameter, elementCount(*dense));
  }
}

template <typename Use>
void Masks::forEachGroup(const Parameter &parameter, const Use &use) {
  std::vector<uint64_t> elements;
  for (const Matrix &matrix : parameter.matrices)
    for (uint64_t row = 0; row < matrix.rows; ++row)
      for (uint64_t first = 0; first < matrix.columns; first += matrix.group) {
        elements.clear();
        const uint64_t end = std::min(first + matrix.group, matrix.columns);
        for (uint64_t column = first; column < end; ++column)
          elements.push_back(uint64_t(int64_t(matrix.offset) +
                                      int64_t(row) * matrix.rowStride +
                                      int64_t(column) * matrix.columnStride));
        use(matrix, elements);
      }
}

void Masks::requireApart(const Parameter &parameter, uint64_t elements) const {
  std::vector<uint8_t> seen(elements);
  forEachGroup(parameter, [&](const Matrix &, const auto &group) {
    for (uint64_t element : group)
      if (seen[element]++)
        throw Error(ErrorClass::BadCall,
                    "sparse products take parts of parameter " +
                        inQuotes(parameter.name) +
                        " that overlap: their groups would be others; let "
                        "--sparsity-filter name one of them alone");
  });
}

// ---------------------------------------------------------------- masks

namespace {
/// Of a group those with the highest scores, of equal ones the first.
template <typename Score>
std::vector<uint64_t> highest(const std::vector<uint64_t> &elements,
                              uint64_t count, const Score &score) {
  std::vector<std::pair<uint64_t, size_t>> lowness; // and its place
  for (size_t i = 0; i < elements.size(); ++i)
    lowness.emplace_back(~uint64_t(score(elements[i])), i);
  std::sort(lowness.begin(), lowness.end());
  std::vector<uint64_t> chosen;
  for (size_t i = 0; i < std::min<uint64_t>(count, elements.size()); ++i)
    chosen.push_back(elements[lowness[i].second]);
  return chosen;
}

/// Orders floats as their absolute values; what is no number is highest.
uint32_t magnitude(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits & 0x7fffffffU;
}
} // namespace

void Masks::begin(ParameterStore &store) const {
  const double sparsity = options.sparsityAt(0);
  for (const Parameter &parameter : sparse) {
    const size_t number = store.find(parameter.name);
    if (!store.mask(number).empty())
      continue;
    const std::vector<float> weights = store.weights(number);
    std::vector<uint8_t> mask(weights.size(), 1);
    forEachGroup(parameter, [&](const Matrix &matrix, const auto &group) {
      for (uint64_t element : group)
        mask[element] = 0;
      for (uint64_t element :
           highest(group, SparsityOptions::kept(sparsity, group.size()),
                   [&](uint64_t its) {
                     return options.byMagnitude
                                ? uint64_t(magnitude(weights[its]))
                                : SparseMatrix::randomScore(matrix.seed, its);
                   }))
        mask[element] = 1;
    });
    store.setMask(number, std::move(mask));
  }
}

bool Masks::update(ParameterStore &store, uint64_t step) const {
  if (sparse.empty() || !options.updatesAt(step))
    return false;
  const double sparsity = options.sparsityAt(step);
  const double share = options.dropFractionAt(step);
  for (const Parameter &parameter : sparse) {
    const size_t number = store.find(parameter.name);
    const std::vector<float> weights = store.weights(number);
    const float *gradient = store.gradient(number);
    std::vector<uint8_t> mask = store.mask(number);
    const auto largest = [&](uint64_t its) { return magnitude(weights[its]); };
    forEachGroup(parameter, [&](const Matrix &matrix, const auto &group) {
      std::vector<uint64_t> kept, others;
      for (uint64_t element : group)
        (mask[element] ? kept : others).push_back(element);
      uint64_t grown = 0;
      uint64_t stay = SparsityOptions::kept(sparsity, group.size());
      if (options.algorithm != SparsityAlgorithm::Gmp) {
        grown = std::min<uint64_t>(
            uint64_t(std::llround(share * double(kept.size()))), others.size());
        stay = kept.size() - grown;
      }
      for (uint64_t element : group)
        mask[element] = 0;
      for (uint64_t element : highest(kept, stay, largest))
        mask[element] = 1;
      // What was just dropped does not come back at once.
      for (uint64_t element : highest(others, grown, [&](uint64_t its) {
             return options.algorithm == SparsityAlgorithm::RigL
                        ? uint64_t(magnitude(gradient[its]))
                        : SparseMatrix::randomScore(matrix.seed + (step << 32),
                                                    its);
           }))
        mask[element] = 1;
    });
    store.setMask(number, std::move(mask));
  }
  return true;
}

double Masks::density(const ParameterStore &store) const {
  uint64_t kept = 0, all = 0;
  for (const Parameter &parameter : sparse) {
    const std::vector<uint8_t> &mask = store.mask(store.find(parameter.name));
    forEachGroup(parameter, [&](const Matrix &, const auto &group) {
      all += group.size();
      for (uint64_t element : group)
        kept += mask[element];
    });
  }
  return all ? double(kept) / double(all) : 1;
}

} // namespace wsec::runtime
