#include "datasets/byte_stream.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>

namespace thtrain {

ByteStream::ByteStream(const std::string& path) : file_(path), gz_(nullptr, ::gzclose) {
  int descriptor = file_.duplicate();  // of the file that was checked, whatever is at the path by now
  gz_.reset(::gzdopen(descriptor, "rb"));
  if (!gz_) ::close(descriptor);
  TH_CHECK(gz_ != nullptr, "gzdopen failed");
  ::gzbuffer(gz_.get(), 1 << 17);
  packed_ = ::gzdirect(gz_.get()) == 0;
}

uint64_t ByteStream::most_bytes() const {
  constexpr uint64_t kMaxDeflateRatio = 1032;
  return packed_ ? file_.size() * kMaxDeflateRatio : file_.size();
}

size_t ByteStream::read(std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    auto ask = static_cast<unsigned>(std::min<size_t>(out.size() - done, 1u << 30));
    int n = ::gzread(gz_.get(), out.data() + done, ask);
    int status = Z_OK;
    const char* message = ::gzerror(gz_.get(), &status);
    if (status == Z_BUF_ERROR) throw file_error(path(), "the gzip data is truncated", {}, {}, "copy the file again");
    if (n < 0 || status != Z_OK) {
      std::string said = message;  // "<fd:5>: incorrect data check"
      if (size_t colon = said.find(": "); said.starts_with('<') && colon != std::string::npos) said.erase(0, colon + 2);
      throw file_error(path(), "the gzip data is damaged", {}, said, "copy the file again");
    }
    if (n == 0) break;
    done += static_cast<size_t>(n);
    read_ += static_cast<uint64_t>(n);
  }
  return done;
}

}  // namespace thtrain
