// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Generator.h"

#include "absl/strings/str_cat.h"
#include "runtime/program/Checker.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/facts/Facts.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace wsec::runtime {

/// A status of the session, thrown.
static void require(const absl::Status &status) {
  if (status.ok())
    return;
  const auto kind = errorClassOf(status);
  const std::string text(status.message());
  if (!kind)
    throw std::runtime_error(text);
  throw Error(*kind, text.substr(errorClassName(*kind).size() + 2));
}

template <class Value>
static Value require(absl::StatusOr<Value> value) {
  require(value.status());
  return *std::move(value);
}

static bool isIntegers(const program::Tensor &tensor) {
  return tensor.type() == program::ElementType::I64 ||
         tensor.type() == program::ElementType::I32;
}

/// Whether states take what each token of a call leaves, padding, too: those of
/// recurrences, which calls read as a whole.
static bool keepsAll(const program::Program &program) {
  return std::any_of(program.kernels()->begin(), program.kernels()->end(),
                     [](const program::Kernel *kernel) {
                       return kernel->kind() &&
                              kernel->kind()->string_view() == "recall";
                     });
}

/// Whether a program has one entry beside that.
static bool hasOneEntry(const program::Program &program) {
  return program.entries()->size() == (loadEntry(program) ? 2 : 1);
}

/// The tensor that an entry calls so: with several entries it has the entry's
/// name before its own.
static std::optional<uint32_t> tensorOf(const program::Program &program,
                                        program::TensorRole role,
                                        const program::Entry &entry,
                                        const std::string &name) {
  const bool isOnly = hasOneEntry(program);
  const std::string full = entry.name()->str() + "." + name;
  for (uint32_t i = 0; i < program.tensors()->size(); ++i) {
    const program::Tensor &its = *program.tensors()->Get(i);
    const auto called = its.name()->string_view();
    if (its.role() == role && (called == full || (isOnly && called == name)))
      return i;
  }
  return std::nullopt;
}

void Generator::refuse(const std::string &what) const {
  throw Error(ErrorClass::BadCall, what);
}

/// Nothing, unless it takes tokens at a position and gives logits.
std::optional<Generator::Entry> Generator::readEntry(uint32_t index) const {
  const program::Program &program = session.program();
  const program::Entry &its = *program.entries()->Get(index);
  const auto input = [&](const char *name, const std::vector<int64_t> &shape) {
    auto at = tensorOf(program, program::TensorRole::Input, its, name);
    if (at && (!isIntegers(*program.tensors()->Get(*at)) ||
               shapeOf(*program.tensors()->Get(*at)) != shape))
      at.reset();
    return at;
  };
  const auto ids =
      tensorOf(program, program::TensorRole::Input, its, "input_ids");
  if (!ids || !its.arguments() || its.arguments()->size() != 1)
    return std::nullopt;
  const program::Argument &position = *its.arguments()->Get(0);
  Entry entry{index,
              its.name()->str(),
              position.name()->str(),
              position.from(),
              position.to(),
              0,
              *ids,
              {},
              {},
              {},
              {}};
  entry.noPadding = keepsAll(program);
  const program::Tensor &tokens = *program.tensors()->Get(*ids);
  const std::vector<int64_t> shape = shapeOf(tokens);
  if (!isIntegers(tokens) || shape.size() != 2 || shape[0] != 1 || shape[1] < 1)
    refuse(absl::StrCat("entry ", inQuotes(entry.name), " takes ",
                        inQuotes("input_ids"), " as ",
                        describe(dataType(tokens.type()), shape),
                        ", of which one sequence is generated, [1, tokens]; "
                        "compile the model for a batch of 1"));
  entry.tokens = shape[1];
  entry.positions = input("position_ids", shape);
  entry.number = input("last", {1});
  findLogits(entry);
  refuseCarried(entry);
  return entry;
}

/// An input of floats that an output has the type and shape of is what the
/// call before left: nothing in a program says which of them are.
void Generator::refuseCarried(const Entry &entry) const {
  const auto &tensors = *session.program().tensors();
  const std::string prefix =
      hasOneEntry(session.program()) ? "" : entry.name + ".";
  const auto isOf = [&](const program::Tensor &tensor,
                        program::TensorRole role) {
    return tensor.role() == role && !isIntegers(tensor) &&
           tensor.name()->string_view().starts_with(prefix);
  };
  for (const program::Tensor *input : tensors) {
    const bool isCarried =
        isOf(*input, program::TensorRole::Input) &&
        std::any_of(tensors.begin(), tensors.end(),
                    [&](const program::Tensor *output) {
                      return isOf(*output, program::TensorRole::Output) &&
                             output->name()->string_view() != entry.logits &&
                             output->type() == input->type() &&
                             shapeOf(*output) == shapeOf(*input);
                    });
    if (isCarried)
      refuse("input " + inQuotes(input->name()->str()) + ", " +
             describe(dataType(input->type()), shapeOf(*input)) +
             ", is what the call before left in an output, which the host "
             "carries, and --generate does not; make the calls with --entry, "
             "or a Session, each of as many tokens as its entry takes");
  }
}

