// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers that make a transformer, and the parameters that follow from
// them. Free of MLIR; the estimate and the writer of models both start here.
#ifndef WSEC_TOOLS_PRESETS_MODELSHAPE_H
#define WSEC_TOOLS_PRESETS_MODELSHAPE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wsec::presets {

enum class Architecture { Decoder, Encoder, EncoderDecoder };
enum class Positions { Learned, Rotary, Relative };
enum class Norm { Layer, Rms };
enum class Activation { Gelu, SwiGlu, Relu };
/// Sequential: attention, then the feed-forward part, each with a norm of its
/// own. Parallel: both read the same input, through one norm (GPT-J) or through
/// one each (GPT-NeoX).
enum class Residual { Sequential, ParallelOneNorm, ParallelTwoNorms };

struct ModelShape {
  std::string name;
  int64_t layers = 0;
  int64_t width = 0;
  int64_t heads = 0;
  int64_t keyValueHeads = 0; ///< fewer than heads: grouped-query attention
  int64_t headSize = 0;
  int64_t feedForward = 0;
  int64_t vocabulary = 0;
  int64_t sequence = 0; ///< also the number of learned positions
  Architecture architecture = Architecture::Decoder;
  Positions positions = Positions::Learned;
  int64_t rotaryFeatures = 0;     ///< of each head, where positions are rotary
  bool rotaryInterleaved = false; ///< pairs (0, 1), (2, 3), ...: GPT-J
  double rotaryBase = 10000; ///< pair i of n turns by its power -i / n a token
  Norm norm = Norm::Layer;
  double normEpsilon = 1e-5;
  Activation activation = Activation::Gelu;
  Residual residual = Residual::Sequential;
  bool attentionBias = true;
  bool feedForwardBias = true;
  bool tiedHead = true; ///< the head is the embedding, transposed
  bool headBias = false;
  int64_t decoderSequence = 0; ///< of an encoder-decoder
  /// Feed-forward parts of a layer, 0: one, and how many of them a token meets.
  int64_t experts = 0, expertsPerToken = 0;
  /// Sequences per step in the vendor's published configuration.
  int64_t batch = 0;
  /// Activations the attention adds have this many features.
  int64_t attentionWidth() const { return heads * headSize; }
};

enum class Role {
  Matrix, ///< streamed for a product with all tokens
  Table,  ///< rows of it are gathered
  Vector, ///< a bias, a norm's scale
  Extra   ///< a matrix that only some tokens meet: pooler, masked-word head
};

struct Parameter {
  std::string name;
  /// Extents of a matrix: inputs, outputs; of experts: how many, outputs,
  /// inputs.
  std::vector<int64_t> dims;
  Role role;
  /// Initial elements are uniform in [mean - range, mean + range).
  double range, mean = 0;

  int64_t elements() const;
};

/// What makes the numbers no transformer, or nothing.
std::optional<std::string> check(const ModelShape &shape);

/// After some numbers of `before` were changed to `shape`: those that followed
/// from them there (width of heads and feed-forward part, keys of all heads,
/// rotary features) follow again, unless they were changed, too.
void followChanges(ModelShape &shape, const ModelShape &before);

/// Every trained parameter, in the order of the forward pass.
std::vector<Parameter> parametersOf(const ModelShape &shape);

/// What the estimate asks of a model.
struct Workload {
  std::string name;
  int64_t parameters = 0;
  int64_t activeParameters = 0; // without experts that a token does not meet
  /// Parameters of matrices, the head once: what streams in a pass over the
  /// weights.
  int64_t productParameters = 0;
  /// Product parameters of the first layer, which no other work hides.
  int64_t firstLayerParameters = 0;
  int64_t layers = 0, width = 0;
  int64_t sequence = 0;
  /// Forward, per token: products with weights, and between activations.
  double productFlops = 0, attentionFlops = 0;
  int64_t batch = 0; ///< published, or 0

  double forwardFlops() const { return productFlops + attentionFlops; }
};

/// `sequence` 0: the shape's own.
Workload workloadOf(const ModelShape &shape, int64_t sequence = 0);

/// The presets, smallest first.
const std::vector<ModelShape> &allPresets();

/// Throws std::runtime_error that names the nearest presets and all others.
const ModelShape &presetNamed(const std::string &name);

} // namespace wsec::presets

#endif // WSEC_TOOLS_PRESETS_MODELSHAPE_H
