// Text attributes of an HDF5 file's root group, and nothing else of it: what Keras keeps a network's configuration in.
// Not a general HDF5 reader. Every offset is checked, and the work is bounded by the number of messages of one object.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace forerun {

[[nodiscard]] bool is_hdf5(std::string_view bytes);

// The root group's attribute `name`: a string of fixed or variable length, one or the first of several (older Keras).
// nullopt when the group has none of that name; an error when the file is damaged or keeps it in a form not read.
Result<std::optional<std::string>> read_hdf5_root_text(std::string_view bytes, std::string_view name);

}  // namespace forerun