void Generator::findLogits(Entry &entry) const {
  const program::Program &program = session.program();
  const program::Entry &its = *program.entries()->Get(entry.index);
  const auto output = [&](const char *name) {
    return tensorOf(program, program::TensorRole::Output, its, name);
  };
  auto logits = output("top.logits");
  if (const auto top = output("top.ids"); top && logits)
    entry.top = program.tensors()->Get(*top)->name()->str();
  else
    logits = output("logits");
  const std::string prefix = hasOneEntry(program) ? "" : entry.name + ".";
  for (uint32_t i = 0, found = 0; !logits && i < program.tensors()->size();
       ++i) {
    const program::Tensor &tensor = *program.tensors()->Get(i);
    if (tensor.role() != program::TensorRole::Output ||
        !tensor.name()->string_view().starts_with(prefix))
      continue;
    if (++found > 1)
      break;
    logits = i;
  }
  if (!logits)
    refuse("entry " + inQuotes(entry.name) + " has no output " +
           inQuotes("logits") + "; name the model's so");
  const program::Tensor &tensor = *program.tensors()->Get(*logits);
  const std::vector<int64_t> shape = shapeOf(tensor);
  entry.logits = tensor.name()->str();
  entry.likely = shape.empty() ? 0 : shape.back();
  const int64_t elements = int64_t(elementCount(tensor));
  entry.rows = entry.likely ? elements / entry.likely : 0;
  if (isIntegers(tensor) || entry.likely < 1 ||
      (entry.rows != 1 && entry.rows != entry.tokens))
    refuse(absl::StrCat("output ", inQuotes(entry.logits), " is ",
                        describe(dataType(tensor.type()), shape),
                        ", which are no logits of the ", entry.tokens,
                        " tokens of entry ", inQuotes(entry.name),
                        ", nor of the last; name the output that has them ",
                        inQuotes("logits")));
}

Generator::Generator(Session &session) : session(session) {
  const auto &all = *session.program().entries();
  std::string names;
  for (uint32_t i = 0; i < all.size(); ++i) {
    names += (i ? ", " : "") + describeEntry(*all.Get(i));
    if (auto entry = readEntry(i))
      entries.push_back(*std::move(entry));
  }
  if (entries.empty())
    refuse("no entry takes the input 'input_ids' and one argument, the "
           "position of its tokens; the program has " +
           names + "; compile with --kv-capacity, or --states");
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::pair(a.tokens, a.index) < std::pair(b.tokens, b.index);
  });
  const Entry &first = *std::max_element(
      entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
        return a.onlyBegins() && !b.onlyBegins();
      });
  room = first.room();
  for (const Entry &entry : entries)
    if ((entry.room() != room && !entry.onlyBegins()) ||
        entry.argument != first.argument)
      refuse(absl::StrCat(
          "entries ", inQuotes(first.name), " and ", inQuotes(entry.name),
          " disagree about the state: they have room for ", room, " and ",
          entry.room(), " tokens, at ", inQuotes(first.argument), " and ",
          inQuotes(entry.argument)));
}

/// The one of the fewest tokens that takes all, else that of the most.
const Generator::Entry *Generator::entryAt(int64_t position,
                                           int64_t tokens) const {
  const Entry *found = nullptr;
  for (const Entry &entry : entries) {
    if (position < entry.from || position > entry.to)
      continue;
    if (entry.tokens <= tokens)
      found = &entry;
    else if (entry.takesFewer() && (!found || found->tokens < tokens))
      found = &entry;
  }
  return found;
}

void Generator::check(const std::vector<int64_t> &prompt,
                      const GenerationOptions &options) {
  const auto many = int64_t(prompt.size());
  const int64_t fed = many + int64_t(options.mostTokens) - 1;
  if (many < 1)
    throw Error(ErrorClass::BadTensor, "the prompt has no tokens");
  if (options.position < 0 || options.position > room - many)
    refuse(absl::StrCat("a prompt of ", many, " tokens at ",
                        inQuotes(positionName()), " ", options.position,
                        " is longer than the capacity of ", room,
                        " tokens; shorten it, or compile with a larger "
                        "--kv-capacity"));
  if (options.position + fed > room)
    refuse(absl::StrCat(options.position + many, " tokens, and up to ",
                        options.mostTokens,
                        " behind them, of which the last is not fed, are more "
                        "than the capacity of ",
                        room, "; take --max-new-tokens up to ",
                        room - options.position - many + 1,
                        ", or compile with a larger --kv-capacity"));
  for (int64_t at = 0; at < fed;) {
    const Entry *entry =
        entryAt(options.position + at, at < many ? many - at : 1);
    if (!entry)
      refuse(absl::StrCat("no entry takes ", at < many ? many - at : 1,
                          " tokens at ", inQuotes(positionName()), " ",
                          options.position + at,
                          "; compile an entry of a single token, too: --entry "
                          "decode:sequence=1"));
    const Sampling &sampling = options.sampling;
    if (!entry->top.empty() && sampling.temperature > 0 &&
        (sampling.topK == 0 || sampling.topK > uint64_t(entry->likely)))
      refuse(absl::StrCat(
          "--temperature chooses among ",
          sampling.topK ? absl::StrCat("the ", sampling.topK, " likeliest")
                        : "all",
          " tokens, and entry ", inQuotes(entry->name), " finds ",
          entry->likely, "; take --top-k up to that, or a model that gives ",
          sampling.topK ? "more" : "all logits"));
    at += at < many ? std::min(entry->tokens, many - at) : 1;
    bindTokens(*entry, prompt.data(), 1, options.position);
    require(session.ready(require(
        session.callOf(entry->name, {{entry->argument, entry->from}}))));
    const auto known = vocabularyOf(session.program(), entry->ids);
    for (const auto *ids : {&prompt, &options.endTokens})
      for (size_t i = 0; known && i < ids->size(); ++i)
        if ((*ids)[i] < 0 || (*ids)[i] >= *known)
          throw Error(ErrorClass::BadTensor,
                      absl::StrCat(ids == &prompt ? "token " : "end token ", i,
                                   " is ", (*ids)[i],
                                   ", and the model knows those from 0 to ",
                                   *known - 1));
  }
}

