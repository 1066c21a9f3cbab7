#include "cli/progress.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <set>

#include "cli/text.h"
#include "compiler/base/escape.h"
#include "compiler/host/cache.h"
#include "reports/json.h"

namespace thtrain {

std::string bar_text(const BatchProgress& batch, int64_t epochs, int width) {
  constexpr int kBar = 24;
  const bool by_steps = batch.steps_of_epoch > 0;
  const int64_t done = by_steps ? batch.steps : batch.batch, all = by_steps ? batch.steps_of_epoch : batch.batches;
  double part = all > 0 ? static_cast<double>(done) / static_cast<double>(all) : 0;
  auto filled = static_cast<size_t>(std::clamp(part, 0.0, 1.0) * kBar);
  std::string out = str("epoch ", batch.epoch, '/', epochs, " [", std::string(filled, '='),
                        std::string(kBar - filled, ' '), "] ", part < 0.995 ? " " : "", part < 0.095 ? " " : "",
                        std::lround(100 * part), " %  loss ", loss_text(batch.train_loss, 4), "  ",
                        count_text(static_cast<int64_t>(by_steps ? batch.steps_per_second : batch.examples_per_second)),
                        by_steps ? " steps/s" : " examples/s");
  return out.substr(0, static_cast<size_t>(std::max(width - 1, 0)));
}

static std::string value_text(const MetricName& metric, double value) {
  return str(metric_label(metric.name), ' ', metric.unit == "%" ? error_text(value) : loss_text(value));
}

// Short, so that a line of an epoch has room on a terminal: metrics.jsonl and the end of the run have all digits.
static std::string short_loss(double loss) {
  return loss_text(loss, std::abs(loss) < 0.1 ? 6 : 4);
}
static std::string short_value(const MetricName& metric, double value) {
  return metric.unit == "%" ? str(json_fixed(value, 2), " %") : short_loss(value);
}

std::string epoch_text(const EpochReport& report, int64_t epochs, const MetricNames& names) {
  std::string number = std::to_string(report.epoch);
  size_t width = std::max(std::to_string(epochs).size(), number.size());
  std::string out =
      str("epoch ", std::string(width - number.size(), ' '), number, "  train loss ", short_loss(report.train_loss));
  // The name of a set before the first of its values, and that of a value where it comes first.
  std::string last = "train";
  std::set<std::string> named = {"loss"};
  auto add = [&](const std::string& set, const std::string& label, const std::string& value) {
    out += str(set == last ? ", " : str("  ", set, ' '), named.insert(label).second ? label + ' ' : "", value);
    last = set;
  };
  auto add_metric = [&](const char* set, const MetricName& metric, const std::optional<double>& value) {
    if (value) add(set, metric_label(metric.name), short_value(metric, *value));
  };
  const bool has_loss = std::any_of(names.begin(), names.end(), [](const MetricName& n) { return n.name == "loss"; });
  if (names.at(0).name != "loss") add_metric("train", names[0], report.train_error);
  if (report.valid_loss && !has_loss) add("valid", "loss", short_loss(*report.valid_loss));
  add_metric("valid", names[0], report.valid_error);
  for (size_t i = 0; i < report.others.size(); ++i) add_metric("valid", names.at(i + 1), report.others[i].valid);
  add_metric("test", names[0], report.test_error);
  if (report.evaluations) out += str("  ", count_text(*report.evaluations, "evaluation"));
  return out + str("  ", seconds_text(report.seconds), report.best ? "  best" : "");
}

Progress::Progress(const Options& options)
    : options_(options), lines_(options.json ? stderr : stdout), has_bar_(!options.quiet && is_terminal(stderr)) {}
Progress::~Progress() {
  clear_bar();
}

TrainHooks Progress::hooks() {
  return {.on_phase = [this](const PhaseReport& phase) { begin_phase(phase); },
          .on_phase_end = [this](const TrainSummary& summary) { end_phase(summary); },
          .on_start = [this](const ModelSummary& model) { start(model); },
          .on_resume = [this](const ResumePoint& point) { resume(point); },
          .on_batch = [this](const BatchProgress& batch) { draw(batch); },
          .on_epoch = [this](const EpochReport& report) { print_epoch(report); },
          .on_message =
              [this](const std::string& message) {
                clear_bar();
                std::fprintf(stderr, "%s\n", printable(message, "\n\t").c_str());
              }};
}

void Progress::clear_bar() {
  if (!bar_shown_) return;
  std::fputs("\r\x1b[K", stderr);
  bar_shown_ = false;
}

void Progress::print_line(const std::string& line) {
  clear_bar();
  if (output_error_ != 0) return;
  errno = 0;
  if (std::fprintf(lines_, "%s\n", printable(line, "\n").c_str()) < 0 || std::fflush(lines_) != 0)
    output_error_ = errno;
}

void Progress::resume(const ResumePoint& point) {
  if (options_.quiet) return;
  const std::string what = point.phase.empty() ? "the run" : str("phase ", point.phase);
  print_line(point.is_over ? str(what, " is over: ", count_text(point.step, "step"), " done")
                           : str("goes on after step ", point.step, ": epoch ", point.epoch, ", minibatch ",
                                 point.batch, " of ", point.batches));
}

// "phase 2 of 2, finetune: negative_log_likelihood by adam, at most 10 epochs, of hidden and softmax; ..."
void Progress::begin_phase(const PhaseReport& phase) {
  const Experiment& experiment = phase.experiment;
  options_.epochs = experiment.trainer.epochs;
  if (options_.quiet) return;
  const PhaseConfig& own = experiment.phase.back();
  std::string text =
      str("phase ", phase.index + 1, " of ", phase.count, ", ", own.name, ": ", experiment.loss.objective.name(),
          " by ", experiment.trainer.optimizer.name(), ", at most ", count_text(experiment.trainer.epochs, "epoch"),
          ", of ", own.trained.empty() ? "all layers" : join(own.trained, ", "));
  if (phase.index > 0 && !phase.goes_on) {
    const PhaseConfig& before = experiment.phase.at(experiment.phase.size() - 2);
    const bool best = before.pass_on == PhaseConfig::PassOn::kBest;
    text += str("; begins with the ", best ? "best" : "last", " weights of ", before.name);
  }
  print_line(text);
}

void Progress::end_phase(const TrainSummary& summary) {
  if (!options_.quiet) print_values(summary);
}

void Progress::start(const ModelSummary& model) {
  names_ = model.metrics;
  if (options_.verbose) {
    std::string text = summary_text(model);
    print_line(text.substr(0, text.size() - 1));
  } else if (!options_.quiet) {
    print_line(str(count_text(model.train_examples), " training, ", count_text(model.valid_examples), " validation, ",
                   count_text(model.test_examples), " test examples; ", count_text(model.parameters, "parameter"), "; ",
                   count_text(model.threads, "thread")));
    if (std::string used = used_text(model); !used.empty()) print_line(str("used: ", used));
  }
}

void Progress::draw(const BatchProgress& batch) {
  if (!has_bar_) return;
  std::fprintf(stderr, "\r%s\x1b[K", bar_text(batch, options_.epochs, terminal_width(stderr)).c_str());
  bar_shown_ = true;
}

void Progress::print_epoch(const EpochReport& report) {
  if (!options_.quiet) print_line(epoch_text(report, options_.epochs, names_));
}

static std::string summary_json(const TrainSummary& summary) {
  JsonObject out;
  auto add = [&](const char* set, const std::optional<double>& value) {
    const std::string key = str(set, '_', summary.metric.name);
    if (summary.metric.unit == "%")
      out.add_error(key, value);
    else if (value)
      out.add(key, *value);
  };
  add("valid", summary.valid_error);
  add("test", summary.test_error);
  out.add("best_epoch", summary.best_epoch)
      .add("stop_epoch", summary.stop_epoch)
      .add("epochs", summary.epochs)
      .add("steps", summary.steps)
      .add("train_loss", summary.train_loss)
      .add("seconds", summary.seconds)
      .add("seconds_to_first_step", summary.seconds_to_first_step)
      .add("kernels_compiled", summary.kernels_compiled)
      .add("interrupted", summary.interrupted)
      .add("stopped_early", summary.stopped_early)
      .add("run_dir", summary.run_dir)
      .add("plot", summary.plot);
  if (summary.evaluations) out.add("evaluations", *summary.evaluations).add("converged", summary.converged);
  if (!summary.phase.empty()) out.add("phase", summary.phase);
  if (summary.paused) out.add("paused", true);
  if (summary.out_of_time) out.add("out_of_time", true);
  if (summary.diverged) out.add("diverged", true);
  if (summary.confusion) {
    out.add("confusion_part", name_of(summary.confusion_part));
    if (!summary.class_names.empty()) out.add("classes", summary.class_names);
    out.add_raw("confusion", confusion_json(*summary.confusion));
  }
  if (summary.native_from_step) out.add("native_from_step", *summary.native_from_step);
  return out.line();
}

void Progress::finish(const TrainSummary& summary) {
  clear_bar();
  if (options_.verbose) {
    CompileStats stats = compile_stats();
    print_line(str(count_text(summary.kernels_compiled, "kernel"), " compiled in ", seconds_text(stats.compile_seconds),
                   "; found in the cache: ", count_text(stats.program_hits, "program"), ", ",
                   count_text(stats.kernel_hits, "kernel")));
    if (summary.steps > 0)
      print_line(str("first step done ", seconds_text(summary.seconds_to_first_step), " after the process started"));
  }
  print_summary(summary);
  if (options_.json && output_error_ == 0) print_text(summary_json(summary) + "\n");
}

void Progress::print_summary(const TrainSummary& summary) {
  if (options_.json && options_.quiet) return;
  print_values(summary);
  if (summary.confusion) {
    const std::string text = confusion_text(*summary.confusion, summary.class_names);
    if (!text.empty())
      print_line(str("confusion matrix of the ", summary.confusion_of_steps ? "steps of the " : "",
                     summary.confusion_part == Part::kTest ? "test" : "validation", " examples, ",
                     text.substr(0, text.size() - 1)));
  }
  print_line(str("run folder ", printable(summary.run_dir)));
  if (!summary.plot.empty()) print_line(str("learning curves ", printable(summary.plot)));
  if (summary.interrupted) print_line(str("`thtrain resume ", printable(summary.run_dir), "` continues the run"));
}

void Progress::print_values(const TrainSummary& summary) {
  std::string how = summary.paused          ? str("paused after epoch ", summary.stop_epoch)
                    : summary.interrupted   ? str("interrupted in epoch ", summary.stop_epoch)
                    : summary.out_of_time   ? str("out of time in epoch ", summary.stop_epoch)
                    : summary.stopped_early ? str("stopped early after epoch ", summary.stop_epoch)
                    : !summary.converged.empty()
                        ? str("converged after epoch ", summary.stop_epoch, ": ", summary.converged)
                        : str("done after epoch ", summary.stop_epoch);
  if (!summary.phase.empty()) how += str(" of ", summary.phase);
  if (summary.diverged) how += ", diverged";
  print_line(str(how, ", ", count_text(summary.steps, "step"), ", ",
                 summary.evaluations ? str(count_text(*summary.evaluations, "evaluation"), ", ") : "",
                 seconds_text(summary.phase_seconds)));
  if (summary.valid_error)
    print_line(
        str("best validation ", value_text(summary.metric, *summary.valid_error), " (epoch ", summary.best_epoch, ')'));
  if (summary.test_error) print_line(str("test ", value_text(summary.metric, *summary.test_error)));
}

}  // namespace thtrain
