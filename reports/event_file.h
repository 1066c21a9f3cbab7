// Event files of TensorBoard: scalars, histograms, pictures and texts over steps.
//
// A file is a series of TFRecords (tensorflow/core/lib/io/record_writer.h), each of them
//
//   uint64 length | uint32 masked CRC32C of the length | bytes | uint32 masked CRC32C of the bytes
//
// little-endian, where masked(c) = (c rotated right by 15) + 0xa282ead8. The bytes of each are one Event as Protocol
// Buffers encode it (protobuf.dev/programming-guides/encoding): fields in a row, a varint number << 3 | type, and a
// varint (type 0), eight bytes (1), a varint length and bytes (2), or four bytes (5). Of tensorboard/compat/proto:
//
//   event.proto    Event: 1 wall_time double, 2 step int64, 3 file_version string, 5 summary, 7 session_log
//                  SessionLog: 1 status enum (1: START)
//   summary.proto  Summary: 1 value, repeated. Value: 1 tag string, 2 simple_value float, 4 image, 5 histo, 8 tensor,
//                  9 metadata. Image: 1 height, 2 width, 3 colorspace (channels), 4 encoded_image_string bytes
//                  SummaryMetadata: 1 plugin_data. PluginData: 1 plugin_name string
//   histogram.proto  HistogramProto: 1 min, 2 max, 3 num, 4 sum, 5 sum_squares, 6 bucket_limit and 7 bucket packed, all
//                  of them double
//   tensor.proto   TensorProto: 1 dtype enum (7: DT_STRING), 2 tensor_shape, 8 string_val bytes. TensorShapeProto:
//                  2 dim. Dim: 1 size int64
//
// The first Event of a file says "brain.Event:2". A file that goes on where an earlier one of its folder ended has a
// START with the first step that comes anew: readers drop what they have of that step and later ones
// (tensorboard/backend/event_processing/event_accumulator.py, Purge).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

/// The CRC of Castagnoli, polynomial 0x1edc6f41, reflected, as RFC 3720 (iSCSI), appendix B.4 has it.
uint32_t crc32c(std::string_view bytes);

/// What a histogram says of numbers.
struct HistogramSummary {
  double min = 0, max = 0, count = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> limits = {}, counts = {};  // a bucket ends before its limit; the last one holds the maximum
};
/// Of finite numbers, at least one: `buckets` of one width from the smallest to the largest; one bucket where all are
/// equal.
HistogramSummary histogram_of(std::span<const double> values, int buckets = 30);

/// One event file, which is written to as events come. A process that is killed leaves whole events, and at most a part
/// of the last one, which readers pass over.
class EventFile {
 public:
  /// Makes a file in `folder`, "events.out.tfevents.1795432571.host.4711", whose name comes after those of the event
  /// files that are there, and writes the START of `first_step`. UserError where it cannot be written.
  EventFile(const std::string& folder, int64_t first_step);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  const std::string& path() const { return path_; }
  /// Each is an event of its own. UserError where it cannot be written.
  void scalar(const std::string& tag, int64_t step, double value);  // as a float
  void histogram(const std::string& tag, int64_t step, const HistogramSummary& values);
  /// `png`: the bytes of a PNG file. What is none is left out.
  void picture(const std::string& tag, int64_t step, const std::string& png);
  /// Markdown.
  void text(const std::string& tag, int64_t step, const std::string& text);

 private:
  void value(const std::string& tag, int64_t step, const std::string& fields);
  void record(const std::string& event);

  std::string path_;
  int descriptor_ = -1;
};

/// Is this the name of an event file?
bool is_event_file(std::string_view name);

}  // namespace thtrain
