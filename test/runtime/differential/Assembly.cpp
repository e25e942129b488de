// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/Assembly.h"
#include "runtime/program/Ports.h"

#include "runtime/pe/Arithmetic.h"
#include "runtime/program/Checker.h"

#include <bit>
#include <set>

namespace wsec::runtime::test {

using program::ElementType;
using program::Opcode;
using program::Packing;
using program::Port;

Port portTowards(Coordinate from, Coordinate to) {
  if (to.x != from.x)
    return to.x > from.x ? Port::East : Port::West;
  return to.y > from.y ? Port::South : Port::North;
}

int PE::takeThread(int routine) {
  if (routine < 0)
    return -1;
  int &used = threads[routine];
  return used < 8 ? used++ : -1;
}

// ---------------------------------------------------------------- building

Assembly::Assembly(Choices &choices, Launching launching, Break broken)
    : choices(choices), program(1, 1), launching(launching), broken(broken) {
  width = choices.between(1, 6);
  height = choices.between(1, 4);
  setMachine(choices.between(0, 2));
  routines = launching == Launching::OneCommand ? 1 : choices.between(1, 3);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      classes.push_back(std::make_unique<program::PEClassT>());
      pes.push_back(std::make_unique<PE>(Coordinate{x, y}, *classes.back()));
      // With commands one more fills buffers, and one sends them.
      for (int r = 0; r < routines + (commanded() ? 2 : 0); ++r)
        pes.back()->code.body(uint32_t(r));
    }
}

/// The first two generations differ in their name, the third in more. The
/// numbers are those of the presets, compiler/machine.
void Assembly::setMachine(int generation) {
  program::MachineT &machine = *program.source.machine;
  machine.fabric_width = machine.width = width;
  machine.fabric_height = machine.height = height;
  if (byWavelets()) {
    // A color of the program, after those of the patterns.
    program.source.launch_color = uint8_t(machine.colors - 4);
    routeCommands();
  }
  machine.name = generation == 0 ? "wse2" : generation == 1 ? "wse3" : "wse1";
  if (generation != 1)
    return;
  machine.microthreads_queue = true;
  machine.hop_cycles = 2;
  machine.copy_rate = 4;
  machine.add_rate = 2;
  machine.fmac_rate = 0.5;
  machine.map_overhead = 7.1;
  machine.loop_overhead = 8;
  machine.copy_rate_16 = 8;
  machine.turn_cycles = 33;
  machine.router_buffer_words = 4;
  machine.input_queue_words = {8, 8, 4, 4, 4, 4, 4, 4};
  machine.output_queue_words = {8, 8, 8, 8, 8, 8, 8, 8};
  machine.reserved_input_queues = 2;
  machine.reserved_tasks = {0, 1, 2, 3, 4, 5, 6, 7, 21, 22, 23, 27, 28, 29, 30};
  machine.descriptors = 48;
}

/// East along the first row, south in every column.
void Assembly::routeCommands() {
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      Setting setting{y == 0 ? Port::West : Port::North,
                      portBit(Port::Ramp),
                      {},
                      false,
                      {}};
      if (y == 0 && x + 1 < width)
        setting.transmit |= portBit(Port::East);
      if (y + 1 < height)
        setting.transmit |= portBit(Port::South);
      set(program.source.launch_color, {x, y}, setting);
    }
}

std::vector<int> Assembly::takeColors(int count) {
  int usable = machine().colors - machine().reserved_colors;
  if (byWavelets()) // One for commands, four for data of the host at the end.
    usable -= 1 + (filling ? 0 : 4);
  if (colors + count > usable)
    return {};
  std::vector<int> taken;
  for (int i = 0; i < count; ++i)
    taken.push_back(colors++);
  return taken;
}

void Assembly::set(int color, Coordinate pe, Setting setting) {
  routes[{color, key(pe)}] = std::move(setting);
}

void Assembly::routePath(int color, const std::vector<Coordinate> &path,
                         const std::vector<bool> &taps) {
  const size_t wrong = 1 + choices.draw(uint32_t(path.size()) - 1);
  const bool missing = breaksHere(Break::MissingRoute);
  const bool turned = !missing && breaksHere(Break::WrongPort);
  for (size_t i = 0; i < path.size(); ++i) {
    Setting setting;
    setting.receive = i == 0 ? Port::Ramp : portTowards(path[i], path[i - 1]);
    if (i + 1 < path.size())
      setting.transmit |= portBit(portTowards(path[i], path[i + 1]));
    if (taps[i])
      setting.transmit |= portBit(Port::Ramp);
    if (missing && i == wrong)
      continue;
    if (turned && i == wrong) {
      // From a side that it does not send to.
      for (Port port : {Port::North, Port::South, Port::East, Port::West})
        if (port != setting.receive && !(setting.transmit & portBit(port))) {
          setting.receive = port;
          break;
        }
    }
    set(color, path[i], setting);
  }
}

