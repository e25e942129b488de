// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one description of the machine. Every phase asks it, `emit` writes it
// into the program, and the emulator knows the machine only from there.

#ifndef WSEC_COMPILER_MACHINE_MACHINE_H
#define WSEC_COMPILER_MACHINE_MACHINE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wsec {

/// An I/O channel. West edge: enters at `row` and serves columns [begin, end).
/// East edge: leaves at `row` and carries rows [begin, end).
struct ChannelPosition {
  int row = 0;
  int begin = 0;
  int end = 0;
  bool operator==(const ChannelPosition &other) const {
    return row == other.row && begin == other.begin && end == other.end;
  }
};

/// PEs [x, x + width) x [y, y + height) of a mesh.
struct PeRectangle {
  int x = 0, y = 0, width = 0, height = 0;
  bool operator==(const PeRectangle &other) const {
    return x == other.x && y == other.y && width == other.width &&
           height == other.height;
  }
};

/// Parameters of a wafer. Cycles unless the name says otherwise. Mirrors the
/// table Machine of runtime/program/program.fbs. README.md says for each preset
/// where a number comes from.
struct Machine {
  std::string name;
  /// PEs of the whole fabric.
  int fabricWidth = 0;
  int fabricHeight = 0;
  /// PEs of the mesh in use; presets start with all a program may use.
  int width = 0;
  int height = 0;
  /// Where these PEs lie, if they are a region of a mesh: see region().
  int x = 0;
  int y = 0;
  int meshWidth = 0;
  int meshHeight = 0;
  /// The channels at the west edge whose words are for these PEs: `shareCount`
  /// of those in their rows, from number `shareBegin` on; 0: all.
  int shareBegin = 0;
  int shareCount = 0;
  double clockGhz = 0;
  /// Per PE, code and data, and what the host runtime takes of it.
  int sramBytes = 0;
  int runtimeBytes = 0;
  /// The last `reservedColors` of all colors belong to the host runtime.
  int colors = 0;
  int reservedColors = 0;
  int microthreads = 0;
  /// I/O channels per edge, one wavelet per cycle each.
  int channels = 0;
  int hopCycles = 0;
  /// Between router and PE, each way.
  int rampCycles = 0;
  /// Until the first wavelet of the parameter store arrives.
  int storeLatencyCycles = 0;
  /// Elements per cycle of contiguous f32 vectors.
  double copyRate = 0;
  double addRate = 0;
  double fmacRate = 0;
  /// Per vector instruction with freshly loaded descriptors.
  double vectorSetup = 0;
  /// Per vector call of a nest that keeps its descriptors and takes a scalar
  /// for each call.
  double mapOverhead = 0;
  /// Back-edge of a counted loop.
  double loopOverhead = 0;
  double taskOverhead = 0;
  /// Per element: scalar functions in software (exp, tanh, erf, ...), and
  /// divide, reciprocal, square root.
  double functionCycles = 0;
  double divideCycles = 0;
  /// From an instruction's last step to its last result in memory.
  double resultLatency = 0;
  /// Elements per cycle of contiguous 16-bit vectors, and of any type where
  /// each step needs the result of the last (sums into one register).
  double copyRate16 = 0;
  double addRate16 = 0;
  double fmacRate16 = 0;
  /// Multiply-adds per cycle of 16-bit factors into sums of 32 bits.
  double fmacRateMixed = 0;
  /// Whether bf16 is one of its formats. Where it is not, it is taken to be as
  /// fast as f16.
  int bf16 = 0;
  double reduceRate = 0;
  /// Multiply-adds per cycle into one register.
  double dotRate = 0;
  /// 16-bit elements per cycle of a strided operand: this over the stride, at
  /// least 1. 0: strides cost nothing.
  double strideElements = 0;
  /// vectorSetup of other forms: one source, multiply-adds by a scalar, and
  /// multiply-adds into a register.
  double copySetup = 0;
  double axpySetup = 0;
  double dotSetup = 0;
  double scalarCycles = 0;
  double loadCycles = 0;
  double storeCycles = 0;
  double branchTaken = 0;
  double branchNotTaken = 0;
  /// Cycles to read the cycle counter.
  double clockCycles = 0;
  /// How long an asynchronous instruction holds the code that issues it.
  double asyncIssue = 0;
  /// Cycles that the first wavelet of an instruction takes longer, for each
  /// change of direction.
  int turnCycles = 0;
  /// Words that wait in a router for each color and port.
  int routerBufferWords = 0;
  /// Words that wait between PE and router, by queue id.
  std::vector<int> inputQueueWords;
  std::vector<int> outputQueueWords;
  /// Positions of a switch, the first included.
  int switchPositions = 0;
  /// Most commands of a control wavelet.
  int controlCommands = 0;
  int localTasks = 0;
  int controlTasks = 0;
  /// Ids of local tasks that belong to the host runtime, and how many of the
  /// first input queues do.
  std::vector<int> reservedTasks;
  int reservedInputQueues = 0;
  /// Registers that hold operands of vector instructions, per PE.
  int descriptors = 0;
  /// Whether a busy microthread takes more work (1) or refuses it (0).
  int microthreadsQueue = 0;
  /// PEs of the mesh that nothing may use: broken ones, say. A program lists
  /// its own (wse.keep_out), so descriptions leave them out.
  std::vector<PeRectangle> keepOuts;

