// What the published designs learn from, as plain numbers. It can be written to a file, so that they can be trained on
// a machine that has LibTorch and none of the readers' libraries (commands/gnn/train_published_main.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "features/graph_tensors.hpp"

namespace forerun {

// Splits of the sets, by position. Inference: three 70:15:15 within every family. Training: five 70:30. Last in
// both: networks set aside, by which bundles get their intervals (valid) and are judged (test).
inline constexpr std::size_t kInferenceSplits = 3, kTrainingSplits = 5;

enum class Part : std::uint8_t { Train, Valid, Test, Unused };

// A network run in one way.
struct PublishedItem {
  std::string name;  // campaign and row of its first measurement
  std::string family;
  std::vector<float> targets;  // by PublishedSet::outputs; 0: not measured
  std::vector<Part> parts;     // by PublishedSet::splits
};

struct PublishedSet {
  std::vector<std::string> outputs, splits;
  std::vector<GraphTensors> graphs;  // by item
  std::vector<PublishedItem> items;
};

struct PublishedData {
  PublishedSet inference, training;
  std::vector<GraphTensors> unlabelled;  // encoded as the training set
};

[[nodiscard]] std::string pack_published(const PublishedData& data);
[[nodiscard]] Result<PublishedData> unpack_published(std::string_view bytes);

// What was trained: the recipe's name, how long, and the answers of every network of the stack for every item.
struct PublishedRun {
  std::string name;
  std::int32_t epochs = 0, members = 0, outputs = 0;
  double seconds = 0, parameters = 0;  // parameters: of one network
  std::vector<double> loss;            // of every epoch, per network
  std::vector<float> answers;          // members x items x outputs, in the units of the targets
  // Named tensors: a network to ship, or what is shown of it ("embedding").
  std::vector<std::string> tensor_names;
  std::vector<std::vector<float>> tensors;
};
[[nodiscard]] std::string pack_runs(const std::vector<PublishedRun>& runs);
[[nodiscard]] Result<std::vector<PublishedRun>> unpack_runs(std::string_view bytes);

}  // namespace forerun
