// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Errors.h"
#include "runtime/program/Loader.h"
#include "test/runtime/ExampleFile.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;

/// The message with which a file is refused, empty if it loads.
std::string refusal(std::vector<uint8_t> file) {
  try {
    LoadedProgram::fromBytes(std::move(file));
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

std::vector<uint8_t> validFile() {
  std::vector<float> bundle = countUp(3);
  ProgramBuilder builder = makeNegation(3, bundle);
  return makeFile(builder, bundle);
}

TEST(ContainerTest, LoadsProgramAndBundle) {
  auto loaded = LoadedProgram::fromBytes(validFile());
  EXPECT_EQ(loaded->program().model()->str(), "negation");
  ASSERT_EQ(loaded->bundleBytes(), 12u);
  float last;
  std::memcpy(&last, loaded->bundle() + 8, 4);
  EXPECT_EQ(last, 2.f);
}

TEST(ContainerTest, RefusesOtherFiles) {
  EXPECT_EQ(refusal({}), "BadProgram: not a .wafer file: 0 bytes are less than "
                         "a header");
  EXPECT_EQ(refusal(std::vector<uint8_t>(100, 'x')),
            "BadProgram: not a .wafer file: it does not start with WAFER; "
            "wsec compiles .onnx and .mlir files to .wafer files");
}

TEST(ContainerTest, RefusesOtherContainerVersion) {
  std::vector<uint8_t> file = validFile();
  file[6] = 2;
  EXPECT_EQ(refusal(file), "BadProgram: container version 2.0 of the .wafer "
                           "file, expected 1.0; compile the model again with "
                           "the wsec of this runtime");
}

TEST(ContainerTest, RefusesCutOffFile) {
  std::vector<uint8_t> file = validFile();
  file.resize(200);
  EXPECT_NE(refusal(file).find("the .wafer file is cut off"),
            std::string::npos);
  EXPECT_NE(refusal(file).find("; copy it again, or compile the model again"),
            std::string::npos);
}

TEST(ContainerTest, RefusesDamagedTables) {
  std::vector<uint8_t> file = validFile();
  file[containerHeaderBytes + 3] = 0x7f; // the root offset
  EXPECT_EQ(refusal(file), "BadProgram: the .wafer file is damaged: its tables "
                           "do not verify");
}

TEST(ContainerTest, RefusesOtherProgramVersion) {
  ProgramBuilder builder = makeNegation(3, countUp(3));
  builder.source.version = 9;
  EXPECT_EQ(refusal(makeFile(builder)),
            "BadProgram: program version 9, this runtime reads " +
                versionText(programVersion) +
                "; compile the model again with the wsec of this runtime");
}

TEST(ContainerTest, RefusesOtherInstructions) {
  ProgramBuilder builder = makeNegation(3, countUp(3));
  builder.source.version = programVersion ^ 1;
  EXPECT_NE(refusal(makeFile(builder)).find("BadProgram: program version 6."),
            std::string::npos);
}

TEST(ContainerTest, NamesAFolder) {
  try {
    LoadedProgram::open(testing::TempDir());
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.what(), "IoError: cannot read '" + testing::TempDir() +
                                "': not a regular file");
  }
}

/// What is checked is what runs: nobody can change it in between.
TEST(ContainerTest, KeepsTheCheckedProgram) {
  const std::string path = testing::TempDir() + "wsec-kept.wafer";
  const std::vector<uint8_t> file = validFile();
  std::ofstream(path).write(reinterpret_cast<const char *>(file.data()),
                            std::streamsize(file.size()));
  auto loaded = LoadedProgram::open(path);
  std::fstream(path).write(std::string(200, 'x').data(), 200);
  EXPECT_EQ(loaded->program().model()->str(), "negation");
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(loaded->program().model()->str(), "negation");
  std::filesystem::remove(path);
}

TEST(ContainerTest, NamesMissingFile) {
  try {
    LoadedProgram::open("/nonexistent/model.wafer");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.errorClass(), ErrorClass::IoError);
    EXPECT_STREQ(error.what(), "IoError: cannot read '/nonexistent/model.wafer'"
                               ": No such file or directory");
  }
}

} // namespace
} // namespace wsec::runtime
