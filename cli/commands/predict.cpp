// `thtrain predict`: a trained model's answers for the examples of a .npy file.
#include "cli/commands/commands.h"
#include "cli/load_experiment.h"
#include "cli/text.h"
#include "datasets/dataset.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "trainers/trainer.h"

namespace thtrain {

// The examples as the data files have them, checked and scaled as the experiment says.
static Tensor read_examples(const std::string& path, const Experiment& experiment) {
  NpyArray array = open_npy(path);
  double scale = std::visit([](const auto& source) { return source.scale; }, experiment.data);
  DataArray x{.raw = array.raw, .swapped = array.header.swapped, .mapped = array.mapped, .origin = path};
  Split split(x, {}, Targets::kNone, scale);
  check_all(split, experiment.compiler.floatX);
  return split.all(experiment.compiler.floatX).x;
}

int run_predict(const PredictArguments& arguments) {
  bool both = arguments.output.ends_with(".npz");
  if (!both && !arguments.output.ends_with(".npy"))
    throw UserError(Message{.what = "predict cannot write this kind of file",
                            .expected = "--output with a name that ends in .npy, or .npz for classes and probabilities",
                            .got = arguments.output});
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  std::string weights = weights_of(loaded, arguments.weights);
  Tensor x = read_examples(arguments.input, loaded.experiment);
  Prediction found = predict(loaded.experiment, x, weights);
  if (both)
    write_npz(arguments.output, {{"classes", found.classes}, {"probabilities", found.probabilities}});
  else
    write_npy(arguments.output, arguments.probabilities ? found.probabilities : found.classes);
  const char* what = both ? "classes and probabilities" : arguments.probabilities ? "probabilities" : "classes";
  print_text(str(what, " of ", count_text(x.dim(0), "example"), " written to ", arguments.output, "\n"));
  return kDone;
}

}  // namespace thtrain