std::vector<Coordinate> Assembly::path(bool straight) {
  if (width * height < 2)
    return {};
  const bool corner = !straight && width > 1 && height > 1 && choices.rarely(3);
  const bool down = height > 1 && (width == 1 || choices.draw(2) == 1);
  const int limit = down ? height : width;
  const int first = choices.between(0, limit - 2);
  const int last = choices.between(first + 1, limit - 1);
  const int other = choices.between(0, (down ? width : height) - 1);
  std::vector<Coordinate> path;
  for (int i = first; i <= last; ++i)
    path.push_back(down ? Coordinate{other, i} : Coordinate{i, other});
  if (choices.draw(2))
    std::reverse(path.begin(), path.end());
  if (corner) { // Away from the nearer edge.
    const int across = down ? width : height;
    const int step = other + 1 < across ? 1 : -1;
    Coordinate next = path.back();
    (down ? next.x : next.y) += step;
    path.push_back(next);
  }
  return path;
}

// ---------------------------------------------------------------- drawing

ElementType Assembly::elementType() {
  if (commanded())
    return hostType();
  static constexpr ElementType types[] = {ElementType::F32, ElementType::F16,
                                          ElementType::BF16, ElementType::I32,
                                          ElementType::I16};
  return types[choices.draw(5)];
}

ElementType Assembly::hostType() {
  if (!choices.rarely(4))
    return ElementType::F32;
  return choices.draw(2) ? ElementType::F16 : ElementType::BF16;
}

Form Assembly::form() {
  Form form{elementType(), Packing::Single};
  if (elementSize(form.type) == 2 && choices.draw(2))
    form.packing = Packing::Pair;
  return form;
}

int Assembly::length() {
  switch (choices.draw(4)) {
  case 0:
    return choices.between(1, 8);
  case 1:
    return choices.between(1, 40);
  case 2:
    return choices.between(1, 100);
  default:
    return choices.between(1, 400);
  }
}

Opcode Assembly::operation(ElementType dst, ElementType source) {
  static constexpr Opcode any[] = {
      Opcode::Add, Opcode::Sub,   Opcode::Mul,  Opcode::Max,
      Opcode::Min, Opcode::Equal, Opcode::Less, Opcode::LessOrEqual,
      Opcode::And, Opcode::Or};
  static constexpr Opcode integer[] = {Opcode::BitAnd, Opcode::BitOr,
                                       Opcode::BitXor};
  if (isInteger(dst) && isInteger(source) && choices.rarely(3))
    return integer[choices.draw(3)];
  return any[choices.draw(choices.draw(3) ? 5 : 10)];
}

uint16_t Assembly::buffer(PE &pe, const std::string &name, ElementType type,
                          int elements, Access access) {
  Data &data =
      buffers.emplace(name, Data{type, elements, access, {}}).first->second;
  data.where.push_back(pe.at);
  return pe.code.typed(name, type, uint32_t(elements));
}

void Assembly::bindQueues(PE &pe, int color) {
  if (commanded())
    return;
  if (breaksHere(Break::NoQueue))
    for (bool output : {false, true})
      bindAllQueues(pe, color, output);
  const bool output = choices.draw(2);
  int &next = output ? pe.outputQueues : pe.inputQueues;
  const int first = output ? 0 : machine().reserved_input_queues;
  const int skip = first + choices.between(0, 1);
  const size_t queues = output ? machine().output_queue_words.size()
                               : machine().input_queue_words.size();
  if (next + skip >= int(queues))
    return;
  for (const auto &binding : pe.source.queues)
    if (binding->color == color && binding->output == output)
      return;
  next += skip - first;
  pe.code.queue(color, output, first + next++);
}

/// To other colors than one that needs a queue, too.
void Assembly::bindAllQueues(PE &pe, int color, bool output) {
  const int first = output ? 0 : machine().reserved_input_queues;
  const size_t queues = output ? machine().output_queue_words.size()
                               : machine().input_queue_words.size();
  std::set<int> bound{color};
  for (const auto &binding : pe.source.queues)
    if (binding->output == output)
      bound.insert(binding->color);
  int &next = output ? pe.outputQueues : pe.inputQueues;
  for (int other = 0; first + next < int(queues); ++other)
    if (bound.insert(other).second)
      pe.code.queue(other, output, first + next++);
}

bool Assembly::breaksHere(Break kind) {
  if (broken != kind || faulty || choices.draw(2) == 1)
    return false;
  return faulty = true;
}

// ---------------------------------------------------------------- finishing