  int usableColors() const { return colors - reservedColors; }
  /// Bytes left for code and buffers in a PE.
  int usableBytes() const { return sramBytes - runtimeBytes; }
  int64_t peCount() const { return int64_t(width) * height; }

  /// This machine as the kernels of a region of its mesh see it: columns and
  /// rows are the region's, channels those of the mesh whose rows it has.
  Machine region(int column, int row, int columns, int rows) const;
  /// This machine where `count` of its channels, from number `begin` on, bring
  /// words for it, and the others for other regions.
  Machine withShare(int begin, int count) const;

  /// Channels that fit the mesh: at most one per row.
  int channelsOfMesh() const;
  /// The row of a channel of the mesh.
  int channelRow(int channel) const;
  /// The channels whose rows these PEs have, and the first of them. They lead
  /// out at the east edge.
  int channelsInUse() const;
  int firstChannel() const;
  /// The channels that lead in at the west edge, and the first of them.
  int westCount() const;
  int firstWest() const { return firstChannel() + shareBegin; }
  /// Channels of the west edge in order, with rows and columns of the region.
  /// With fewer columns than channels some serve no column (begin == end).
  std::vector<ChannelPosition> westChannels() const;
  /// Channels of the east edge in order. A region begins at a channel's row.
  std::vector<ChannelPosition> eastChannels() const;
  /// The east channels in row `last` or south of it, and the columns [begin,
  /// end) that each has where they share out columns. With few columns some
  /// have none.
  std::vector<ChannelPosition> exitsOfColumns(int last) const;

  /// The north-most place, then the west-most, for a region of that shape: it
  /// begins at a channel's row and has no keep-out in it.
  std::optional<PeRectangle> roomFor(int columns, int rows) const;

  /// Takes a sub-rectangle of the mesh. Returns what is wrong, or nothing.
  std::optional<std::string> setMesh(int newWidth, int newHeight);
  /// Says what makes this no machine, or nothing.
  std::optional<std::string> check() const;
};

/// The machine that is meant where none is named.
inline constexpr const char *defaultMachine = "wse2";

/// A machine of compiler/machine/<name>.json; nothing for any other name.
std::optional<Machine> machinePreset(std::string_view name);

/// The names of all presets.
std::vector<std::string> machinePresets();

/// Reads a machine from JSON text: an object whose optional "base" names the
/// preset that gives all fields it does not mention (default "wse2"). Field
/// names are those of program.fbs. On failure sets `error`.
std::optional<Machine> machineFromJson(std::string_view text,
                                       std::string &error);

/// A preset's name, or the path of a JSON file. On failure sets `error`.
std::optional<Machine> readMachine(std::string_view nameOrPath,
                                   std::string &error);

/// The machine as one line of JSON that machineFromJson reads back; for a
/// preset, whatever its mesh, just its name.
std::string describeMachine(const Machine &machine);

/// What describeMachine wrote: a preset's name or JSON text.
std::optional<Machine> machineFromDescription(std::string_view description,
                                              std::string &error);

/// Reads "x,y,WxH".
std::optional<PeRectangle> parseKeepOut(std::string_view text);

/// Reads "WxH". Returns width and height, both positive.
std::optional<std::pair<int, int>> parseMesh(std::string_view text);

} // namespace wsec

#endif // WSEC_COMPILER_MACHINE_MACHINE_H
