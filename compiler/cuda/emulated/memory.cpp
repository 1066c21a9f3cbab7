#include "compiler/cuda/emulated/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "compiler/base/error.h"

namespace thtrain::cuda::emulated {

static constexpr size_t kPage = 4096, kAlignment = 256;

static size_t rounded(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

static char* mapped(size_t bytes, int flags, int file) {
  void* out = mmap(nullptr, bytes, PROT_NONE, flags, file, 0);
  TH_CHECK(out != MAP_FAILED, "no range of ", bytes, " addresses for an emulated device");
  return static_cast<char*>(out);
}

Memory::Memory(size_t bytes) : bytes_(rounded(bytes, kPage)), file_(memfd_create("device memory", MFD_CLOEXEC)) {
  TH_CHECK(file_ >= 0 && ftruncate(file_, static_cast<off_t>(bytes_)) == 0, "no file for the memory of a device");
  reserved_ = mapped(bytes_, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  reached_ = mapped(bytes_, MAP_SHARED | MAP_NORESERVE, file_);
}

Memory::~Memory() {
  munmap(reserved_, bytes_);
  munmap(reached_, bytes_);
  for (char* window : windows_) munmap(window - kAroundWindow, bytes_ + 2 * kAroundWindow);
  close(file_);
}

// The first gap that holds it, and a page that nobody has.
DeviceAddress Memory::allocate(size_t bytes) {
  if (bytes > bytes_) return 0;
  const size_t size = rounded(bytes, kAlignment), pages = rounded(size, kPage) / kPage;
  size_t page = 0;
  for (const auto& [address, block] : blocks_) {
    if (page + pages + 1 <= block.page) break;
    page = block.page + block.pages + 1;
  }
  if ((page + pages) * kPage > bytes_) return 0;
  if (mprotect(reached_ + page * kPage, pages * kPage, PROT_READ | PROT_WRITE) != 0) return 0;
  std::memset(reached_ + page * kPage, 0xff, pages * kPage);
  const DeviceAddress address = addresses() + (page + pages) * kPage - size;
  blocks_[address] = {page, pages, bytes};
  return address;
}

bool Memory::free(DeviceAddress address) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return false;
  const off_t begin = static_cast<off_t>(found->second.page * kPage);
  const size_t bytes = found->second.pages * kPage;
  mprotect(reached_ + begin, bytes, PROT_NONE);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, static_cast<off_t>(bytes));
  blocks_.erase(found);
  return true;
}

bool Memory::holds(DeviceAddress address, size_t bytes) const {
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return false;
  const auto& [begin, block] = *--after;
  const size_t offset = address - begin;
  return offset <= block.bytes && bytes <= block.bytes - offset;
}

char* Memory::window(size_t number, DeviceAddress address) {
  while (windows_.size() <= number) {
    char* const begin = mapped(bytes_ + 2 * kAroundWindow, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    windows_.push_back(begin + kAroundWindow);
    void* const pages =
        mmap(windows_.back(), bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file_, 0);
    TH_CHECK(pages != MAP_FAILED, "no second mapping of the memory of an emulated device");
  }
  return windows_[number] + (address - addresses());
}

bool Memory::is_near(const void* address) const {
  const char* at = static_cast<const char*>(address);
  return (at >= reserved_ && at < reserved_ + bytes_) || (at >= reached_ && at < reached_ + bytes_);
}

}  // namespace thtrain::cuda::emulated