/// Calls `use(coordinates of a row, step)` for runs of PEs with equal steps.
template <class Use>
static void forRuns(const std::vector<Coordinate> &pes, const Use &use) {
  for (size_t i = 0; i < pes.size();) {
    size_t end = i + 1;
    int step = 1;
    if (end < pes.size() && pes[end].y == pes[i].y) {
      step = pes[end].x - pes[i].x;
      while (end < pes.size() && pes[end].y == pes[i].y &&
             pes[end].x - pes[end - 1].x == step)
        ++end;
    }
    use(pes[i], pes[end - 1], end - i > 1 ? step : 1);
    i = end;
  }
}

static bool equal(const Setting &a, const Setting &b) {
  auto same = [](const program::SwitchPosition &p,
                 const program::SwitchPosition &q) {
    return p.receive() == q.receive() && p.transmit() == q.transmit();
  };
  return a.receive == b.receive && a.transmit == b.transmit &&
         a.ring == b.ring && a.pop == b.pop &&
         std::equal(a.positions.begin(), a.positions.end(), b.positions.begin(),
                    b.positions.end(), same);
}

void Assembly::addRoutes() {
  std::vector<std::pair<int, Setting>> kinds;
  std::vector<std::vector<Coordinate>> where;
  for (const auto &[at, setting] : routes) {
    const Coordinate pe{at.second % width, at.second / width};
    size_t k = 0;
    while (k < kinds.size() &&
           !(kinds[k].first == at.first && equal(kinds[k].second, setting)))
      ++k;
    if (k == kinds.size()) {
      kinds.push_back({at.first, setting});
      where.emplace_back();
    }
    where[k].push_back(pe);
  }
  for (size_t k = 0; k < kinds.size(); ++k)
    forRuns(where[k], [&](Coordinate first, Coordinate last, int step) {
      const auto &[color, setting] = kinds[k];
      auto rule = std::make_unique<program::RouteRuleT>();
      rule->color = uint8_t(color);
      rule->rect = std::make_unique<program::Rect>(ClassBuilder::makeRect(
          first.x, last.x + 1, first.y, last.y + 1, step));
      rule->receive = setting.receive;
      rule->transmit = setting.transmit;
      rule->positions = setting.positions;
      rule->ring = setting.ring;
      rule->pop = setting.pop;
      program.source.routes.push_back(std::move(rule));
    });
}

/// Addresses behind the code.
static void assignAddresses(program::PEClassT &code, int64_t runtimeBytes) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::PEClass::Pack(builder, &code));
  code.code_bytes = uint32_t(codeBytes(
      *flatbuffers::GetRoot<program::PEClass>(builder.GetBufferPointer())));
  uint32_t address = (uint32_t(runtimeBytes) + code.code_bytes + 15) & ~15u;
  for (auto &buffer : code.buffers) {
    buffer->address = address;
    address = (address + buffer->bytes + 3) & ~3u;
  }
}

/// PEs of equal code become one class.
void Assembly::addClasses() {
  std::map<std::string, size_t> known;
  std::vector<std::vector<Coordinate>> where;
  std::vector<std::unique_ptr<program::PEClassT>> merged;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (!classes[i])
      continue; // part of another
    assignAddresses(*classes[i], machine().runtime_bytes);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(program::PEClass::Pack(builder, classes[i].get()));
    const std::string bytes(
        reinterpret_cast<const char *>(builder.GetBufferPointer()),
        builder.GetSize());
    const auto [at, isNew] = known.emplace(bytes, merged.size());
    if (isNew) {
      merged.push_back(std::move(classes[i]));
      where.emplace_back();
    }
    for (const auto &[pe, its] : members)
      if (its == i)
        where[at->second].push_back(pe);
  }
  for (size_t c = 0; c < merged.size(); ++c) {
    merged[c]->name = "c" + std::to_string(c);
    forRuns(where[c], [&](Coordinate first, Coordinate last, int step) {
      merged[c]->rects.push_back(ClassBuilder::makeRect(
          first.x, last.x + 1, first.y, last.y + 1, step));
    });
    program.source.classes.push_back(std::move(merged[c]));
  }
}

void Assembly::addCopy(const std::string &name, const Data &data,
                       program::Direction direction, uint32_t launch) {
  int x0 = width, x1 = 0, y0 = height, y1 = 0;
  for (Coordinate pe : data.where) {
    x0 = std::min(x0, pe.x);
    x1 = std::max(x1, pe.x + 1);
    y0 = std::min(y0, pe.y);
    y1 = std::max(y1, pe.y + 1);
  }
  auto add = [&](int left, int right, int top, int bottom) {
    const auto order =
        choices.draw(2) ? program::CopyOrder::Column : program::CopyOrder::Row;
    const uint32_t tensor =
        program.copy(direction, name, data.type, uint32_t(data.elements), left,
                     right, top, bottom, launch, order);
    (direction == program::Direction::In ? result.inputs : result.outputs)
        .push_back(tensor);
  };
  if (size_t(x1 - x0) * size_t(y1 - y0) == data.where.size())
    return add(x0, x1, y0, y1);
  for (Coordinate pe : data.where)
    add(pe.x, pe.x + 1, pe.y, pe.y + 1);
}

