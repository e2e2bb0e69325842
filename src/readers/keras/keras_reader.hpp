// Keras networks: .keras (Keras 3), legacy .h5, the JSON of model.to_json(), TensorFlow.js layers models. All hold the
// configuration of layers, from which the graph is written out; weights are never read.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "readers/format.hpp"

namespace forerun {

[[nodiscard]] bool is_keras_archive(const Source& source);
[[nodiscard]] bool is_keras_hdf5(const Source& source);
[[nodiscard]] bool is_keras_json(const Source& source);  // to_json(), and model.json of TensorFlow.js
Result<std::unique_ptr<Network>> read_keras_archive_source(const Source& source);
Result<std::unique_ptr<Network>> read_keras_hdf5_source(const Source& source);
Result<std::unique_ptr<Network>> read_keras_json_source(const Source& source);

}  // namespace forerun
