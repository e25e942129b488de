// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast a parameter store goes through its state, and writes it to the disk:
//
//   wsec-bench-store FOLDER [MILLIONS OF PARAMETERS, 100]
//
// Rates count the bytes that are moved once: 4 of a gradient, 2 of a bf16
// stream, 30 of an AdamW step with its stream, 12 of a checkpoint. The disk
// alone is a file of as many bytes, written and synced. The last column is of
// the time of processors, which other work on the machine does not change.
#include "runtime/files/NewFile.h"
#include "runtime/memoryx/Checkpoint.h"
#include "runtime/memoryx/WeightStream.h"
#include "runtime/program/Errors.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

using namespace wsec::runtime;

namespace {

/// Of all threads of this process, in the system, too.
double processorSeconds() {
  timespec time;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

template <typename Work>
void time(const char *what, double bytes, const Work &work) {
  const auto start = std::chrono::steady_clock::now();
  const double before = processorSeconds();
  work();
  const std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  const double worked = processorSeconds() - before;
  std::printf("%-28s %7.3f s  %6.2f GB/s  %7.3f s of processors  %6.2f GB/s\n",
              what, taken.count(), bytes / taken.count() / 1e9, worked,
              bytes / worked / 1e9);
}

void writeAlone(const std::string &path, double bytes) {
  const std::vector<char> piece(size_t(8) << 20, 'x');
  NewFile file(path);
  while (double(file.size()) < bytes)
    file.write(piece.data(), piece.size());
  file.sync();
}

void measure(const std::string &folder, uint64_t millions) {
  constexpr uint64_t each = 4'000'000;
  ParameterStore store({});
  std::vector<size_t> order;
  for (uint64_t i = 0; i < millions * 1'000'000 / each; ++i)
    order.push_back(store.add("w" + std::to_string(i), {2000, 2000}));
  const std::vector<float> gradient(each, 0.01F);
  const double count = double(order.size() * each);
  auto accumulate = [&] {
    for (size_t k : order)
      store.accumulate(k, gradient.data());
  };
  auto stream = [&] {
    WeightStream its(store, order);
    while (its.next())
      ;
  };
  for (const char *round : {"first", "second"}) {
    std::printf("%s round, %.0f M parameters\n", round, count / 1e6);
    time("gradients", 4 * count, accumulate);
    time("norm", 4 * count, [&] { store.endStep(1e-3); });
    time("late updates, bf16 stream", 30 * count, stream);
    time("bf16 stream", 2 * count, stream);
  }
  const std::string place = folder + "/wsec-bench-store";
  std::filesystem::create_directories(place);
  std::string saved;
  time("disk alone", 12 * count,
       [&] { writeAlone(place + "/alone", 12 * count); });
  time("checkpoint", 12 * count,
       [&] { saved = Checkpoint::save(store, place); });
  ParameterStore other({});
  time("verified and loaded", 12 * count,
       [&] { Checkpoint::load(other, saved); });
  std::filesystem::remove_all(place);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    std::printf("usage: wsec-bench-store FOLDER [MILLIONS]\n");
    return 2;
  }
  try {
    measure(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100);
  } catch (const Error &error) {
    std::printf("error: %s\n", error.what());
    return 1;
  }
  return 0;
}
