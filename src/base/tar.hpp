// Reads tar archives (ustar, GNU long names, pax paths), plain or compressed: the packed graphs of a campaign.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace forerun {

struct TarMember {
  std::string name;  // as stored, without a leading "./"; may hold "..": never use it as a path to write to
  std::string bytes;
};

struct TarLimits {
  std::size_t member_bytes = std::size_t{256} << 20;
  std::size_t members = 1'000'000;
};

// Calls `visit` for each regular file, in order; an error of `visit` ends the walk and is returned.
Status visit_tar(const std::string& path, const std::function<Status(TarMember)>& visit, const TarLimits& limits = {});

// All regular files.
Result<std::vector<TarMember>> read_tar(const std::string& path, const TarLimits& limits = {});

}  // namespace forerun
