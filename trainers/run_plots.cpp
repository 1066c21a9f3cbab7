// The pictures of a run.
#include <filesystem>

#include "compiler/base/system_error.h"
#include "datasets/file.h"
#include "reports/font.h"
#include "reports/learning_curves.h"
#include "reports/raster.h"
#include "trainers/metrics_file.h"
#include "trainers/run.h"

namespace thtrain {

// A picture of a phase has its name: "plots/pretrain_samples.png".
std::string Run::plot_path(const std::string& name) const {
  std::error_code error;
  std::filesystem::create_directories(folder_.file("plots"), error);
  if (error) throw folder_error(folder_.file("plots"), error.value());
  return folder_.file(str("plots/", phase_.empty() ? "" : phase_ + "_", name));
}

void Run::draw_augmented() {
  if (pictures_.augmented()) write_png(plot_path("augmented.png"), *pictures_.augmented());
}

void Run::draw_filters() {
  if (!pictures_.has_filters()) return;
  write_png(plot_path(str("filters_at_epoch_", state_.history.back().epoch, ".png")), pictures_.filters());
}

// A signal ends it between two rows; who resumes the run draws all of them.
void Run::draw_samples() {
  if (!pictures_.has_samples() || interrupted_) return;
  const OutputConfig& output = experiment_.output;
  if (hooks_.on_message)
    hooks_.on_message(str("drawing samples of ", output.samples, ": ", output.sample_rows,
                          output.sample_rows == 1 ? " row of " : " rows of ", output.sample_steps,
                          output.sample_steps == 1 ? " step" : " steps", " of Gibbs sampling"));
  const std::optional<Pixels> drawn =
      pictures_.samples(function_options(experiment_.compiler, "samples"), [this] { return stop_wanted(); });
  if (drawn && Font::find()) return draw_sheet(pictures_.samples_sheet(*drawn)).write_png(plot_path("samples.png"));
  if (drawn) return write_png(plot_path("samples.png"), *drawn);  // without text
  interrupted_ = summary_.interrupted = true;
}

void Run::draw_plots() {
  if (state_.history.empty()) return;
  draw_samples();
  if (!experiment_.output.plots) return;
  plot_path("");
  const std::vector<std::string> written = draw_learning_curves(
      folder_.plot(), histories_to_draw(folder_.metrics(), histories(), monitor_.state().best_epoch),
      program_.metric_names()[0], run_title(folder_.path()), experiment_.output.plot_scale);
  summary_.plot = written.front();
  if (written.size() == 1 && hooks_.on_message) hooks_.on_message(str("warning: ", without_font()));
}

}  // namespace thtrain
