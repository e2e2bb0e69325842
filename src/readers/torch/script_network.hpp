// A TorchScript archive as a network. The file does not state its inputs' shapes: they come with the request.
#pragma once

#include <memory>
#include <string>

#include "base/zip.hpp"
#include "readers/format.hpp"

namespace forerun::pytorch {

Result<std::unique_ptr<Network>> read_script_archive(ZipArchive& archive, const std::string& name,
                                                     const std::string& what);

}  // namespace forerun::pytorch
