#include "datasets/sources/npy.h"

#include "datasets/data_fields.h"
#include "datasets/locate.h"
#include "datasets/npz.h"
#include "datasets/sources/array_sets.h"

namespace thtrain {

ReadSource npy_reader(bool sequences) {
  return [sequences](const DatasetOptions& options, DType floatx) {
    ArraySets sets = open_array_sets(options, ArrayFile::Format::kNpy);
    sets.sequences = sequences;
    return read_array_sets(options, floatx, sets);
  };
}

ReadSource npz_reader() {
  return [](const DatasetOptions& options, DType floatx) {
    const DataPath& path = required_file(options, "npz");
    const std::string location = find_data_file(path.path, options.config_folder, false, path.where);
    const NpzFile archive = located(path.where, [&] { return NpzFile(location); });
    auto open = [&](const std::string& set, const std::string& axis) {
      std::string name = str(set, "_", axis), turned = str(axis, "_", set);
      if (!archive.contains(name) && archive.contains(turned)) name = turned;
      return ArrayFile(str(location, "[", name, "]"), ArrayFile::Format::kNpy, path.where);
    };
    auto set = [&](const std::string& key) -> std::optional<SetArrays> {
      const bool is_there = archive.contains(key + "_x") || archive.contains("x_" + key);
      if (key != "train" && !is_there) return std::nullopt;
      auto maybe = [&](bool has_array, const char* axis) {
        return has_array ? std::optional(open(key, axis)) : std::nullopt;
      };
      return SetArrays{
          open(key, "x"), maybe(options.targets != Targets::kNone, "y"), {}, maybe(archive.contains(key + "_l"), "l")};
    };
    return read_array_sets(options, floatx, {.train = *set("train"), .valid = set("valid"), .test = set("test")});
  };
}

void NpyConfig::fill(DatasetOptions& out) const {
  ArrayFiles::fill(out);
  out.read = npy_reader(sequences);
}

std::vector<DataFile> NpyConfig::files() {
  std::vector<DataFile> out = ArrayFiles::files();
  add_file(out, "train_lengths", "train_l", train_lengths);
  add_file(out, "valid_lengths", "valid_l", valid_lengths);
  add_file(out, "test_lengths", "test_l", test_lengths);
  return out;
}

void NpyConfig::describe(Fields<NpyConfig>& f) {
  f.about(
      "Arrays in .npy files, or in .npz files as `file.npz[name]`. A path is looked for in the config's folder, then "
      "in "
      "`$THTRAIN_DATA`, then in `$XDG_CACHE_HOME/thtrain/data` or `~/.cache/thtrain/data`; one that was typed on the "
      "command line, in the working folder.");
  describe_files(f);
  describe_image_shape(f);
  f.field("sequences", &NpyConfig::sequences)
      .help(
          "Whether the examples are sequences, `[sequences, steps, numbers of a step...]`. Their targets belong to the "
          "sequences (classes `[sequences]`, values and labels `[sequences, numbers]`) or to the steps (`[sequences, "
          "steps]`, and `[sequences, steps, numbers]`), as the shape of the labels' array tells.");
  f.field("train_lengths", &NpyConfig::train_lengths)
      .help(
          "File of the training sequences' lengths, integers from 1 to the steps of `train`: what is after the "
          "end of a sequence is not looked at. Not given: all have the same length.");
  f.field("valid_lengths", &NpyConfig::valid_lengths).help("File of the validation sequences' lengths.");
  f.field("test_lengths", &NpyConfig::test_lengths).help("File of the test sequences' lengths.");
  f.check([](const NpyConfig& c, Findings& findings) {
    for (const auto& [given, data, key, name] :
         {std::tuple(c.train_lengths.has_value(), true, "train_lengths", ""),
          {c.valid_lengths.has_value(), c.valid.has_value(), "valid_lengths", "valid"},
          {c.test_lengths.has_value(), c.test.has_value(), "test_lengths", "test"}}) {
      if (given && !c.sequences)
        findings.add(
            {.what = str("data.", key, " has no effect"), .expected = "data.sequences = true", .config = c.at(key)});
      else if (given && !data)
        findings.add({.what = str("data.", name, " is missing"),
                      .expected = str("a file to go with data.", key),
                      .config = c.at(key)});
    }
  });
}

Kind<DataConfig> npy_source() {
  return kind<NpyConfig, DataConfig>();
}

}  // namespace thtrain
