// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Compare.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <cmath>
#include <limits>

namespace wsec::runtime {

/// Infinite where one side is special and the other is not the same.
static double distance(double actual, double expected) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected)))
    return 0;
  double error = std::abs(actual - expected);
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

Comparison compareTensors(const std::string &name, const HostTensor &actual,
                          const HostTensor &expected, Tolerance tolerance) {
  if (actual.shape != expected.shape)
    throw Error(ErrorClass::BadTensor,
                "output " + inQuotes(name) + " is " +
                    describe(actual.type, actual.shape) +
                    ", the reference is " +
                    describe(expected.type, expected.shape));
  Comparison result;
  result.elements = actual.elements();
  double squares = 0;
  for (uint64_t i = 0; i < result.elements; ++i) {
    double reference = expected.number(i);
    double error = distance(actual.number(i), reference);
    double size = std::abs(reference);
    squares += error * error;
    if (std::isfinite(size))
      result.largest = std::max(result.largest, size);
    if (error > result.maxError) {
      result.maxError = error;
      result.worst = i;
    }
    double allowed = tolerance.absolute +
                     (std::isfinite(size) ? tolerance.relative * size : 0);
    if (error > allowed)
      ++result.beyond;
  }
  if (result.elements > 0)
    result.rms = std::sqrt(squares / double(result.elements));
  return result;
}

} // namespace wsec::runtime
