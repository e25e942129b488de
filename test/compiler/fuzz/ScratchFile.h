// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_COMPILER_FUZZ_SCRATCHFILE_H
#define TEST_COMPILER_FUZZ_SCRATCHFILE_H

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

namespace wsec::test {

/// A file for as long as the object lives, in `folder` or, if that is empty,
/// where temporary files go.
class ScratchFile {
public:
  ScratchFile(const std::string &folder, const std::string &suffix,
              const std::vector<uint8_t> &bytes)
      : name((folder.empty() ? std::filesystem::temp_directory_path()
                             : std::filesystem::path(folder)) /
             ("fuzz-" + std::to_string(getpid()) + suffix)) {
    std::ofstream(name, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               std::streamsize(bytes.size()));
  }
  ~ScratchFile() { std::remove(name.c_str()); }
  ScratchFile(const ScratchFile &) = delete;
  ScratchFile &operator=(const ScratchFile &) = delete;

  std::string path() const { return name.string(); }
  std::vector<uint8_t> bytes() const {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

private:
  const std::filesystem::path name;
};

} // namespace wsec::test

#endif // TEST_COMPILER_FUZZ_SCRATCHFILE_H
