#include "datasets/sources/cifar10.h"

#include <algorithm>
#include <cstring>

#include "datasets/byte_stream.h"
#include "datasets/data_fields.h"
#include "datasets/deflated_bytes.h"
#include "datasets/sources/joined.h"

namespace thtrain {

constexpr size_t kPixels = 3 * 32 * 32, kRecord = 1 + kPixels;

// The pixels of the records follow their classes.
static std::shared_ptr<const RowSource> images_in(const ByteStream& stream) {
  auto file = std::make_shared<const InputFile>(stream.path());
  std::shared_ptr<const ByteSource> bytes;
  if (const uint64_t size = file->size(); stream.packed())
    bytes = std::make_shared<const DeflatedBytes>(std::move(file), 0, size, DeflatedBytes::Format::kGzip);
  else
    bytes = std::make_shared<const FileBytes>(std::move(file));
  return std::make_shared<const FixedRows>(std::move(bytes), 1, kPixels, kRecord);
}

Cifar10 read_cifar10(const std::string& path, uint64_t most_bytes) {
  ByteStream stream(path);
  std::vector<uint8_t> images, labels;
  while (true) {
    std::byte record[kRecord];
    size_t got = stream.read(record);
    if (got == 0) break;
    if (got < kRecord)
      throw file_error(path, "not CIFAR-10's records, or the file is truncated",
                       str("a multiple of ", kRecord, " bytes: a byte for the class, then 3 x 32 x 32 for the pixels"),
                       str(stream.bytes_read(), " bytes", stream.unpacked()));
    auto label = static_cast<uint8_t>(record[0]);
    if (label > 9)
      throw file_error(path, str("record ", labels.size(), ": the class is out of range"), "0 to 9",
                       std::to_string(label), "records count from 0");
    labels.push_back(label);
    if (labels.size() * kPixels > most_bytes) {
      images = {};
      continue;
    }
    const auto* pixels = reinterpret_cast<const uint8_t*>(record + 1);
    images.insert(images.end(), pixels, pixels + kPixels);
  }
  if (labels.empty()) throw file_error(path, "there are no records", str(kRecord, " bytes for each"), "an empty file");
  auto count = static_cast<int64_t>(labels.size());
  const Shape shape = {count, 3, 32, 32};
  if (labels.size() * kPixels > most_bytes)
    return {outline(DType::kUInt8, shape), Tensor::of(labels, {count}), images_in(stream)};
  return {Tensor::of(images, shape), Tensor::of(labels, {count})};
}

void Cifar10Config::fill(DatasetOptions& out) const {
  SetFiles::fill(out);
  out.read = [](const DatasetOptions& options, DType floatx) {
    SourceData data = read_sets(options, floatx, [&](const std::string& path, uint64_t room) {
      Cifar10 records = read_cifar10(path, room / (1 + size_of(floatx)));
      return JoinedPart{records.images, records.labels, records.source};
    });
    data.classes = 10;
    data.class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
    return data;
  };
}

void Cifar10Config::describe(Fields<Cifar10Config>& f) {
  f.about(
      "CIFAR-10's binary records of 3x32x32 pixels, with or without gzip: the lists name its files, "
      "`train = [\"data_batch_1.bin\", \"data_batch_2.bin\"]`. Paths are looked for as those of `npy`.");
  describe_sets(f, "Files");
}

Kind<DataConfig> cifar10_source() {
  return kind<Cifar10Config, DataConfig>();
}

}  // namespace thtrain
