// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/MpiLink.h"
#include "runtime/swarmx/WireWords.h"
#include "runtime/threads/Mutex.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <list>
#include <mpi.h>
#include <thread>
#include <unistd.h>

namespace wsec::runtime {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration, std::chrono::milliseconds;

constexpr int messageTag = 1, aliveTag = 2;
constexpr milliseconds aliveEvery(500), lookEvery(100);

volatile std::sig_atomic_t terminated = 0;

class MpiLink : public Link {
public:
  MpiLink(SystemLostHandler lost, double silenceSeconds);
  ~MpiLink() override;

  unsigned rank() const override { return unsigned(me); }
  unsigned size() const override { return unsigned(peers.size()); }
  void send(unsigned to, Message message) override;
  std::optional<std::pair<unsigned, Message>> receive() override;

private:
  struct Peer {
    int64_t pid;
    std::string host;
    std::optional<Clock::time_point> heard; ///< not before its first word
  };
  struct Sending {
    std::vector<uint8_t> data;
    MPI_Request request;
  };
  void exchangePids();
  /// Moves what can be moved; a message, if one has come.
  std::optional<std::pair<unsigned, Message>> poll();
  void post(unsigned to, std::vector<uint8_t> data, int tag);
  bool takeAlive();
  void watch();
  void sayAlive();
  bool isGone(const Peer &peer) const;
  void report(unsigned rank, const std::string &how);

  const SystemLostHandler lost;
  const duration<double> silence;
  int me = 0;
  std::vector<Peer> peers;
  Mutex lock;
  std::condition_variable filled;
  std::deque<std::pair<unsigned, std::vector<uint8_t>>>
      outbox ABSL_GUARDED_BY(lock);
  std::list<Sending> sending;
  Clock::time_point looked, said;
};

MpiLink::MpiLink(SystemLostHandler lost, double silenceSeconds)
    : lost(std::move(lost)), silence(silenceSeconds) {
  // Messages go through shared memory, not out of the sender's own: Open MPI
  // aborts when the process it reads from is dead, before anybody can name it.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", /*overwrite=*/0);
  int provided = 0, count = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  peers.resize(size_t(count));
  exchangePids();
  std::signal(SIGTERM, [](int) { terminated = 1; });
}

MpiLink::~MpiLink() {
  while (!outbox.empty() || !sending.empty())
    if (!poll())
      std::this_thread::sleep_for(milliseconds(1));
  std::signal(SIGTERM, SIG_DFL);
  MPI_Finalize();
}

void MpiLink::exchangePids() {
  struct Entry {
    int64_t pid;
    char host[MPI_MAX_PROCESSOR_NAME];
  } mine{int64_t(getpid()), {}};
  int length = 0;
  MPI_Get_processor_name(mine.host, &length);
  std::vector<Entry> all(peers.size());
  MPI_Allgather(&mine, sizeof(Entry), MPI_BYTE, all.data(), sizeof(Entry),
                MPI_BYTE, MPI_COMM_WORLD);
  for (size_t i = 0; i < peers.size(); ++i)
    peers[i] = {all[i].pid, all[i].host, {}};
}

void MpiLink::send(unsigned to, Message message) {
  std::vector<uint8_t> data = encode(message);
  Lock guard(lock);
  outbox.emplace_back(to, std::move(data));
  filled.notify_one();
}

void MpiLink::post(unsigned to, std::vector<uint8_t> data, int tag) {
  Sending &its = sending.emplace_back(Sending{std::move(data), {}});
  MPI_Isend(its.data.data(), int(its.data.size()), MPI_BYTE, int(to), tag,
            MPI_COMM_WORLD, &its.request);
}

bool MpiLink::takeAlive() {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, aliveTag, MPI_COMM_WORLD, &there, &status);
  if (!there)
    return false;
  MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, aliveTag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  peers[size_t(status.MPI_SOURCE)].heard = Clock::now();
  return true;
}

