// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/Filter.h"

#include "runtime/program/Scalars.h"

#include <limits>

namespace wsec::runtime::pe {

std::optional<Filter> filterOf(const ClassCode &code, int color,
                               Coordinate pe) {
  for (const FilterCode &filter : code.filters) {
    if (filter.color != color)
      continue;
    std::vector<int64_t> scalars;
    evaluateScalars(code.source->scalars(), pe.x, pe.y, scalars);
    const Bindings bindings{scalars.data(), nullptr, nullptr};
    return Filter(filter.kind, filter.min.value(bindings),
                  filter.max.value(bindings),
                  filter.limited ? filter.limit.value(bindings)
                                 : std::numeric_limits<int64_t>::max());
  }
  return {};
}

} // namespace wsec::runtime::pe
