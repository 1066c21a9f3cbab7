#include "bench/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <cerrno>
#include <iostream>
#include <sstream>

#include "bench/compile_cases.h"
#include "compiler/base/build_info.h"
#include "compiler/base/error.h"
#include "compiler/base/file_descriptor.h"
#include "compiler/base/str.h"
#include "compiler/base/system_error.h"
#include "compiler/host/cache.h"
#include "compiler/libraries/blas.h"
#include "reports/json.h"

namespace thtrain {

namespace {

using MakeWorkload = Workload (*)(const std::string&, const WorkloadOptions&);

struct Family {
  const char* name;
  MakeWorkload ours, ceiling;
};

// `compile` measures single long runs and has its own way.
constexpr Family kFamilies[] = {{"net", net_workload, net_ceiling},
                                {"elementwise", elementwise_workload, elementwise_ceiling},
                                {"gemm", gemm_workload, gemm_ceiling},
                                {"loops", loop_workload, loop_by_hand},
                                {"random_numbers", random_workload, random_ceiling},
                                {"language", language_workload, language_ceiling},
                                {"rnn", rnn_workload, rnn_ceiling},
                                {"rbm", rbm_workload, rbm_ceiling},
                                {"conv", conv_workload, conv_ceiling},
                                {"pool", pool_workload, pool_ceiling},
                                {"convnet", convnet_workload, convnet_ceiling},
                                {"sparse", sparse_workload, sparse_ceiling},
                                {"fft", fft_workload, fft_ceiling},
                                {"factor", factor_workload, factor_ceiling}};

Workload make_workload(const std::string& family, const std::string& implementation, const WorkloadOptions& options,
                       const std::string& case_name) {
  for (const Family& one : kFamilies)
    if (family == one.name) return (implementation == "ceiling" ? one.ceiling : one.ours)(case_name, options);
  throw UserError(Message{.what = "bench: no such family", .got = family});
}

void say(const JsonObject& line) {
  std::cout << line.line() << std::endl;
}

std::map<std::string, std::string> trouble(const std::string& what) {
  return {{"error", what}};
}

}  // namespace

void serve_worker(const std::string& family, const std::string& implementation, const WorkloadOptions& options) {
  say(JsonObject()
          .add("ready", implementation)
          .add("version", str("thtrain ", build_id))
          .add("setting", implementation == "ceiling" ? "" : str("openblas ", blas().corename)));
  // The reference implementation would be measured instead.
  const bool has_code = implementation != "thtrain" || cache().has_compiler();
  std::string line, ready;
  Workload workload;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string case_name;
    double seconds = 0;
    words >> case_name >> seconds;
    try {
      if (!has_code) throw UserError(Message{.what = "there is no native code", .got = cache().compiler_text()});
      Rate rate;
      if (family == "compile") {
        rate = measure_compile(case_name, implementation, options);
      } else {
        if (case_name != ready) {
          workload = {};  // its arrays go before the next ones come
          workload = make_workload(family, implementation, options, case_name);
          ready = case_name;
        }
        rate = measure(workload, seconds);
      }
      say(JsonObject()
              .add("value", rate.value)
              .add("low", rate.low)
              .add("high", rate.high)
              .add("chosen", workload.chosen));
    } catch (const Error& error) {
      const Message& first = error.messages().front();
      say(JsonObject().add(
          "error", first.got.empty() ? first.what : str(first.what, ": ", first.got.substr(0, first.got.find('\n')))));
    }
  }
}

Worker::Worker(std::vector<std::string> command, const std::map<std::string, std::string>& environment) {
  auto [down_end, to] = make_pipe();
  auto [from, up_end] = make_pipe();
  if (down_end.get() < 0 || up_end.get() < 0)
    throw InternalError(Message{.what = "bench: no pipe", .got = system_error_text(errno)});
  ::signal(SIGPIPE, SIG_IGN);  // a worker that ended is noticed when its answer is read
  process_ = std::make_unique<Process>(Launch{.words = std::move(command),
                                              .environment = environment,
                                              .input = down_end.get(),
                                              .output = up_end.get(),
                                              .signal_at_end = SIGTERM});
  to_ = ::fdopen(::fcntl(to.get(), F_DUPFD_CLOEXEC, 3), "w");
  from_ = ::fdopen(::fcntl(from.get(), F_DUPFD_CLOEXEC, 3), "r");
}

Worker::~Worker() {
  std::fclose(to_);
  std::fclose(from_);
  if (process_->id() > 0) process_->wait();
}

std::map<std::string, std::string> Worker::read() {
  std::string line;
  for (int c = std::fgetc(from_); c != EOF; c = std::fgetc(from_)) {
    if (c == '\n') return read_json(line, "a worker's answer");
    line += static_cast<char>(c);
  }
  return trouble("it ended without an answer");
}

std::map<std::string, std::string> Worker::ask(const std::string& case_name, double seconds, double limit) {
  std::fprintf(to_, "%s %g\n", case_name.c_str(), seconds);
  std::fflush(to_);
  // An answer is one line, and the one before was read to its end: stdio holds nothing back.
  pollfd answer{::fileno(from_), POLLIN, 0};
  if (::poll(&answer, 1, static_cast<int>(limit * 1000)) == 0) {
    process_->signal(SIGKILL);
    return {{"over_limit", str(case_name, ": over the limit of ", limit, " s")}};
  }
  return read();
}

}  // namespace thtrain
