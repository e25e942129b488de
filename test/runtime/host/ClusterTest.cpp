// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Cluster.h"
#include "runtime/program/Errors.h"
#include "runtime/swarmx/PassLink.h"
#include "test/runtime/ExampleFile.h"
#include "test/runtime/NoMoreThreads.h"
#include "test/runtime/swarmx/LocalLink.h"

#include <gtest/gtest.h>
#include <set>
#include <thread>

namespace wsec::runtime {
namespace {

using namespace test;

constexpr int words = 4;

/// y = -(x + w + table[row]): w streams to all systems, a row to one.
std::shared_ptr<const LoadedProgram> negation() {
  using program::Direction;
  using program::Opcode;
  using program::Port;
  const std::vector<float> bundle = countUp(words + 3 * words);
  ProgramBuilder builder(1, 1);
  for (int color : {0, 1, 2})
    builder.route(color, 0, 1, 0, 1, Port::West, {Port::Ramp});
  builder.route(3, 0, 1, 0, 1, Port::Ramp, {Port::East});
  ClassBuilder pes = builder.addClass("all", 0, 1, 0, 1);
  const uint16_t sum = pes.buffer("sum", words);
  BodyBuilder body = pes.routine(0);
  body.add(Opcode::Mov, {words}, memory(sum, {1}), fabric(0));
  for (int color : {1, 2})
    body.add(Opcode::Add, {words}, memory(sum, {1}), memory(sum, {1}),
             fabric(color));
  body.add(Opcode::Neg, {words}, fabric(3), memory(sum, {1}));
  addTensor(builder, "x", program::TensorRole::Input, {words});
  addBundle(builder, bundle);
  addWeight(builder, "w", {words});
  addWeight(builder, "table", {3, words}, words * sizeof(float));
  addTensor(builder, "row", program::TensorRole::Input, {1},
            program::ElementType::I64);
  addTensor(builder, "y", program::TensorRole::Output, {words});
  auto &streams = builder.source.streams;
  std::vector<uint32_t> all;
  for (int color : {0, 1, 2}) {
    all.push_back(builder.stream("in" + std::to_string(color), Direction::In,
                                 color, {0}));
    streams.back()->segments.push_back(
        makeSegment(uint32_t(color), 1, 0, {words}, {1}, 0));
  }
  program::SegmentT &gathered = *streams.back()->segments[0];
  gathered.index_tensor = 3;
  gathered.index_stride = words;
  gathered.index_count = 3;
  all.push_back(builder.stream("out", Direction::Out, 3, {0}));
  streams.back()->segments.push_back(makeSegment(4, 1, 0, {words}, {1}, 0));
  builder.launch(0, all, "negate");
  stateCodeBytes(builder);
  return LoadedProgram::fromBytes(makeFile(builder, bundle));
}

template <class Element>
HostTensor tensor(DataType type, const std::vector<Element> &values) {
  HostTensor result{type, {int64_t(values.size())}, {}};
  result.bytes.resize(values.size() * sizeof(Element));
  std::memcpy(result.bytes.data(), values.data(), result.bytes.size());
  return result;
}

/// Call i asks for row i % 3 unless `wrong` is i.
void bindBatch(Cluster &cluster, unsigned calls, unsigned wrong = UINT_MAX) {
  std::vector<int64_t> rows(calls);
  for (unsigned i = 0; i < calls; ++i)
    rows[i] = i == wrong ? 7 : i % 3;
  ASSERT_TRUE(
      cluster.bind("x", tensor(DataType::Float32, countUp(calls * words)))
          .ok());
  ASSERT_TRUE(cluster.bind("row", tensor(DataType::Int64, rows)).ok());
}

/// As the formula of the program says.
void expectOutputs(const Cluster &cluster, unsigned calls) {
  const HostTensor y = cluster.output("y").value();
  ASSERT_EQ(y.shape, std::vector<int64_t>{int64_t(calls) * words});
  for (unsigned i = 0; i < calls * words; ++i) {
    const unsigned row = i / words % 3, column = i % words;
    EXPECT_EQ(y.number(i), -double(i + column + words + row * words + column));
  }
}

std::unique_ptr<Session> open() { return Session::open(negation()).value(); }

Call callOf(const Cluster &cluster) {
  return const_cast<Cluster &>(cluster).session().callOf("", {}).value();
}

TEST(ClusterTest, SplitsABatch) {
  constexpr unsigned calls = 7;
  for (unsigned systems : {1, 2, 3, 5, 7}) {
    Cluster cluster(open(), systems);
    bindBatch(cluster, calls);
    const ClusterRun run = cluster.run(callOf(cluster)).value();
    expectOutputs(cluster, calls);
    const uint64_t passes = (calls + systems - 1) / systems;
    EXPECT_EQ(run.passes, passes);
    EXPECT_EQ(run.edgeBytes.back(), passes * words * 4);
    EXPECT_EQ(run.systems[0].calls, passes);
    EXPECT_EQ(run.systems[0].ownBytesIn, passes * 2 * words * 4);
    EXPECT_EQ(run.systems[0].bytesOut, passes * words * 4);
    EXPECT_EQ(run.cycles(), run.systems[0].cycles);
    EXPECT_DOUBLE_EQ(run.speedUp(), double(calls) / double(passes));
  }
}

TEST(ClusterTest, PartsMakeTheWhole) {
  constexpr unsigned calls = 9, systems = 7; // 2 make a second call
  Cluster alone(open(), systems);
  bindBatch(alone, calls);
  const ClusterRun expected = alone.run(callOf(alone)).value();
  ClusterRun all;
  std::set<uint64_t> made;
  for (const SampleRange here : {SampleRange{0, 3}, {3, 5}, {5, 7}}) {
    Cluster part(open(), systems, here);
    bindBatch(part, calls);
    const AfterCall take = [&](unsigned system, uint64_t call,
                               const Session &session) {
      EXPECT_TRUE(system >= here.begin && system < here.end);
      EXPECT_EQ(session.output("y").value().number(0),
                -double((call + 1 + call % 3) * words));
      EXPECT_TRUE(made.insert(call).second);
    };
    const ClusterRun run =
        part.run(callOf(part), {}, nullptr, Engine::Burst, take).value();
    if (here.begin == 0)
      all = run;
    else
      all.join(run);
  }
  EXPECT_EQ(made.size(), calls);
  EXPECT_EQ(all.edgeBytes, expected.edgeBytes);
  EXPECT_EQ(all.passCycles, expected.passCycles);
  for (unsigned system = 0; system < systems; ++system)
    EXPECT_EQ(all.systems[system].calls, expected.systems[system].calls);
}

/// In processes of one system or more; returns what process 0 gets.
template <class FirstLink = LocalLink>
absl::StatusOr<ClusterRun> runProcesses(unsigned processes, unsigned systems,
                                        unsigned calls,
                                        unsigned wrong = UINT_MAX) {
  Mailboxes mailboxes(processes);
  std::vector<std::thread> others;
  for (unsigned process = 1; process < processes; ++process)
    others.emplace_back([&, process] {
      LocalLink link(mailboxes, process);
      const auto loaded = negation();
      const Call call(loaded->program());
      EngineOptions options;
      options.threads = 1;
      EXPECT_TRUE(serveSystems(link, call, systems, 1, [&](HostPort &port) {
        return emulateOnce(Engine::Burst, call, nullptr, options, port);
      }));
    });
  const auto link = std::make_shared<FirstLink>(mailboxes, 0);
  Cluster cluster(open(), systems, link);
  bindBatch(cluster, calls, wrong);
  absl::StatusOr<ClusterRun> run = cluster.run(callOf(cluster));
  if (run.ok())
    expectOutputs(cluster, calls);
  for (unsigned process = 1; process < processes; ++process)
    link->send(process, {Message::Kind::End, {1}});
  for (std::thread &other : others)
    other.join();
  return run;
}

TEST(ClusterTest, ProcessesGiveTheSame) {
  for (const auto &[processes, systems] :
       {std::pair(2u, 2u), {3u, 5u}, {6u, 17u}, {17u, 17u}}) {
    constexpr unsigned calls = 20; // most systems make one call
    Cluster alone(open(), systems);
    bindBatch(alone, calls);
    const ClusterRun expected = alone.run(callOf(alone)).value();
    const ClusterRun run = runProcesses(processes, systems, calls).value();
    EXPECT_EQ(run.edgeBytes, expected.edgeBytes);
    EXPECT_EQ(run.cycles(), expected.cycles());
    for (unsigned system = 0; system < systems; ++system) {
      EXPECT_EQ(run.systems[system].ownBytesIn,
                expected.systems[system].ownBytesIn);
      EXPECT_EQ(run.systems[system].bytesOut,
                expected.systems[system].bytesOut);
    }
  }
}

/// Of which the first two systems have made calls before.
TEST(ClusterTest, SystemsWithoutAThreadAreNamed) {
  Cluster cluster(open(), 3);
  const Call call = callOf(cluster);
  const auto none = [](unsigned, uint64_t, const Session &) {};
  bindBatch(cluster, 2);
  ASSERT_TRUE(cluster.run(call, {}, nullptr, Engine::Burst, none).ok());
  cluster.clearInputs();
  bindBatch(cluster, 3);
  {
    const NoMoreThreads here;
    EXPECT_EQ(errorClassOf(cluster.run(call).status()), ErrorClass::HostLimit);
  }
  ASSERT_TRUE(cluster.run(call).ok());
  expectOutputs(cluster, 3);
}

/// Gives the host no more threads once the systems here have theirs.
class LastThreadsLink : public LocalLink {
public:
  using LocalLink::LocalLink;
  void send(unsigned to, Message message) override {
    if (message.kind == Message::Kind::Start)
      none.emplace();
    LocalLink::send(to, std::move(message));
  }

private:
  std::optional<NoMoreThreads> none;
};

TEST(ClusterTest, SystemsOfOtherProcessesWithoutAThreadAreNamed) {
  const absl::Status status = runProcesses<LastThreadsLink>(2, 2, 2).status();
  EXPECT_EQ(errorClassOf(status), ErrorClass::HostLimit);
  EXPECT_EQ(std::string(status.message()).substr(0, 79),
            "HostLimit: system 1, call 1 of the batch: system 1 gets no thread "
            "of the host (");
}

/// Brings a message of no pass during the first one.
class StrayLink : public LocalLink {
public:
  using LocalLink::LocalLink;
  std::optional<std::pair<unsigned, Message>> receive() override {
    if (messages == size()) {
      ++messages;
      return std::pair(1u, Message{Message::Kind::Ready, {}});
    }
    auto received = LocalLink::receive();
    messages += received.has_value();
    return received;
  }

private:
  unsigned messages = 0;
};

TEST(ClusterTest, MessagesOfNoPassDoNotEndIt) {
  EXPECT_TRUE(runProcesses<StrayLink>(3, 3, 6).ok());
}

TEST(ClusterTest, AnErrorNamesSystemAndCallWhereverItIs) {
  Cluster alone(open(), 5);
  bindBatch(alone, 7, 4);
  const absl::Status expected = alone.run(callOf(alone)).status();
  EXPECT_EQ(errorClassOf(expected), ErrorClass::BadTensor);
  EXPECT_EQ(expected.message(),
            "BadTensor: system 2, call 4 of the batch: 'row' asks for row 7 "
            "(element 0) of 'table', which has 3 rows");
  EXPECT_EQ(runProcesses(3, 5, 7, 4).status(), expected);
}

TEST(ClusterTest, RefusesWhatIsNoBatch) {
  Cluster cluster(open(), 4);
  const auto refusal = [&](const absl::Status &status) {
    EXPECT_EQ(errorClassOf(status), ErrorClass::BadTensor);
    return std::string(status.message());
  };
  EXPECT_EQ(refusal(cluster.bind("x", tensor(DataType::Float32, countUp(6)))),
            "BadTensor: input 'x': expected float32[4] for each call, found "
            "float32[6]; 6 rows are no multiple of 4");
  EXPECT_EQ(refusal(cluster.accepts("x", DataType::Float16, {8})),
            "BadTensor: input 'x': expected float32[4], found float16[4]; "
            "convert it to float32");
  ASSERT_TRUE(cluster.bind("x", tensor(DataType::Float32, countUp(8))).ok());
  EXPECT_EQ(refusal(cluster.bind(
                "row", tensor(DataType::Int64, std::vector<int64_t>(3)))),
            "BadTensor: input 'row' holds 3 calls of the program, 'x' 2; give "
            "all inputs of a batch as many");
  ASSERT_TRUE(cluster
                  .bind("row", tensor(DataType::Int64,
                                      std::vector<int64_t>(1))) // for all calls
                  .ok());
  EXPECT_EQ(refusal(cluster.run(callOf(cluster)).status()),
            "BadTensor: the inputs hold 2 calls of the program for 4 systems; "
            "give each input that many times the rows of the program, or take "
            "fewer systems");
}

} // namespace
} // namespace wsec::runtime
