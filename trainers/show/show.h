// What a trained run has learned, as pictures: weights, examples, mistakes, what layers and the whole model answer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "reports/canvas.h"
#include "reports/history.h"
#include "trainers/experiment.h"
#include "trainers/show/saliency.h"
#include "trainers/trainer.h"

namespace thtrain {

struct ShowOptions {
  std::optional<Part> part = {};  // of the examples; not given: the test examples, else those that there are
  std::string layer = {};         // whose weights are drawn; "": the first one that has a matrix or filters
  int64_t example = 0;            // of the part: the one that feature maps and saliency are drawn of
  OcclusionSquare square = {};    // 0: standard_square()
  std::string features = {};      // the layer whose features are embedded; "": the last hidden one
  int64_t points = 500;           // examples of the embedding, at most
  int64_t seed = 1;               // which of them
};

/// What was drawn.
struct ShowReport {
  struct File {
    std::string name;  // in the folder: "histograms.png, .svg"
    std::string what;  // "the numbers of 4 parameters"
    std::string path;  // of the picture; of a plot that of its SVG
  };
  std::vector<File> files = {};
  std::vector<std::string> left_out = {};  // what was not drawn, and why
  /// Of numbers: how well scores rank, the worst mistakes where examples are no pictures.
  struct Table {
    std::string title;                           // "the worst mistakes"
    std::vector<std::vector<std::string>> rows;  // of cells, the first one of names
  };
  std::vector<Table> tables = {};
  std::vector<std::string> unused_arrays = {};  // of the weights: those that the model has no use for
};

/// What there is to draw from.
struct ShownRun {
  const Experiment& experiment;
  const Dataset* data = nullptr;  // null: it is not there, and weights alone are drawn
  std::string missing = {};       // why
  std::string weights = {};       // an .npz
  std::vector<PhaseHistory> history = {};
  std::string title = {};  // of the learning curves: run_title() of its folder
  std::string phase = {};  // an earlier one of several, with whose name files begin; "": the last one
};

/// Draws into `folder`, which is made where it is missing. Of a model of several outputs, what belongs to one of them
/// is drawn of each, in files and with titles that name its layer. What does not apply to the run is named in
/// ShowReport::left_out. UserError: there is no layer `options.layer`, or it has no weights; there is no example of
/// that number; the square does not fit into a picture, or its stride is larger than it; a file cannot be read or
/// written.
ShowReport show(const ShownRun& run, const ShowOptions& options, const std::string& folder);

// ---- the parts of it ----

/// Where pictures go, and what is told of them.
class ShowFolder {
 public:
  /// Names of files begin with `prefix`.
  ShowFolder(std::string path, std::string prefix, ShowReport& report)
      : path_(std::move(path)), prefix_(std::move(prefix)), report_(report) {}

  /// NAME.png, of a plot NAME.svg too; where there is no font, NAME.svg alone.
  void write(const Canvas& canvas, const std::string& name, const std::string& what, bool is_plot);
  std::string file(const std::string& name) const { return path_ + "/" + prefix_ + name; }
  /// What is drawn from now on is of the output of this layer; "": of the model, or of its only output.
  void set_output(const std::string& layer) { output_ = layer; }
  /// "saliency_digit" of the output digit, else "saliency".
  std::string output_file(const std::string& name) const { return output_.empty() ? name : name + "_" + output_; }
  /// "confusion_digit_test", "confusion_test"
  std::string output_file(const std::string& name, Part part) const {
    return output_file(name) + "_" + thtrain::name_of(part);
  }
  /// " (output digit)" for texts; "" where there is only one.
  std::string output_text() const { return output_.empty() ? "" : " (output " + output_ + ")"; }
  /// "the output", where there are several, else "the model".
  const char* who() const { return output_.empty() ? "the model" : "the output"; }
  /// Paths of one picture: "histograms.png, .svg".
  void add_files(const std::vector<std::string>& written, const std::string& what);
  /// "feature maps: no layer gives images", "mistakes (output digit): none among 40 test examples"
  void leave_out(const std::string& what, const std::string& why) {
    report_.left_out.push_back(what + output_text() + ": " + why);
  }
  ShowReport& report() { return report_; }

