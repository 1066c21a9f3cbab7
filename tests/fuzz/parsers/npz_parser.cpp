// .npz files: the archive's directory, its entries, and the arrays in them.
#include "datasets/npz.h"

#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "tests/fuzz/parsers/parser.h"
#include "tests/fuzz/parsers/scratch_file.h"

namespace thtrain::fuzz {
namespace {

bool parse(std::string_view bytes) {
  bool accepted = true;
  try {
    NpzFile file(scratch_file().holding(bytes));
    for (const std::string& name : file.names()) {
      require(file.contains(name), "a name of the directory is not found");
      try {
        file.read(name);
      } catch (const UserError&) {
        accepted = false;  // the other entries may hold
      }
    }
  } catch (const UserError&) {
    return false;
  }
  return accepted;
}

// Python's zipfile: a/W.npy, uint8[8], deflated.
constexpr char kDeflated[] =
    "PK\003\004\024\000\000\000\010\000\000\000!\000\262/\236\220D\000\000\000L\000\000\000\007\000\000\000a/W.np"
    "y\233\354\027\352\033\020\311\310`\305P\255\236\222Z\234\134\244n\245\240^Sj\250\256\243\240\236\226_TR\224"
    "\230\027\237_\224\222\012\022wK\314)N\005\212\027g$\026\244\002\371\032\026:\232:\012\265\134\346P\000\000PK"
    "\001\002\024\003\024\000\000\000\010\000\000\000!\000\262/\236\220D\000\000\000L\000\000\000\007\000\000\000"
    "\000\000\000\000\000\000\000\000\200\001\000\000\000\000a/W.npyPK\005\006\000\000\000\000\001\000\001\000"
    "\065\000\000\000i\000\000\000\000\000";
// The same: x.npy, int16[1, 2] in Fortran order, and readme.txt, both stored.
constexpr char kStored[] =
    "PK\003\004\024\000\000\000\000\000\000\000!\000\317\240G\066I\000\000\000I\000\000\000\005\000\000\000x.npy"
    "\223NUMPY\001\000;\000{'descr':\040'<i\062',\040'fortran_order':\040True,\040'shape':\040(\061,\040\062),"
    "\040}\012\001\000\002\000PK\003\004\024\000\000\000\000\000\000\000!\000\254*\223\330\002\000\000\000\002"
    "\000\000\000\012\000\000\000readme.txthiPK\001\002\024\003\024\000\000\000\000\000\000\000!\000\317\240G\066"
    "I\000\000\000I\000\000\000\005\000\000\000\000\000\000\000\000\000\000\000\200\001\000\000\000\000x.npyPK"
    "\001\002\024\003\024\000\000\000\000\000\000\000!\000\254*\223\330\002\000\000\000\002\000\000\000\012\000"
    "\000\000\000\000\000\000\000\000\000\000\200\001l\000\000\000readme.txtPK\005\006\000\000\000\000\002\000"
    "\002\000k\000\000\000\226\000\000\000\000\000";

std::vector<std::string> seeds() {
  std::string path = scratch_file().holding("") + ".npz";
  write_npz(path, {{"hidden/W", Tensor::matrix({{1.0, 2.0}})}, {"step", Tensor(int64_t{3})}});
  std::string written = read_file(path);
  unlink(path.c_str());
  return {written, std::string(kDeflated, sizeof kDeflated - 1), std::string(kStored, sizeof kStored - 1)};
}

}  // namespace

const Parser kNpz = {"npz", parse, seeds};

}  // namespace thtrain::fuzz
