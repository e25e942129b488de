// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/OutputFiles.h"
#include "runtime/program/Errors.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace wsec::runtime {
namespace {

class OutputFilesTest : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "wsec-output-files/";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  size_t fileCount() const {
    return size_t(std::distance(std::filesystem::directory_iterator(folder),
                                std::filesystem::directory_iterator()));
  }
  std::string content(const std::string &name) const {
    std::ifstream in(folder + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string folder;
};

TEST_F(OutputFilesTest, AppearTogether) {
  OutputFiles files;
  files.add(folder + "a", "first");
  files.add(folder + "b", "second");
  EXPECT_FALSE(std::filesystem::exists(folder + "a"));
  files.commit();
  EXPECT_EQ(content("a"), "first");
  EXPECT_EQ(content("b"), "second");
  EXPECT_EQ(fileCount(), 2u);
}

TEST_F(OutputFilesTest, VanishWithoutCommit) {
  std::ofstream(folder + "a") << "old";
  {
    OutputFiles files;
    files.add(folder + "a", "new");
  }
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(fileCount(), 1u);
}

TEST_F(OutputFilesTest, NamesWhatCannotBeWritten) {
  OutputFiles files;
  try {
    files.add(folder + "none/a", "x");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.errorClass(), ErrorClass::IoError);
    EXPECT_EQ(error.message(),
              "cannot write '" + folder + "none/a': No such file or directory");
  }
}

} // namespace
} // namespace wsec::runtime
