// A temporary file without a name: large files of a compressed archive are unpacked into it and mapped, so that they
// take disk and no memory. Gone when the last user lets go of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/folder.hpp"
#include "base/result.hpp"

namespace forerun {

class SpoolFile {
 public:
  static Result<SpoolFile> create();  // in $TMPDIR or /tmp
  SpoolFile(SpoolFile&& other) noexcept;
  SpoolFile& operator=(SpoolFile&&) = delete;
  SpoolFile(const SpoolFile&) = delete;
  ~SpoolFile();

  Status append(std::string_view data);
  // Maps what was written. The spool takes no more.
  Result<FileBytes> finish();

 private:
  explicit SpoolFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace forerun
