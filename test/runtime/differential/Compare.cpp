// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/Compare.h"

#include "runtime/observe/Observer.h"
#include "runtime/program/Checker.h"
#include "runtime/wavelet/WaveletEngine.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace wsec::runtime::test {

template <class Engine>
static Outcome runOn(const program::Program &program, TensorHost host,
                     Observer *observer = nullptr) {
  Outcome outcome;
  try {
    EngineOptions options;
    options.observer = observer;
    options.threads = 1;
    options.workLimit = 10000000;
    outcome.result = Engine(program, options).run(host);
    outcome.tensors = host.tensors;
    outcome.channels = host.outputs;
  } catch (const Error &error) {
    outcome.error = error.errorClass();
    outcome.message = error.what();
  }
  return outcome;
}

uint64_t Outcome::digest() const {
  uint64_t digest = 14695981039346656037u;
  auto add = [&](const void *bytes, size_t count) {
    for (size_t i = 0; i < count; ++i)
      digest =
          (digest ^ static_cast<const uint8_t *>(bytes)[i]) * 1099511628211u;
  };
  const int ends = error ? int(*error) : -1;
  add(&ends, sizeof ends);
  add(&result.cycles, sizeof result.cycles);
  for (const auto &[tensor, bytes] : tensors)
    add(bytes.data(), bytes.size());
  for (const auto &[key, words] : channels)
    add(words.data(), words.size() * sizeof(float));
  return digest;
}

/// NaN and zeros of either sign are compared, too.
static bool sameBits(const Outcome::Channels &a, const Outcome::Channels &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto &one, const auto &other) {
                      return one.second.size() == other.second.size() &&
                             std::memcmp(one.second.data(), other.second.data(),
                                         one.second.size() * 4) == 0;
                    });
}

static Verdict judge(const Outcome &other, const Outcome &wavelet) {
  if (other.error != wavelet.error)
    return Verdict::ErrorsDiffer;
  if (other.error)
    return Verdict::Refused;
  if (other.tensors != wavelet.tensors ||
      !sameBits(other.channels, wavelet.channels))
    return Verdict::ValuesDiffer;
  if (other.result.vectorInstructions != wavelet.result.vectorInstructions ||
      other.result.operations != wavelet.result.operations)
    return Verdict::WorkDiffers;
  const double off = std::abs(other.result.cycles - wavelet.result.cycles);
  return off > absoluteTolerance &&
                 off > relativeTolerance * wavelet.result.cycles
             ? Verdict::CyclesDiffer
             : Verdict::Same;
}

Comparison compare(RandomProgram &random, bool strips) {
  Comparison comparison;
  const program::Program &program = random.finish();
  const bool commanded = program.launch_color() != noLaunchColor;
  try {
    // Channels of programs with commands have no tensors behind them.
    if (!commanded)
      checkProgram(program);
  } catch (const Error &error) {
    // This fault shows before the program runs.
    comparison.verdict = random.broken == Break::NoQueue ||
                                 error.errorClass() == ErrorClass::MachineLimit
                             ? Verdict::Refused
                             : Verdict::Invalid;
    comparison.other.error = error.errorClass();
    comparison.other.message = error.what();
    return comparison;
  }
  const TensorHost host = random.host();
  comparison.wavelet = runOn<WaveletEngine>(program, host);
  const bool onStrips = strips && StripsEngine::unsupported(program).empty();
  Observer observer;
  comparison.other = onStrips ? runOn<StripsEngine>(program, host)
                              : runOn<WaveletEngine>(program, host, &observer);
  comparison.verdict = judge(comparison.other, comparison.wavelet);
  return comparison;
}

const char *verdictName(Verdict verdict) {
  static constexpr const char *names[] = {
      "same",         "refused",       "invalid",      "cycles",
      "work differs", "values differ", "errors differ"};
  return names[size_t(verdict)];
}

static std::string describeOutcome(const char *engine, const Outcome &outcome) {
  char cycles[64];
  std::snprintf(cycles, sizeof cycles, "%.1f cycles", outcome.result.cycles);
  return std::string(engine) + ": " +
         (outcome.error ? outcome.message : std::string(cycles)) + "\n";
}

/// Where outputs begin to differ.
static std::string describeValues(const Outcome &other,
                                  const Outcome &wavelet) {
  for (const auto &[tensor, bytes] : other.tensors) {
    const std::vector<uint8_t> &right = wavelet.tensors.at(tensor);
    const auto at = std::mismatch(bytes.begin(), bytes.end(), right.begin());
    if (at.first == bytes.end())
      continue;
    const size_t byte = size_t(at.first - bytes.begin());
    char text[100];
    std::snprintf(text, sizeof text,
                  "tensor %u differs from byte %zu on: %02x, %02x\n", tensor,
                  byte, *at.first, *at.second);
    return text;
  }
  for (const auto &[key, words] : other.channels) {
    const std::vector<float> &right = wavelet.channels.at(key);
    for (size_t i = 0; i < std::min(words.size(), right.size()); ++i)
      if (std::memcmp(&words[i], &right[i], 4) != 0) {
        char text[100];
        std::snprintf(text, sizeof text,
                      "stream %u differs from word %zu on: %.9g, %.9g\n",
                      key.first, i, double(words[i]), double(right[i]));
        return text;
      }
  }
  return "";
}

std::string Comparison::describe() const {
  if (verdict == Verdict::ValuesDiffer)
    return std::string(verdictName(verdict)) + "\n" +
           describeValues(other, wavelet);
  return std::string(verdictName(verdict)) + "\n" +
         describeOutcome("other  ", other) +
         describeOutcome("wavelet", wavelet);
}

} // namespace wsec::runtime::test
