// The pictures of a run.
#include <filesystem>

#include "compiler/base/system_error.h"
#include "datasets/file.h"
#include "trainers/learning_curves.h"
#include "trainers/run.h"

namespace thtrain {

// A picture of a phase has its name: "plots/pretrain_samples.png".
std::string Run::plot_path(const std::string& name) const {
  std::error_code error;
  std::filesystem::create_directories(folder_.file("plots"), error);
  if (error) throw file_error(folder_.file("plots"), "the folder cannot be made", {}, system_error_text(error.value()));
  return folder_.file(str("plots/", phase_.empty() ? "" : phase_ + "_", name));
}

void Run::draw_filters() {
  if (!pictures_.has_filters()) return;
  pictures_.filters().write_png(plot_path(str("filters_at_epoch_", state_.history.back().epoch, ".png")));
}

void Run::draw_plots() {
  if (state_.history.empty()) return;
  if (pictures_.has_samples() && !interrupted_)
    pictures_.samples(function_options(experiment_.compiler, "samples")).write_png(plot_path("samples.png"));
  if (!experiment_.output.plots) return;
  plot_path("");
  draw_learning_curves(folder_.plot(), histories(), program_.metric_names()[0]);
  summary_.plot = folder_.plot();
}

}  // namespace thtrain