void Assembly::addCopies() {
  const auto launches = uint32_t(program.source.entries[0]->launches.size());
  for (const auto &[name, data] : buffers) {
    if (data.access & In)
      addCopy(name, data, program::Direction::In, 0);
    if (!(data.access & Out))
      continue;
    addCopy(name, data, program::Direction::Out, launches);
    if (launches > 1 && choices.rarely(4))
      addCopy(name, data, program::Direction::Out, launches - 1);
  }
}

/// Every routine once, and some again.
std::vector<int> Assembly::launchOrder() {
  std::vector<int> order;
  if (commanded())
    order.push_back(routines);
  for (int r = 0; r < routines; ++r)
    order.push_back(r);
  const int most = launching == Launching::OneCommand ? 0 : 2;
  for (int extra = choices.between(0, most); extra > 0; --extra) {
    const int again = choices.between(0, routines - 1);
    if (!once.count(again))
      order.push_back(again);
  }
  if (commanded())
    order.push_back(routines + 1);
  return order;
}

/// Some launches have no wavelet of their own.
void Assembly::addFollowers() {
  auto &launches = program.source.entries[0]->launches;
  for (size_t l = 1; l < launches.size(); ++l)
    launches[l]->follows = choices.rarely(3);
}

RandomProgram Assembly::finish() {
  if (commanded()) {
    filling = true;
    fillBuffers(routines);
    sendBuffers(routines + 1);
    awaitThreads();
  }
  const std::vector<int> order = launchOrder();
  for (int routine : order)
    program.launch(uint32_t(routine));
  addChannels(order);
  if (!commanded())
    addCopies();
  addRoutes();
  mergeGuarded();
  addClasses();
  if (commanded())
    addFollowers();
  result.source = std::move(program.source);
  result.broken = faulty ? broken : Break::Nothing;
  return std::move(result);
}

// ---------------------------------------------------------------- programs

const char *breakName(Break kind) {
  static constexpr const char *names[] = {
      "nothing",         "missing-route",      "wrong-port",
      "too-many-words",  "too-few-words",      "nobody-sends",
      "cyclic-wait",     "wrong-type",         "wrong-packing",
      "out-of-bounds",   "uninitialized-read", "microthread-busy",
      "missing-task",    "blocked-task",       "division-by-zero",
      "negative-extent", "no-advance",         "no-queue"};
  static_assert(std::size(names) == size_t(breaks));
  return names[size_t(kind)];
}

const program::Program &RandomProgram::finish() {
  builder = std::make_shared<flatbuffers::FlatBufferBuilder>();
  builder->Finish(program::Program::Pack(*builder, &source),
                  program::ProgramIdentifier());
  return *program::GetProgram(builder->GetBufferPointer());
}

static size_t elementsOf(const program::TensorT &tensor) {
  size_t elements = 1;
  for (int64_t extent : tensor.shape)
    elements *= size_t(extent);
  return elements;
}

TensorHost RandomProgram::host() const {
  TensorHost host;
  Choices numbers(7);
  for (uint32_t index : inputs) {
    const program::TensorT &tensor = *source.tensors[index];
    std::vector<uint8_t> bytes;
    for (size_t i = elementsOf(tensor); i > 0; --i) {
      Number number;
      const bool integer = isInteger(tensor.type);
      if (integer)
        number.integer = numbers.between(-1000, 999);
      else
        number.real = float(numbers.between(-1000, 999)) / 64;
      const uint32_t bits = encodeElement(
          tensor.type, integer ? NumberKind::Integer : NumberKind::Single,
          number);
      for (uint32_t b = 0; b < elementSize(tensor.type); ++b)
        bytes.push_back(uint8_t(bits >> 8 * b));
    }
    host.give(index, bytes);
  }
  for (uint32_t stream = 0; stream < channels.size(); ++stream) {
    if (!channels[stream].in) {
      host.expect(stream, 0, uint64_t(channels[stream].words));
      continue;
    }
    std::vector<float> words;
    for (int i = 0; i < channels[stream].words; ++i)
      words.push_back(std::bit_cast<float>(
          encodeElement(source.streams[stream]->type, NumberKind::Single,
                        {float(numbers.between(-1000, 999)) / 64})));
    host.feed(stream, 0, std::move(words));
  }
  for (uint32_t index : outputs)
    host.room(index, elementsOf(*source.tensors[index]) *
                         elementSize(source.tensors[index]->type));
  return host;
}

} // namespace wsec::runtime::test
