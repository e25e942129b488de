// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/MemoryX.h"
#include "runtime/program/Errors.h"
#include "test/runtime/ExampleFile.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace wsec::runtime {
namespace {

using namespace test;
using Words = std::vector<float>;

class WeightFileTest : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::canonical(testing::TempDir()).string() +
             "/wsec-weights";
    std::filesystem::create_directory(folder);
    path = folder + "/w.bin";
    std::ofstream(path).write(reinterpret_cast<const char *>(words.data()),
                              std::streamsize(words.size() * 4));
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::shared_ptr<const LoadedProgram> load(const std::string &name = "w.bin") {
    ProgramBuilder builder = makeNegation(3, words);
    builder.source.files[0]->path = name;
    return LoadedProgram::fromBytes(makeFile(builder), folder);
  }
  static std::string refusal(std::shared_ptr<const LoadedProgram> program) {
    try {
      TensorStore store(program);
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  }

  Words words = countUp(3);
  std::string folder, path;
};

TEST_F(WeightFileTest, IsUsedWhereItLies) {
  TensorStore store(load());
  float last;
  std::memcpy(&last, store.elements(1) + 8, 4);
  EXPECT_EQ(last, 2.f);
  EXPECT_EQ(store.weightFiles(), std::vector<std::string>{path});
  store.checkUnchanged();
}

TEST_F(WeightFileTest, IsSoughtInNamedFoldersFirst) {
  auto program = load();
  const std::string other = folder + "/other";
  std::filesystem::create_directory(other);
  EXPECT_EQ(TensorStore(program, {other}).weightFiles().front(), path);
  std::filesystem::copy(path, other + "/w.bin");
  EXPECT_EQ(TensorStore(program, {other}).weightFiles().front(),
            other + "/w.bin");
}

TEST_F(WeightFileTest, RefusesNamesThatLeadOut) {
  for (const std::string &name : {path, std::string("../w.bin")})
    try {
      load(name);
      FAIL();
    } catch (const Error &error) {
      EXPECT_EQ(error.errorClass(), ErrorClass::BadProgram);
      EXPECT_NE(error.message().find(
                    "weight file '" + name +
                    "': leads out of the folder of the weights; weight files "
                    "have relative names without '..', and --weights=DIR names "
                    "their folder"),
                std::string::npos)
          << error.message();
    }
}

/// The refusal of a program whose weights are computed, after `change`.
static std::string computedWeights(const std::string &name,
                                   void (*change)(program::ProgramT &)) {
  ProgramBuilder builder = makeNegation(3, countUp(3));
  builder.source.files[0]->path = name;
  if (auto file = ProceduralFile::parse(name))
    builder.source.files[0]->digest = file->digest();
  change(builder.source);
  try {
    TensorStore store(LoadedProgram::fromBytes(makeFile(builder), "."));
    const float *words = reinterpret_cast<const float *>(store.elements(1));
    Words expected(3);
    ProceduralFile::parse(name)->read(0, 1, 3, expected.data());
    EXPECT_EQ(Words(words, words + 3), expected);
    EXPECT_TRUE(store.weightFiles().empty());
    store.checkUnchanged();
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

TEST_F(WeightFileTest, ComputesWhatIsInNoFile) {
  const std::string name = "procedural:seed=1,range=1,mean=0";
  EXPECT_EQ(computedWeights(name, [](program::ProgramT &) {}), "");
  EXPECT_EQ(
      computedWeights(
          name, [](program::ProgramT &program) { ++program.files[0]->digest; }),
      "WeightFileChanged: weights '" + name +
          "' is not the file the program was compiled for: its contents "
          "differ; compile the model again");
  EXPECT_EQ(computedWeights("procedural:seed=1", [](program::ProgramT &) {}),
            "BadProgram: weight file 'procedural:seed=1': names numbers to "
            "compute in a form that is not known");
  const std::string refused =
      "BadProgram: tensor '" +
      makeNegation(3, countUp(3)).source.tensors[1]->name +
      "': is computed, and does not consist of f32 at a multiple of 4 bytes";
  EXPECT_EQ(computedWeights(name,
                            [](program::ProgramT &program) {
                              program.tensors[1]->offset = 2;
                              program.files[0]->size = 14;
                            }),
            refused);
  EXPECT_EQ(computedWeights(name,
                            [](program::ProgramT &program) {
                              program.tensors[1]->type =
                                  program::ElementType::F16;
                              program.tensors[1]->bytes /= 2;
                            }),
            refused);
}

TEST_F(WeightFileTest, RefusesASecondBundle) {
  ProgramBuilder builder = makeNegation(3, words);
  addBundle(builder, words);
  try {
    LoadedProgram::fromBytes(makeFile(builder, words));
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(error.message().find("is a second bundle"), std::string::npos);
  }
}

TEST_F(WeightFileTest, RefusesChangedContents) {
  auto program = load();
  words[1] = 7;
  SetUp();
  EXPECT_EQ(refusal(program),
            "WeightFileChanged: weight file '" + path +
                "' is not the file the program was compiled for: its contents "
                "differ; compile the model again");
}

TEST_F(WeightFileTest, RefusesChangedSize) {
  auto program = load();
  words.push_back(7);
  SetUp();
  EXPECT_EQ(refusal(program), "WeightFileChanged: weight file '" + path +
                                  "' has 16 bytes, the program was compiled "
                                  "for 12; compile the model again");
}

TEST_F(WeightFileTest, RefusesMissingFile) {
  auto program = load();
  std::filesystem::remove(path);
  EXPECT_EQ(refusal(program),
            "IoError: weights: there is no 'w.bin' in '" + folder +
                "'; name the folder that has it with --weights=DIR, or compile "
                "with --bundle");
}

/// The message, if a store finds its file changed behind its back by `change`.
template <class Change>
std::string noticed(std::shared_ptr<const LoadedProgram> program,
                    Change change) {
  TensorStore store(program);
  change();
  try {
    store.checkUnchanged();
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

TEST_F(WeightFileTest, NoticesWritesWhileItIsUsed) {
  const std::string expected =
      "WeightFileChanged: weight file '" + path +
      "' was written to while the program ran; results of this run are void, "
      "run it again";
  EXPECT_EQ(noticed(load(), [] {}), "");
  EXPECT_EQ(noticed(load(), [&] { std::fstream(path).write("x", 1); }),
            expected);
  SetUp();
  EXPECT_EQ(noticed(load(), [&] { std::filesystem::resize_file(path, 0); }),
            expected);
  SetUp();
  // A new file of that name does not touch the one that is mapped.
  EXPECT_EQ(noticed(load(),
                    [&] {
                      std::ofstream(folder + "/new") << "other";
                      std::filesystem::rename(folder + "/new", path);
                    }),
            "");
}

/// Whether this process has touched the page.
static bool isResident(const uint8_t *address) {
  uint64_t entry = 0;
  InputFile("/proc/self/pagemap")
      .read(uintptr_t(address) / uint64_t(::getpagesize()) * sizeof(entry),
            &entry, sizeof(entry));
  return entry >> 63 != 0;
}

/// A file that was just written is hashed again behind a run, since a write of
/// the same moment does not show in its times; once, when that is past.
TEST_F(WeightFileTest, IsHashedAgainUntilItsTimesAreCertain) {
  constexpr size_t size = 4 << 20;
  words = countUp(size / 4);
  SetUp();
  ProgramBuilder builder = makeNegation(3, words);
  builder.source.files[0]->path = "w.bin";
  TensorStore store(LoadedProgram::fromBytes(makeFile(builder), folder));
  auto isRead = [&] {
    auto *data = const_cast<uint8_t *>(store.elements(1));
    EXPECT_EQ(::madvise(data, size, MADV_DONTNEED), 0);
    store.checkUnchanged();
    return isResident(data + size / 2);
  };
  EXPECT_TRUE(isRead());
  while (stateOf(path).recent())
    ::usleep(50000);
  EXPECT_TRUE(isRead());
  EXPECT_FALSE(isRead());
  EXPECT_FALSE(isRead());
  std::fstream(path).write("x", 1);
  EXPECT_THROW(store.checkUnchanged(), Error);
}

} // namespace
} // namespace wsec::runtime