std::optional<std::pair<unsigned, Message>> MpiLink::poll() {
  std::deque<std::pair<unsigned, std::vector<uint8_t>>> out;
  {
    Lock guard(lock);
    out.swap(outbox);
  }
  for (auto &[to, data] : out)
    post(to, std::move(data), messageTag);
  sending.remove_if([](Sending &its) {
    int done = 0;
    MPI_Test(&its.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
  while (takeAlive())
    ;
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, messageTag, MPI_COMM_WORLD, &there, &status);
  if (!there)
    return std::nullopt;
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  std::vector<uint8_t> data(static_cast<size_t>(length));
  // Its sender may die before all of it is here.
  MPI_Request request;
  MPI_Irecv(data.data(), length, MPI_BYTE, status.MPI_SOURCE, messageTag,
            MPI_COMM_WORLD, &request);
  for (int done = 0; !done; watch())
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  peers[size_t(status.MPI_SOURCE)].heard = Clock::now();
  return std::pair(unsigned(status.MPI_SOURCE), decode(data));
}

std::optional<std::pair<unsigned, Message>> MpiLink::receive() {
  const Clock::time_point start = Clock::now();
  while (Clock::now() - start < milliseconds(10)) {
    watch();
    if (auto message = poll())
      return message;
    Lock guard(lock);
    if (outbox.empty())
      guard.waitFor(filled, std::chrono::microseconds(200));
  }
  return std::nullopt;
}

// ------------------------------------------------------- who is still there

void MpiLink::sayAlive() {
  for (unsigned peer = 0; peer < peers.size(); ++peer)
    if (int(peer) != me && (me == 0 || peer == 0))
      post(peer, {}, aliveTag);
}

bool MpiLink::isGone(const Peer &peer) const {
  return peer.host == peers[size_t(me)].host && kill(pid_t(peer.pid), 0) != 0 &&
         errno == ESRCH;
}

void MpiLink::report(unsigned rank, const std::string &how) {
  // Process 0 tells, which then is gone, too; 1 if 0 is the first to go.
  bool speaks = me == 0 || (me == 1 && rank == 0);
  for (unsigned other = 1; rank == 0 && other < peers.size(); ++other)
    speaks &= !isGone(peers[other]);
  // It knows that by who is left, so nobody leaves before it has spoken.
  const Clock::time_point since = Clock::now();
  while (rank == 0 && !speaks && !isGone(peers[1]) && me != 1 &&
         Clock::now() - since < silence)
    std::this_thread::sleep_for(milliseconds(10));
  lost("SystemLost: process " + std::to_string(rank) + " of " +
           std::to_string(size()) + " (pid " + std::to_string(peers[rank].pid) +
           " on " + peers[rank].host + ") " + how + " before the run ended",
       speaks);
}

void MpiLink::watch() {
  const Clock::time_point now = Clock::now();
  if (terminated == 0 && now - looked < lookEvery)
    return;
  looked = now;
  // mpirun ends all processes when one has died, which may not show at once.
  for (int tries = terminated ? 50 : 1; tries > 0; --tries) {
    for (unsigned rank = 0; rank < peers.size(); ++rank)
      if (isGone(peers[rank]))
        report(rank, "is gone");
    if (tries > 1)
      std::this_thread::sleep_for(milliseconds(10));
  }
  if (terminated) {
    std::signal(SIGTERM, SIG_DFL);
    std::raise(SIGTERM);
  }
  for (unsigned rank = 0; rank < peers.size(); ++rank)
    if (peers[rank].heard && now - *peers[rank].heard > silence)
      report(rank, "has been silent for " +
                       std::to_string(int(silence.count())) + " seconds");
  if (now - said > aliveEvery) {
    said = now;
    sayAlive();
  }
}

} // namespace

std::unique_ptr<Link> openMpiLink(SystemLostHandler lost,
                                  double silenceSeconds) {
  return std::make_unique<MpiLink>(std::move(lost), silenceSeconds);
}

} // namespace wsec::runtime
