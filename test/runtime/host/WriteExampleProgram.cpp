// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// write-example-program FILE: y[i] = -(x[i] + i) for three elements.
#include "test/runtime/ExampleFile.h"

#include <fstream>

using namespace wsec::runtime::test;

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  std::vector<float> bundle = countUp(3);
  ProgramBuilder builder = makeNegation(3, bundle);
  std::vector<uint8_t> file = makeFile(builder, bundle);
  std::ofstream out(argv[1], std::ios::binary);
  out.write(reinterpret_cast<const char *>(file.data()),
            std::streamsize(file.size()));
  return out ? 0 : 1;
}
