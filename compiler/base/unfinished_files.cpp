#include "compiler/base/unfinished_files.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

namespace thtrain {

namespace {

// A handler reaches nothing but what is static. A path stays where it was: to remove it once more does no harm, since
// temporary names are used once.
struct Place {
  std::atomic<bool> is_written{false};
  std::array<char, 4096> path{};
};

}  // namespace

static std::array<Place, 16> g_places;
static std::mutex g_places_lock;  // of those that note and forget; the handler goes by is_written
static_assert(std::atomic<bool>::is_always_lock_free);

void note_unfinished(const std::string& path) {
  const std::lock_guard lock(g_places_lock);
  for (Place& place : g_places) {  // of more files, or of a longer path, nothing is noted
    if (path.size() >= place.path.size() || place.is_written) continue;
    place.path[path.copy(place.path.data(), path.size())] = '\0';
    place.is_written = true;
    return;
  }
}

void forget_unfinished(const std::string& path) {
  const std::lock_guard lock(g_places_lock);
  for (Place& place : g_places)
    if (place.is_written && path == place.path.data()) place.is_written = false;
}

static void on_end(int number) {
  for (Place& place : g_places)
    if (place.is_written) ::unlink(place.path.data());
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void remove_unfinished_on_signals() {
  struct sigaction action {};
  action.sa_handler = on_end;
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler == SIG_DFL) ::sigaction(number, &action, nullptr);
  }
}

}  // namespace thtrain
