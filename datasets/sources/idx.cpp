#include "datasets/sources/idx.h"

#include "datasets/data_fields.h"
#include "datasets/sources/array_sets.h"

namespace thtrain {

ReadSource idx_reader() {
  return [](const DatasetOptions& options, DType floatx) {
    ArraySets sets = open_array_sets(options, ArrayFile::Format::kIdx);
    sets.byte_scale = kPixelScale;
    return read_array_sets(options, floatx, sets);
  };
}

void IdxConfig::fill(DatasetOptions& out) const {
  ArrayFiles::fill(out);
  out.read = idx_reader();
}

void IdxConfig::describe(Fields<IdxConfig>& f) {
  f.about("Arrays in files of MNIST's IDX format, with or without gzip. Paths are looked for as those of `npy`.");
  describe_files(f);
  describe_image_shape(f);
}

Kind<DataConfig> idx_source() {
  return kind<IdxConfig, DataConfig>();
}

}  // namespace thtrain
