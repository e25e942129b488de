// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Checkpoint.h"
#include "test/runtime/memoryx/StoreNumbers.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sys/file.h>
#include <sys/wait.h>
#include <thread>

namespace wsec::runtime {
namespace {

namespace fs = std::filesystem;
using namespace test;

StoreOptions options(UpdatePtr update = adamW()) {
  StoreOptions its;
  its.update = std::move(update);
  its.clipNorm = 1;
  its.lossScale.emplace();
  its.lossScale->window = 5;
  its.lossScale->scale = 16;
  return its;
}

std::unique_ptr<ParameterStore> fresh(StoreOptions its = options()) {
  auto store = std::make_unique<ParameterStore>(its);
  addParameters(*store);
  store->add("frozen", {3}, false);
  store->progress = {{"data.position", {7}},
                     {"rng", {1, UINT64_MAX, 0x123456789abcdef0}}};
  return store;
}

/// One step; its gradients and its rate are functions of the count of steps,
/// and of what the checkpoint has kept of the training loop.
void advance(ParameterStore &store) {
  uint64_t &position = store.progress.at("data.position").at(0);
  ++position;
  for (size_t k = 0; k < shapes.size(); ++k)
    store.accumulate(k, gradient(1000, position, k, store.elements(k)).data());
  store.endStep(1e-2 / double(store.steps() + 1));
}

std::unique_ptr<ParameterStore> loaded(const std::string &path,
                                       StoreOptions its = options()) {
  auto store = std::make_unique<ParameterStore>(its);
  Checkpoint::load(*store, path);
  return store;
}

/// Everything that a checkpoint has, as bytes.
std::map<std::string, std::string> bytesOf(const std::string &path) {
  std::map<std::string, std::string> files;
  for (const auto &entry : fs::directory_iterator(path)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] =
        std::string(std::istreambuf_iterator<char>(file), {});
  }
  return files;
}

class CheckpointTest : public testing::Test {
protected:
  std::string saved(unsigned steps = 3) {
    auto store = fresh();
    for (unsigned step = 0; step < steps; ++step)
      advance(*store);
    return Checkpoint::save(*store, folder.path);
  }
  void overwrite(const std::string &file, const std::string &bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  }
  void refused(const std::string &path, const std::string &part,
               ErrorClass errorClass = ErrorClass::BadState) {
    expectError(errorClass, part, [&] { loaded(path); });
  }
  const Folder folder;
};

TEST_F(CheckpointTest, HoldsMasks) {
  auto store = fresh();
  std::vector<uint8_t> mask(store->elements(0), 1);
  for (size_t i = 0; i < mask.size(); i += 3)
    mask[i] = 0;
  store->setMask(0, mask);
  advance(*store);
  auto again = loaded(Checkpoint::save(*store, folder.path));
  EXPECT_EQ(again->mask(0), mask);
  EXPECT_TRUE(again->mask(1).empty());
  advance(*store);
  advance(*again);
  EXPECT_EQ(again->weights(0), store->weights(0));
  EXPECT_EQ(again->weights(0)[3], 0);
}

TEST_F(CheckpointTest, ARestartIsTheSameBits) {
  for (const UpdatePtr &update :
       {adamW({0.9, 0.95, 1e-8, 0.1}), sgd(), sgd({0.9}), adafactor()}) {
    Folder other;
    auto unbroken = fresh(options(update)), broken = fresh(options(update));
    for (int step = 0; step < 20; ++step) {
      advance(*unbroken);
      advance(*broken);
      if (step % 7 == 3)
        broken = loaded(Checkpoint::save(*broken, other.path), options(update));
    }
    EXPECT_EQ(allWeights(*unbroken), allWeights(*broken));
    EXPECT_EQ(unbroken->progress, broken->progress);
    EXPECT_EQ(unbroken->steps(), broken->steps());
    EXPECT_EQ(unbroken->lossScale(), broken->lossScale());
    EXPECT_FALSE(broken->isTrainable(broken->find("frozen")));
    // Moments, too.
    EXPECT_EQ(bytesOf(Checkpoint::save(*unbroken, folder.path)),
              bytesOf(Checkpoint::save(*broken, other.path)));
  }
}

TEST_F(CheckpointTest, UpdatesThatWaitAreInIt) {
  auto lazy = fresh(), eager = fresh();
  advance(*lazy);
  advance(*eager);
  eager->settle();
  EXPECT_EQ(bytesOf(Checkpoint::save(*lazy, folder / "a")),
            bytesOf(Checkpoint::save(*eager, folder / "b")));
}

TEST_F(CheckpointTest, LargeOnesAreDivided) {
  auto store = fresh();
  advance(*store);
  const std::string path =
      Checkpoint::save(*store, folder.path, {.shardBytes = 1000});
  EXPECT_TRUE(fs::exists(path + "/model-00001-of-00002.safetensors"));
  EXPECT_TRUE(fs::exists(path + "/optimizer.safetensors.index.json"));
  EXPECT_EQ(allWeights(*loaded(path)), allWeights(*store));
  // Weights alone, for whoever has no use for the rest.
  const auto model = SafetensorsModel::open(path);
  EXPECT_EQ(model.at("w2").shape, shapes[2]);
  const Floats weights = store->weights(2);
  EXPECT_EQ(
      std::memcmp(model.at("w2").data, weights.data(), weights.size() * 4), 0);
}

TEST_F(CheckpointTest, KeepsTheLastOnes) {
  auto store = fresh();
  EXPECT_FALSE(Checkpoint::latest(folder.path));
  EXPECT_FALSE(Checkpoint::latest(folder / "missing"));
  fs::create_directories(folder / "step-12.part"); // a killed writer's
  fs::create_directories(folder / "step-9999");    // none of ours
  for (int step = 0; step < 5; ++step) {
    advance(*store);
    const std::string path = Checkpoint::save(*store, folder.path, {.keep = 2});
    EXPECT_EQ(Checkpoint::latest(folder.path), path);
  }
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(folder.path))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{
                       "step-000000000004", "step-000000000005", "step-9999"}));
}

