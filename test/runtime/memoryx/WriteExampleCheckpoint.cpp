// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two checkpoints for trying what reads them: WriteExampleCheckpoint FOLDER
#include "runtime/memoryx/Checkpoint.h"

using namespace wsec::runtime;

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  StoreOptions options;
  options.lossScale.emplace();
  ParameterStore store(options);
  store.add("layer.weight", {2, 3});
  store.add("embedding", {4, 2}, false);
  store.progress["data.position"] = {17, 4};
  std::vector<float> gradient = {1, -2, 3, -4, 5, -6};
  for (float &value : gradient)
    value *= float(store.lossScale());
  for (int step = 0; step < 2; ++step) {
    store.accumulate(0, gradient.data());
    store.endStep(0.5);
    Checkpoint::save(store, argv[1], {.shardBytes = 30});
  }
  return 0;
}