 private:
  std::string path_, prefix_, output_;
  ShowReport& report_;
};

/// The layer of this name, or for "" the first one that has a matrix or filters W; "" where no layer has. UserError:
/// there is no such layer, or it has no W.
std::string layer_to_show(const Experiment& experiment, const std::map<std::string, Tensor>& arrays,
                          const std::string& asked);
/// Of the inputs and units of a matrix of weights, where they are known.
struct WeightNames {
  std::vector<std::string> inputs = {}, units = {};
};
/// The weights of that layer as tiles, and a histogram of each parameter. `picture`: that of an example, where it is
/// known.
void show_weights(const Experiment& experiment, const std::map<std::string, Tensor>& arrays, const std::string& layer,
                  const std::optional<ImageShape>& picture, const WeightNames& names, ShowFolder& folder);
/// Examples of each class, else the first ones.
void show_examples(const TrainedModel& model, Part part, ShowFolder& folder);
/// The confusion matrix and the worst mistakes of model.output().
void show_classes(const TrainedModel& model, const std::string& weights, Part part, ShowFolder& folder);
/// Of a classifier: curves of a threshold on its scores, and how far its probabilities can be believed.
void show_ranking(const TrainedModel& model, Part part, ShowFolder& folder);
/// What a layer gives for some examples, in the plane.
void show_embedding(const TrainedModel& model, Part part, const ShowOptions& options, ShowFolder& folder);
/// Of an output of values: what it gives compared with what it should give, and the differences.
void show_values(const TrainedModel& model, Part part, ShowFolder& folder);
/// `asked` with standard_square() instead of zeros; the stride of another square is a quarter of it.
OcclusionSquare square_of(const ImageShape& picture, const OcclusionSquare& asked);
/// UserError where the square does not fit, or its stride leaves pixels out.
void check_square(const ImageShape& picture, const OcclusionSquare& square);
/// Of an output that is compared with pictures: examples, and what it gives for them.
void show_reconstructions(const TrainedModel& model, Part part, ShowFolder& folder);
/// A number that model.output() gives for an example.
struct SaliencyTarget {
  int64_t number = 0;
  std::string name = {};  // "probability of 7"
  bool is_probability = false;
};
/// The one that saliency asks about, of an example `x` as read() gives it: that of its class; of several labels the
/// first one that it has, else the largest one that the model gives; else the first value, with the column's name.
SaliencyTarget saliency_target(const TrainedModel& model, Part part, int64_t example, const Tensor& x);
/// Of one example: what the layers of images make of it.
void show_feature_maps(const TrainedModel& model, Part part, int64_t example, ShowFolder& folder);
/// Of one example: what covered pixels and small changes of pixels do to model.output().
void show_saliency(const TrainedModel& model, Part part, const ShowOptions& options, ShowFolder& folder);
/// The decisions of model.output() over the plane of two features.
void show_boundary(const TrainedModel& model, Part part, ShowFolder& folder);

/// Of an example of a few numbers: the columns' names, else "x0", "x1", ...; none of others.
std::vector<std::string> input_names(const Dataset& data);
/// "training", "validation" or "test": of which examples it is spoken.
const char* kind_of(Part part);
/// The names of the classes, else their numbers.
std::string class_name(const Dataset& data, int64_t number);
/// An image [channels, height, width]: of numbers from 0 to 1 these as they are, else from the least to the largest; of
/// other than 1 or 3 channels their mean.
Pixels number_pixels(const double* numbers, const ImageShape& image);
/// The same of an example of pictures, `x` [1, ...] as the model takes it, before standardization.
Pixels example_pixels(const TrainedModel& model, const Tensor& x);

}  // namespace thtrain
