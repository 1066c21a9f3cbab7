// `thtrain bench`: thtrain beside its peers, in one run.
#include <unistd.h>

#include <cstdio>

#include "bench/report.h"
#include "bench/run.h"
#include "bench/worker.h"
#include "cli/commands/commands.h"
#include "cli/text.h"

namespace thtrain {

namespace {

// One line on a terminal, written again and again; nothing elsewhere.
void show(const std::string& what) {
  if (::isatty(2)) std::fprintf(stderr, "\r\033[K%s", what.substr(0, 110).c_str());
}

int serve(const BenchArguments& arguments) {
  std::string dtype = arguments.options.dtypes.empty() ? "float32" : arguments.options.dtypes.front();
  WorkloadOptions options{.dtype = *dtype_named(dtype),
                          .threads = arguments.options.threads.empty() ? 1 : arguments.options.threads.front(),
                          .borrow = arguments.output != "owned"};
  set_floatX(options.dtype);
  serve_worker(bench_named(arguments.name).family, arguments.worker, options);
  return kDone;
}

}  // namespace

int run_bench_command(const BenchArguments& arguments) {
  if (!arguments.worker.empty()) return serve(arguments);
  BenchResult result = run_bench(bench_named(arguments.name), arguments.options, show);
  show("");
  if (arguments.json) {
    for (const Measurement& m : result.measurements) print_text(json_line(m) + "\n");
  } else {
    print_text(ratio_tables(result.measurements));
    if (arguments.all) print_text("\n" + full_table(result.measurements));
  }
  for (const std::string& note : result.notes) std::fprintf(stderr, "%s\n", note.c_str());
  return kDone;
}

}  // namespace thtrain
