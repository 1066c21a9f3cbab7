// The [output] section.
#include "trainers/experiment.h"

namespace thtrain {

void OutputConfig::describe(Fields<OutputConfig>& f) {
  f.about("Each run gets a folder of its own.");
  f.field("root", &OutputConfig::root)
      .synonyms({"run_dir", "output_dir", "save_path"})
      .help("Folder in which the folders of runs are made.");
  f.field("plots", &OutputConfig::plots).help("Draw the learning curves into the run's folder.");
  f.choice("plot_scale", &OutputConfig::plot_scale,
           {{"auto", ValueScale::kAuto}, {"linear", ValueScale::kLinear}, {"log", ValueScale::kLogarithmic}})
      .help(
          "The axis of losses in the learning curves, those of `thtrain show` too: `linear`; `log`, with ticks at "
          "powers of ten, which leaves out values of 0 or less, and says so above the curves; `auto`: logarithmic "
          "where all are above 0 and go over more than three powers of ten (with several phases, more than a factor "
          "of 50).");
  f.field("tensorboard", &OutputConfig::tensorboard)
      .synonyms({"tensorboard_log", "event_files"})
      .help(
          "Write an event file for TensorBoard into the run's folder: of each epoch losses, metrics, learning rate, "
          "seconds, and histograms of the parameters; the configuration as text; at the end the pictures of `plots/`. "
          "Steps are epochs (of all phases in a row), and the pictures are at the step after the last one. A "
          "resumed run begins another file, which replaces the later epochs of the one before it. "
          "`tensorboard --logdir runs` shows all runs.");
  f.field("filters", &OutputConfig::filters)
      .help(
          "Name of a layer whose weights are drawn after each epoch, as `plots/filters_at_epoch_0001.png` and so on: "
          "the weights of each unit as a picture, scaled from its least to its largest number, in colours where it "
          "has three channels. The layer takes the examples, which are pictures, or is a `conv`; filters of other "
          "than one or three channels have a row each, with their first channels. Empty: none.");
  f.field("filter_rows", &OutputConfig::filter_rows)
      .range(between(1, 1000))
      .unit("pictures")
      .help("Rows of the picture of `filters`.");
  f.field("filter_columns", &OutputConfig::filter_columns)
      .range(between(1, 1000))
      .unit("pictures")
      .help("Columns of the picture of `filters`.");
  f.field("samples", &OutputConfig::samples)
      .help(
          "Name of an rbm layer that takes the examples, of which `plots/samples.png` is drawn at the end: a column "
          "for each chain of Gibbs sampling, which begins at a test example, and below each other its probabilities "
          "after every `sample_steps` steps. Empty: none.");
  f.field("sample_chains", &OutputConfig::sample_chains)
      .range(between(1, 1000))
      .unit("chains")
      .help("Columns of the picture of `samples`.");
  f.field("sample_rows", &OutputConfig::sample_rows)
      .range(between(1, 1000))
      .unit("pictures")
      .help("Rows of the picture of `samples`; in debug mode at most 2.");
  f.field("sample_steps", &OutputConfig::sample_steps)
      .range(at_least(1))
      .unit("steps")
      .help("Steps of Gibbs sampling from row to row; in debug mode at most 10.");
  f.field("augmented", &OutputConfig::augmented)
      .range(between(0, 1000))
      .unit("images")
      .help(
          "Draw the first training images as `trainer.augment` changes them, as `plots/augmented.png`: a row for each, "
          "the image itself and what the first nine epochs make of it, all channels as one grey. 0: none.");
  f.check([](const OutputConfig& c, Findings& findings) {
    const OutputConfig standard;
    auto useless = [&](const char* key, int64_t value, int64_t unsaid, const char* owner, const std::string& layer) {
      if (!layer.empty() || value == unsaid) return;
      findings.add({.what = str(c.name_of(key), " has no effect"),
                    .expected = str("output.", owner, ", the name of a layer"),
                    .config = c.at(key)});
    };
    useless("filter_rows", c.filter_rows, standard.filter_rows, "filters", c.filters);
    useless("filter_columns", c.filter_columns, standard.filter_columns, "filters", c.filters);
    useless("sample_chains", c.sample_chains, standard.sample_chains, "samples", c.samples);
    useless("sample_rows", c.sample_rows, standard.sample_rows, "samples", c.samples);
    useless("sample_steps", c.sample_steps, standard.sample_steps, "samples", c.samples);
  });
}

}  // namespace thtrain
