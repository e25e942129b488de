// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/MpiLink.h"

#include <cstdlib>

namespace wsec::runtime {

MpiLaunch mpiLaunch() {
  const char *rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const char *size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (!rank || !size)
    return {};
  return {unsigned(std::atoi(rank)), unsigned(std::atoi(size))};
}

} // namespace wsec::runtime
