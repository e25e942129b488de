// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Run by mpirun, as reduce-under-mpi SYSTEMS canonical|tree: sums over its
// processes have the bits of one process, canonical ones those of one system.
#include "runtime/swarmx/MpiLink.h"
#include "test/runtime/swarmx/Gradients.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

using namespace wsec::runtime;

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  const auto systems = unsigned(std::atoi(argv[1]));
  const bool tree = argv[2] == std::string("tree");
  const ReduceOrder order = tree ? ReduceOrder::Tree : ReduceOrder::Canonical;
  const std::unique_ptr<Link> link =
      openMpiLink([](const std::string &what, bool) {
        std::fprintf(stderr, "%s\n", what.c_str());
        _exit(1);
      });
  constexpr uint64_t samples = 200;
  const test::Sums sums = test::reduceOver(*link, systems, samples, order);
  OneProcess alone;
  if (link->rank() > 0)
    return 0;
  const unsigned few = tree ? systems : 1;
  if (sums != test::reduceOver(alone, few, samples, order)) {
    std::fprintf(stderr, "sums differ\n");
    return 1;
  }
  std::printf("%u processes give the sums of one\n", link->size());
  return 0;
}