TEST_F(CheckpointTest, OneOfTheSameStepIsReplaced) {
  auto store = fresh();
  const std::string path = Checkpoint::save(*store, folder.path);
  store->progress["rng"] = {5};
  EXPECT_EQ(Checkpoint::save(*store, folder.path), path);
  EXPECT_EQ(Checkpoint::read(path).progress.at("rng"),
            (std::vector<uint64_t>{5}));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 1);
}

TEST_F(CheckpointTest, OnlyBetweenSteps) {
  auto store = fresh();
  store->accumulate(0, numbers(1, store->elements(0), 1).data());
  expectError(ErrorClass::BadCall, "'w0' has gradients of 1 samples",
              [&] { Checkpoint::save(*store, folder.path); });
  expectError(ErrorClass::BadCall, "has parameters",
              [&] { Checkpoint::load(*store, saved()); });
}

TEST_F(CheckpointTest, OneWriterAtATime) {
  const int other = ::open(folder.path.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  expectError(ErrorClass::IoError, "another process saves", [&] { saved(); });
  ::close(other);
  saved();
}

TEST_F(CheckpointTest, TornFilesAreRefusedByName) {
  const std::string path = saved();
  for (const auto &[name, bytes] : bytesOf(path)) {
    const std::string file = path + "/" + name;
    overwrite(file, bytes.substr(0, bytes.size() / 2));
    refused(path, name);
    overwrite(file, "");
    refused(path, name);
    for (size_t at : {size_t(9), bytes.size() / 3, bytes.size() - 3}) {
      std::string damaged = bytes;
      damaged[at] ^= 1;
      overwrite(file, damaged);
      refused(path, name);
    }
    fs::remove(file);
    refused(path, name,
            name == "checkpoint.json" ? ErrorClass::BadState
                                      : ErrorClass::IoError);
    overwrite(file, bytes);
  }
  EXPECT_EQ(loaded(path)->steps(), 3u);
}

TEST_F(CheckpointTest, ForeignFilesAreRefused) {
  const std::string three = saved(3), two = saved(2);
  const auto bytes = bytesOf(three);
  overwrite(two + "/model.safetensors", bytes.at("model.safetensors"));
  refused(two, "model.safetensors' is not the file");
  refused(folder.path, "is no checkpoint, or one that was never finished");
  refused(folder / "missing", "cannot read", ErrorClass::IoError);
  expectError(ErrorClass::BadState, "update rule 'adamw', the store has 'sgd'",
              [&] { loaded(three, options(sgd())); });
}

TEST_F(CheckpointTest, ManifestsAreHeldToTheirForm) {
  const std::string path = saved();
  const std::string file = path + "/checkpoint.json";
  auto manifest = [&](const std::string &text, const std::string &part) {
    overwrite(file, text);
    refused(path, part);
  };
  manifest("[]", "is no JSON object");
  manifest("{}", "is of no checkpoint");
  manifest(R"({"format":"wsec-checkpoint","version":2})",
           "has version 2 of the format, expected 1");
  manifest(R"({"format":1})", "a field is missing, or of another type");
  manifest(R"({"format":"wsec-checkpoint","version":1})", "has '' as a digest");
  manifest(R"({"format":"wsec-checkpoint","version":1,)"
           R"("xxh3":"0123456789abcdef"})",
           "is damaged: its digest is another");
}

/// A process that takes steps and saves each, until it is killed.
[[noreturn]] void trainForEver(const std::string &folder) {
  try {
    auto store = fresh();
    if (const auto last = Checkpoint::latest(folder))
      store = loaded(*last);
    for (;;) {
      advance(*store);
      Checkpoint::save(*store, folder, {.shardBytes = 1000, .keep = 2});
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(1);
  }
}

TEST_F(CheckpointTest, KilledWritersLeaveTheLastOneWhole) {
  // What weights are after so many steps.
  auto unbroken = fresh();
  std::map<uint64_t, std::vector<Floats>> expected;
  std::mt19937 random(1);
  uint64_t last = 0;
  uint32_t longest = 60'000; // microseconds; more on a machine that is busy
  for (int round = 0; round < 60; ++round) {
    const pid_t writer = ::fork();
    if (writer == 0)
      trainForEver(folder.path);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % longest));
    ::kill(writer, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";
    const auto path = Checkpoint::latest(folder.path);
    if (!path) {
      longest += longest / 4;
      continue;
    }
    auto store = loaded(*path);
    ASSERT_GE(store->steps(), last);
    if (store->steps() == last)
      longest = std::min(longest + longest / 4, 2'000'000U);
    last = store->steps();
    while (unbroken->steps() < last) {
      advance(*unbroken);
      expected[unbroken->steps()] = allWeights(*unbroken);
    }
    ASSERT_EQ(allWeights(*store), expected[last]);
  }
  EXPECT_GT(last, 5u);
  std::printf("60 writers killed after %llu steps\n",
              static_cast<unsigned long long>(last));
}

} // namespace
} // namespace wsec::runtime
