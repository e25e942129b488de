// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two AdamW steps of a GPT whose state does not fit in memory: lies in mapped
// files, while this process never has more than a bound resident. Elements of
// every parameter are compared, bit for bit, with a small store in memory.
//
//   LargeStore LAYERS WIDTH VOCABULARY LIMIT_MIB FOLDER
//
// gpt3-xl, 21 GB of state, within 6 GB: LargeStore 24 2048 50257 5722 FOLDER
#include "runtime/files/ProceduralFile.h"
#include "runtime/memoryx/WeightStream.h"
#include "runtime/program/Errors.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>

using namespace wsec::runtime;
using wsec::program::ElementType;

namespace {

constexpr int steps = 2;
constexpr double rate = 1e-3;

struct Shape {
  std::string name;
  std::vector<uint64_t> sizes;
};

std::vector<Shape> parametersOf(uint64_t layers, uint64_t width,
                                uint64_t vocabulary) {
  std::vector<Shape> all = {{"wte", {vocabulary, width}},
                            {"wpe", {2048, width}}};
  for (uint64_t i = 0; i < layers; ++i) {
    const std::string layer = "h." + std::to_string(i) + ".";
    for (const char *norm : {"ln_1", "ln_2"})
      for (const char *part : {".weight", ".bias"})
        all.push_back({layer + norm + part, {width}});
    const std::pair<const char *, std::pair<uint64_t, uint64_t>> products[] = {
        {"attn.c_attn", {3 * width, width}},
        {"attn.c_proj", {width, width}},
        {"mlp.c_fc", {4 * width, width}},
        {"mlp.c_proj", {width, 4 * width}}};
    for (const auto &[name, sizes] : products) {
      all.push_back({layer + name + ".weight", {sizes.first, sizes.second}});
      all.push_back({layer + name + ".bias", {sizes.first}});
    }
  }
  for (const char *part : {"ln_f.weight", "ln_f.bias"})
    all.push_back({part, {width}});
  return all;
}

/// Of all elements of a parameter, or of those from `first` on.
std::vector<float> numbers(uint64_t seed, size_t parameter, uint64_t first,
                           uint64_t count) {
  std::vector<float> result(count);
  ProceduralFile{seed + parameter, 0.02F, 0}.read(first, 1, count,
                                                  result.data());
  return result;
}

/// The most that was resident so far.
double peakMib() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) / 1024;
}

double seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The elements that are compared: the first and the last ones.
struct Sample {
  uint64_t first, count;
};
std::vector<Sample> samplesOf(uint64_t elements) {
  const uint64_t count = std::min<uint64_t>(elements, 64);
  return {{0, count}, {elements - count, count}};
}

class LargeStore {
public:
  LargeStore(const std::vector<Shape> &shapes, const std::string &folder,
             uint64_t limitMib)
      : store(options(folder, limitMib)), small(options("", 0)) {
    for (const Shape &shape : shapes) {
      const size_t k = store.add(shape.name, shape.sizes);
      const uint64_t count = store.elements(k);
      store.write(k, ElementType::F32, numbers(1, k, 0, count).data());
      for (const Sample &sample : samplesOf(count))
        small.write(small.add(shape.name + std::to_string(small.size()),
                              {sample.count}),
                    ElementType::F32,
                    numbers(1, k, sample.first, sample.count).data());
    }
    std::printf("%zu parameters, %.2f GB of state in files, %.0f MiB resident "
                "at most so far\n",
                store.size(), double(store.bytes()) / 1e9, peakMib());
  }

  void step(uint64_t number) {
    const uint64_t seed = 10000 * (number + 1);
    const double start = seconds();
    for (size_t k = store.size(); k-- > 0;)
      store.accumulate(k, numbers(seed, k, 0, store.elements(k)).data());
    for (size_t s = 0; s < small.size(); ++s)
      small.accumulate(
          s, numbers(seed, s / 2, sampleAt(s).first, sampleAt(s).count).data());
    const double accumulated = seconds();
    const auto result = store.endStep(rate);
    small.endStep(rate);
    const double ended = seconds();
    const bool isSame = streamAndCompare();
    std::printf("step %d: gradients %.1f s, norm %.6g in %.1f s, updates and "
                "stream %.1f s, %.0f MiB resident at most\n",
                int(number) + 1, accumulated - start, result.gradientNorm,
                ended - accumulated, seconds() - ended, peakMib());
    if (!isSame || !result.applied) {
      std::printf("error: weights are not those of the store in memory\n");
      std::exit(1);
    }
  }

private:
  static StoreOptions options(const std::string &folder, uint64_t limitMib) {
    StoreOptions its;
    its.update = adamW({0.9, 0.95, 1e-8, 0.1});
    its.folder = folder;
    its.residentBytes = (limitMib << 20) / 4;
    return its;
  }
  Sample sampleAt(size_t s) const {
    return samplesOf(store.elements(s / 2))[s % 2];
  }

  /// The forward stream of the next step.
  bool streamAndCompare() {
    std::vector<size_t> order(store.size());
    for (size_t k = 0; k < order.size(); ++k)
      order[k] = k;
    WeightStream stream(store, order);
    uint64_t bytes = 0;
    while (auto piece = stream.next())
      bytes += piece->bytes.size();
    bool isSame = true;
    for (size_t s = 0; s < small.size(); ++s) {
      const Sample sample = sampleAt(s);
      std::vector<float> its(sample.count);
      store.read(s / 2, ElementType::F32, sample.first, sample.count,
                 its.data());
      isSame &= its == small.weights(s);
    }
    return isSame && bytes > 0;
  }

  ParameterStore store, small;
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 6) {
    std::printf("usage: LargeStore LAYERS WIDTH VOCABULARY LIMIT_MIB FOLDER\n");
    return 2;
  }
  const uint64_t limit = std::strtoull(argv[4], nullptr, 10);
  try {
    LargeStore large(parametersOf(std::strtoull(argv[1], nullptr, 10),
                                  std::strtoull(argv[2], nullptr, 10),
                                  std::strtoull(argv[3], nullptr, 10)),
                     argv[5], limit);
    for (int step = 0; step < steps; ++step)
      large.step(uint64_t(step));
  } catch (const Error &error) {
    std::printf("error: %s\n", error.what());
    return 1;
  }
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return 0; // has memory of its own
#endif
#endif
  if (peakMib() > double(limit)) {
    std::printf("error: %.0f MiB were resident, the limit is %llu\n", peakMib(),
                static_cast<unsigned long long>(limit));
    return 1;
  }
  return 0;
}
