// The JSON-lines file beside the store: every measured row is on disk before the next one starts, and a campaign
// resumes from it. A line cut short by a crash is dropped when the file is opened again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "records/measurement.hpp"

namespace forerun {

class Journal {
 public:
  // Creates the file or reads what is there; one process at a time (the file is locked).
  static Result<std::unique_ptr<Journal>> open(const std::string& path);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  [[nodiscard]] const std::vector<Measurement>& earlier_rows() const { return earlier_rows_; }
  // Written and synchronised, or an error and nothing.
  Status append(const Measurement& row);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Journal(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  Status load();
  int descriptor_;
  std::string path_;
  std::vector<Measurement> earlier_rows_;
  long size_ = 0;  // bytes of whole lines
};

}  // namespace forerun
