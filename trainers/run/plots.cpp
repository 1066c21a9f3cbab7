#include "trainers/run/plots.h"

#include <filesystem>

#include "compiler/base/file.h"
#include "compiler/base/system_error.h"
#include "reports/font.h"
#include "reports/learning_curves.h"
#include "reports/raster.h"
#include "trainers/metrics_file.h"

namespace thtrain {

std::string filters_name(int64_t epoch) {
  const std::string digits = std::to_string(epoch);
  return "filters_at_epoch_" + std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits;
}

// A picture of a phase has its name: "plots/pretrain_samples.png".
std::string RunPlots::path_of(const std::string& name) const {
  const RunFolder& folder = context_.folder;
  folder.require_in_place();
  std::error_code error;
  std::filesystem::create_directory(folder.file("plots"), error);
  if (error) throw folder_error(folder.file("plots"), error.value());
  return folder.file(str("plots/", training_.phase.empty() ? "" : training_.phase + "_", name));
}

void RunPlots::draw_augmented() {
  if (pictures_.augmented()) write_png(path_of("augmented.png"), *pictures_.augmented());
}

void RunPlots::draw_filters() {
  if (!pictures_.has_filters()) return;
  write_png(path_of(filters_name(training_.state.history.back().epoch) + ".png"), pictures_.filters());
}

bool RunPlots::draw_samples() {
  if (!pictures_.has_samples()) return true;
  context_.tell(pictures_.samples_text());
  const FunctionOptions options = function_options(training_.experiment.compiler, "samples");
  const std::optional<Pixels> drawn = pictures_.samples(options, [this] { return context_.stop_wanted(); });
  if (!drawn) return false;
  if (Font::find())
    draw_sheet(pictures_.samples_sheet(*drawn)).write_png(path_of("samples.png"));
  else
    write_png(path_of("samples.png"), *drawn);  // without text
  return true;
}

std::string RunPlots::draw_curves() {
  const OutputConfig& output = training_.experiment.output;
  const RunFolder& folder = context_.folder;
  if (!output.plots) return "";
  path_of("");
  const std::vector<std::string> written = draw_learning_curves(
      folder.plot(), histories_to_draw(folder.metrics(), training_.histories(), training_.monitor.state().best_epoch),
      training_.program.metric_names()[0], run_title(folder.path()), output.plot_scale);
  if (written.size() == 1) context_.tell(str("warning: ", without_font()));
  return written.front();
}

}  // namespace thtrain
