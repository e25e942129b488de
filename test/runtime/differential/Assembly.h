// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs for remote calls, put together out of patterns of communication.
#ifndef TEST_RUNTIME_DIFFERENTIAL_ASSEMBLY_H
#define TEST_RUNTIME_DIFFERENTIAL_ASSEMBLY_H

#include "runtime/engine/Router.h"
#include "test/runtime/TaskProgram.h"
#include "test/runtime/differential/Choices.h"
#include "test/runtime/differential/RandomProgram.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace wsec::runtime::test {

/// How elements travel on a color.
struct Form {
  program::ElementType type = program::ElementType::F32;
  program::Packing packing = program::Packing::Single;

  bool pairs() const { return packing == program::Packing::Pair; }
};

/// The setting of one color in one router.
struct Setting {
  program::Port receive{};
  uint8_t transmit = 0;
  std::vector<program::SwitchPosition> positions;
  bool ring = false;
  program::PopMode pop = program::PopMode::Never;
};

inline uint8_t portBit(program::Port port) { return uint8_t(1 << int(port)); }
/// The port that leads from a PE to its neighbour.
program::Port portTowards(Coordinate from, Coordinate to);

/// Instead of a routine, of code that must not use microthreads.
inline constexpr int noThreads = -1;

/// One PE: its own class until equal ones are merged.
class PE {
public:
  PE(Coordinate at, program::PEClassT &code)
      : at(at), code(ClassBuilder{code, 0}), source(code) {}

  /// A microthread nobody uses in this routine; -1: there is none. Tasks, in
  /// which microthreads of routines may be at work, get none.
  int takeThread(int routine);
  /// An id for a task; -1: there is none.
  int takeLocalTask() { return localTasks < 21 ? localTasks++ : -1; }
  TaskBody routine(int r) { return TaskBody(source.routines[size_t(r)]->body); }

  const Coordinate at;
  TaskClass code;
  program::PEClassT &source;

private:
  friend class Assembly;
  std::map<int, int> threads; ///< used, by routine
  int localTasks = 8;         ///< those before are reserved on some machines
  int inputQueues = 0, outputQueues = 0;
};

class Assembly {
public:
  /// `broken`: what is to be wrong in one place, if there is a place for it.
  Assembly(Choices &choices, Launching launching, Break broken);

  RandomProgram finish();

  Choices &choices;
  int width = 1, height = 1;
  int routines = 1;

  // ---- for patterns

  PE &at(Coordinate pe) {
    return *pes[size_t(pe.y) * size_t(width) + size_t(pe.x)];
  }
  /// An id that all PEs may give a control task; -1: there is none.
  int takeControlTask() { return controlTasks < 60 ? controlTasks++ : -1; }
  /// The routine is launched one time only.
  void runOnce(int routine) { once.insert(routine); }
  /// Whether the program is one as the compiler emits them: launch wavelets,
  /// no integers, no tasks.
  bool commanded() const { return launching == Launching::Commands; }
  /// ... or one launch of all the language by a launch wavelet.
  bool byWavelets() const { return launching != Launching::RemoteCalls; }
  /// A channel of the west or east edge, fed or taken by the first launch of a
  /// routine.
  void channel(program::Direction direction, int color, int row, int words,
               int routine, program::ElementType type);
  bool thirdGeneration() const { return machine().name == "wse3"; }
  /// Colors nobody else uses; none: there are not so many.
  std::vector<int> takeColors(int count);
  void set(int color, Coordinate pe, Setting setting);
  Setting &setting(int color, Coordinate pe) {
    return routes[{color, key(pe)}];
  }
  /// Routes a color along PEs, and up the ramps of those in `taps`.
  void routePath(int color, const std::vector<Coordinate> &path,
                 const std::vector<bool> &taps);
  /// PEs in a row or column, or around a corner; none: the mesh is too small.
  std::vector<Coordinate> path(bool straight = false);

  program::ElementType elementType();
  /// As which the host and PEs exchange f32: mostly that.
  program::ElementType hostType();
  Form form();
  /// A number of words: often few, sometimes many.
  int length();
  /// An operation for a destination and sources of such types.
  program::Opcode operation(program::ElementType dst,
                            program::ElementType source);

  enum Access { Scratch = 0, In = 1, Out = 2, InOut = 3 };
  /// A buffer that the host fills, reads, or both.
  uint16_t buffer(PE &pe, const std::string &name, program::ElementType type,
                  int elements, Access access = InOut);
  /// With some luck a queue of its own, instead of the smallest.
  void bindAllQueues(PE &pe, int color, bool output);
  void bindQueues(PE &pe, int color);
  /// A name nobody has.
  std::string name(const char *stem) { return stem + std::to_string(names++); }

  /// Whether this is the place for the program's one fault.
  bool breaksHere(Break kind);
  bool isBroken() const { return faulty; }

private:
  struct Data {
    program::ElementType type;
    int elements;
    Access access;
    std::vector<Coordinate> where;
  };

  int key(Coordinate pe) const { return pe.y * width + pe.x; }
  const program::MachineT &machine() const { return *program.source.machine; }
  struct Channel {
    program::Direction direction;
    int color, row, words, routine;
    program::ElementType type;
  };

  void setMachine(int generation);
  void routeCommands();
  std::vector<int> launchOrder();
  void addFollowers();
  /// Programs with commands get their data by streams, not copies.
  void addChannels(const std::vector<int> &order);
  void fillBuffers(int routine);
  void sendBuffers(int routine);
  std::vector<uint16_t> streamed(Coordinate pe, Access access) const;
  void awaitThreads();
  void addCopies();
  void addCopy(const std::string &name, const Data &data,
               program::Direction direction, uint32_t launch);
  void addRoutes();
  void addClasses();
  void mergeGuarded();

  TaskProgram program;
  std::vector<std::unique_ptr<program::PEClassT>> classes;
  std::vector<std::unique_ptr<PE>> pes;
  std::map<std::pair<int, int>, Setting> routes; ///< by color and PE
  std::map<std::string, Data> buffers;
  std::set<int> once;
  std::vector<Channel> channels;
  std::vector<std::pair<Coordinate, size_t>> members; ///< of classes
  int colors = 0, names = 0, controlTasks = 0;
  Launching launching;
  Break broken;
  bool faulty = false, filling = false;
  RandomProgram result;
};

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_DIFFERENTIAL_ASSEMBLY_H
