// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/Help.h"
#include "tools/wsec/Subcommands.h"

using namespace wsec;

tools::LlvmTool wsec::describeTool() {
  tools::LlvmTool tool;
  tool.name = "wsec";
  tool.usage = "usage: wsec MODEL [flags]\n\nCompiles a transformer model to a "
               "program for the wafer.\n\n  wsec model.onnx -o model.wafer "
               "--shape input_ids=1x128\n";
  tool.usage += tools::subcommandsText;
  tool.usage +=
      "\nWhat of a model is not supported is said at once: a line for "
      "each operator and\nreason, how many nodes depend on it, and "
      "what to do about it.\n";
  tool.groups = {
      {"model",
       {"shape", "dim", "bind", "entry", "state", "states", "initial-states",
        "reorder-states", "kv-capacity", "param"}},
      {"weights",
       {"weights", "bundle", "allow-absent-weights", "precision",
        "kv-precision", "precision-opt-level", "allow-f64-as-f32",
        "expand-weights", "sparsity", "sparsity-method", "sparsity-seed",
        "sparsity-filter"}},
      {"wafer",
       {"machine", "mesh", "keep-out", "region", "mode", "samples",
        "placement"}},
      {"training",
       {"train", "freeze", "lora", "loss", "loss-of", "loss-reduction",
        "targets", "ignore-index", "label-smoothing", "gradient-of",
        "gradients-as-results", "training-plan"}},
      {"output",
       {"o", "report", "explain", "dump-placement", "counters", "emit",
        "stop-after", "print-constants", "reproducer", "quiet", "help",
        "version"}}};
  tool.exitCodes =
      "Exit code: 0 done; 1 the model is at fault; 2 wrong usage.\n";
  return tool;
}
