#include "compiler/tuning/exchanged_times.h"

#include "compiler/base/error.h"
#include "compiler/base/escape.h"
#include "compiler/base/str.h"
#include "compiler/ops/candidates.h"
#include "compiler/tuning/tuner.h"

namespace thtrain {

static constexpr size_t kMostBytes = size_t{16} << 20;
static constexpr size_t kMostShown = 200;  // of a line, in a message

static std::string computation_of(const std::string& key) {
  return key.substr(0, key.find(' '));
}

static std::string end_of(const TuningTable& table) {
  return str("# the end of ", table.times().size(), " choices\n");
}

std::string exported_times(int threads, const kernel::Target& target) {
  const TuningTable known = remembered(threads, target);
  TuningTable out;
  for (const auto& [key, all] : known.times())
    for (const Measured& measured : all)
      if (is_own_candidate_name(computation_of(key), measured.candidate)) out.add(key, measured);
  return out.text(tuned_machine_text(threads, target)) + end_of(out);
}

bool is_file_of_times(std::string_view beginning) {
  const std::string_view line = beginning.substr(0, beginning.find('\n'));
  return line.starts_with("# ") && line.ends_with("; times 1");
}

TuningTable imported_times(std::string_view text, const std::string& file, int threads, const kernel::Target& target) {
  if (text.size() > kMostBytes)
    throw UserError(Message{.what = str(printable(file), ": this is no file of times: it has ", text.size(), " bytes"),
                            .expected = "a file that `thtrain tune --export` wrote"});
  TuningTable out;
  const std::string head = str("# ", tuned_machine_text(threads, target));
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size() || number == 0; ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line(text.substr(begin, end - begin));
    begin = end + 1;
    if (number == 0) {
      if (line == head) continue;
      const bool is_export = is_file_of_times(line);
      if (!is_export)
        throw UserError(Message{.what = str(printable(file), ": this is no file of times"),
                                .expected = "a file that `thtrain tune --export` wrote",
                                .got = printable(line.substr(0, kMostShown))});
      throw UserError(Message{
          .what = str(printable(file), ": these times are of another machine"),
          .expected = head.substr(2),
          .got = printable(line.substr(2, kMostShown)),
          .hint = target.is_device()
                      ? "times are exchanged between devices of one kind, with one driver and compiler of kernels"
                      : "times are exchanged between machines with one kind of processor, for equal OMP_NUM_THREADS"});
    }
    if (str(line, '\n') == end_of(out) && begin == text.size()) return out;
    const TuningTable one = TuningTable::parse(line);
    std::string expected;
    if (one.times().size() != 1)
      expected = "COMPUTATION PROPERTIES = CANDIDATE [VERSION] SECONDS; ...";
    else if (const std::string computation = computation_of(one.times().begin()->first); !find_computation(computation))
      expected = "a computation that this thtrain has";
    else
      for (const Measured& measured : one.times().begin()->second)
        if (!is_own_candidate_name(computation, measured.candidate))
          expected = str("candidates that this thtrain has, and not ", printable(measured.candidate));
    if (!expected.empty())
      throw UserError(Message{.what = str(printable(file), ":", number + 1, ": this is no line of times"),
                              .expected = expected,
                              .got = printable(line.substr(0, kMostShown))});
    out.merge(one);
  }
  throw UserError(Message{.what = str(printable(file), ": the end of the file is missing"),
                          .expected = "a last line that says how many choices there are",
                          .hint = "it was cut: copy it again"});
}

}  // namespace thtrain