void Generator::bind(uint32_t tensor, const std::vector<int64_t> &numbers) {
  const program::Tensor &its = *session.program().tensors()->Get(tensor);
  HostTensor given{dataType(its.type()), shapeOf(its), {}};
  const size_t size = elementBytes(its.type());
  given.bytes.resize(numbers.size() * size); // little endian
  for (size_t i = 0; i < numbers.size(); ++i)
    std::memcpy(given.bytes.data() + i * size, &numbers[i], size);
  require(session.bind(its.name()->str(), std::move(given)));
}

void Generator::bindTokens(const Entry &entry, const int64_t *ids,
                           int64_t tokens, int64_t position) {
  // Behind the last there may be any: what they leave is written over.
  std::vector<int64_t> padded(ids, ids + tokens), positions;
  padded.resize(size_t(entry.tokens));
  for (int64_t i = 0; i < entry.tokens; ++i)
    positions.push_back(position + i);
  bind(entry.ids, padded);
  if (entry.positions)
    bind(*entry.positions, positions);
  if (entry.number)
    bind(*entry.number, {tokens - 1});
}

/// Feeds tokens; returns the logits behind the last one.
std::vector<Likely> Generator::call(const Entry &entry, const int64_t *ids,
                                    int64_t tokens, int64_t position,
                                    const GenerationOptions &options) {
  bindTokens(entry, ids, tokens, position);
  Call which =
      require(session.callOf(entry.name, {{entry.argument, position}}));
  SessionRun run = require(
      session.call(which, options.engineOptions, nullptr, options.engine));
  add(experts, session.loadsOf(uint64_t(tokens), uint64_t(entry.tokens)));
  last.emplace(std::move(which), std::move(run));

  const HostTensor logits = require(session.output(entry.logits));
  const auto first =
      uint64_t(entry.rows == 1 ? 0 : (tokens - 1) * entry.likely);
  std::optional<HostTensor> top;
  if (!entry.top.empty())
    top = require(session.output(entry.top));
  std::vector<Likely> likely;
  for (uint64_t i = 0; i < uint64_t(entry.likely); ++i)
    likely.push_back({top ? int64_t(top->number(first + i)) : int64_t(i),
                      logits.number(first + i)});
  return likely;
}

Generation Generator::generate(const std::vector<int64_t> &prompt,
                               const GenerationOptions &options) {
  check(prompt, options);
  const program::Program &program = session.program();
  if (const auto *load = loadingEntry(program, entries.front().index);
      load && !options.isLoaded)
    require(session.call(load->name()->str(), {}, options.engineOptions,
                         nullptr, options.engine));
  experts.clear();
  Generation made;
  made.promptTokens = prompt.size();
  made.position = options.position;
  Sampler sampler(options.sampling);
  std::vector<Likely> logits;
  for (int64_t at = 0, many = int64_t(prompt.size()); at < many;) {
    const Entry &entry = *entryAt(made.position, many - at);
    const int64_t tokens = std::min(entry.tokens, many - at);
    logits = call(entry, &prompt[size_t(at)], tokens, made.position, options);
    at += tokens;
    made.position += tokens;
    made.firstCycles += lastRun().result.cycles;
    made.firstSeconds += lastRun().seconds;
  }
  while (true) {
    made.ids.push_back(sampler.choose(std::move(logits)));
    made.ended = std::count(options.endTokens.begin(), options.endTokens.end(),
                            made.ids.back()) > 0;
    if (made.ended || made.ids.size() == options.mostTokens) {
      made.experts = experts;
      return made;
    }
    logits = call(*entryAt(made.position, 1), &made.ids.back(), 1,
                  made.position, options);
    ++made.position;
    ++made.steps;
    made.cycles += lastRun().result.cycles;
    made.streamedBytes += lastRun().streamedWeightBytes;
    made.seconds += lastRun().seconds;
  }
}

} // namespace wsec::runtime
