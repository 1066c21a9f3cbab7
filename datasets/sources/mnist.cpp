#include "datasets/sources/mnist.h"

#include "datasets/data_fields.h"
#include "datasets/idx.h"
#include "datasets/locate.h"

namespace thtrain {

/// Of the mirror that PyTorch's torchvision takes first.
static constexpr const char* kMnistUrl = "https://ossci-datasets.s3.amazonaws.com/mnist";

ReadSource mnist_reader() {
  return [](const DatasetOptions& options, DType) {
    const DataPath* folder = file_of(options, "folder");
    const ConfigPosition& where = folder ? folder->where : options.where;
    const std::vector<std::string> paths = find_data_set(
        "mnist",
        {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
        kMnistUrl, options.config_folder, folder ? folder->path : "", where);
    auto split = [&](const std::string& x, const std::string& y) {
      return located(where, [&] {
        return Split({.raw = read_idx(x), .origin = x, .where = where},
                     {.raw = read_idx(y), .origin = y, .where = where}, options.targets,
                     scale_or(options, kPixelScale));
      });
    };
    return SourceData{.train = split(paths[0], paths[1]),
                      .test = split(paths[2], paths[3]),
                      .classes = 10,
                      .valid_default = MnistConfig().n_valid};
  };
}

void MnistConfig::fill(DatasetOptions& out) const {
  fill_common(out);
  fill_split(out);
  fill_sizes(out, *this);
  out.read = mnist_reader();
}

void MnistConfig::describe(Fields<MnistConfig>& f) {
  f.about(
      "MNIST's 70,000 handwritten digits of 28x28 pixels, looked for in the config's folder, then in "
      "`$THTRAIN_DATA`, then in the user's cache folder: `$XDG_CACHE_HOME/thtrain/data`, or `~/.cache/thtrain/data`.");
  f.field("n_train", &MnistConfig::n_train)
      .range(between(1, 60000))
      .unit("examples")
      .help("Training examples, the first of the training file unless `split` says otherwise.");
  f.field("n_valid", &MnistConfig::n_valid)
      .range(between(0, 59999))
      .unit("examples")
      .help("Validation examples, the last of the training file unless `split` says otherwise.");
  f.field("n_test", &MnistConfig::n_test)
      .range(between(0, 10000))
      .unit("examples")
      .help("Test examples, the first of the test file.");
  f.field("scale", &MnistConfig::scale).range(above(0)).help("What the pixels, 0 to 255, are multiplied by.");
  describe_split(f);
  f.check([](const MnistConfig& c, Findings& findings) {
    check_split(c, true, findings);
    check_folds(c, {{"n_valid", c.n_valid > 0 && c.n_valid != MnistConfig().n_valid}}, findings);
    if (c.folds > 0 || c.n_train + c.n_valid <= 60000) return;
    findings.add({.what = "data.n_train + data.n_valid is more than there is",
                  .expected = "at most 60000 (examples)",
                  .got = str(c.n_train, " + ", c.n_valid),
                  .config = c.at(c.has("n_train") ? "n_train" : "n_valid"),
                  .hint = "both are taken from MNIST's training file"});
  });
}

Kind<DataConfig> mnist_source() {
  return kind<MnistConfig, DataConfig>();
}

}  // namespace thtrain
