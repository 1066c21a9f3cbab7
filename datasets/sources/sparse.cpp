#include "datasets/sources/sparse.h"

#include "datasets/array_file.h"
#include "datasets/data_fields.h"
#include "datasets/locate.h"
#include "datasets/npz.h"
#include "datasets/sparse_matrix_file.h"

namespace thtrain {

namespace {

std::string location_of(const DatasetOptions& options, const DataPath& path) {
  const ArrayPath parts(path.path);
  const std::string found = find_data_file(parts.file, options.config_folder, true, path.where);
  return parts.name.empty() ? found : str(found, '[', parts.name, ']');
}

std::optional<Split> read_set(const DatasetOptions& options, const std::string& set) {
  const DataPath* x = set == "train" ? &required_file(options, "train_x") : file_of(options, set + "_x");
  if (!x) return std::nullopt;
  const auto array = [&](const std::string& part) {
    const DataPath& path = required_file(options, set + part);
    return ArrayFile(location_of(options, path), ArrayFile::Format::kNpy, path.where).in_memory();
  };
  DataArray rows = located(x->where, [&] { return read_matrix_rows(location_of(options, *x)); });
  rows.where = x->where;
  Split out(std::move(rows), array("_y"), options.targets, scale_or(options, 1));
  if (file_of(options, set + "_w")) out.set_weights(array("_w"));
  return out;
}

}  // namespace

void SparseConfig::fill(DatasetOptions& out) const {
  ArrayFiles::fill(out);
  out.read = [](const DatasetOptions& options, DType) {
    return SourceData{.train = *read_set(options, "train"),
                      .valid = read_set(options, "valid"),
                      .test = read_set(options, "test"),
                      .streamed = false};
  };
}

std::optional<Split> SparseConfig::read_examples(const std::string& path, const KnownData&) const {
  return Split(read_matrix_rows(path), {}, Targets::kNone, scale);
}

void SparseConfig::describe(Fields<SparseConfig>& f) {
  f.about(
      "Rows of sparse matrices, of which only the stored elements are kept: Matrix Market files, or .npz files of "
      "`scipy.sparse.save_npz` (csr, csc or coo). Labels and weights are .npy files, or `file.npz[name]`. Paths are "
      "looked for as those of `npy`.");
  describe_files(f);
  f.check([](const SparseConfig& c, Findings& findings) { check_sparse(c, findings); });
}

Kind<DataConfig> sparse_source() {
  return kind<SparseConfig, DataConfig>();
}

}  // namespace thtrain
