// Messages of framework.proto as views into the file: split into fields, nothing resolved.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "readers/paddle/program.hpp"

namespace forerun::paddle {

inline constexpr std::size_t kMaxListed = 100'000;  // elements of one attribute

struct VarMessage {
  std::string_view name;
  TensorType type;
  bool is_list = false;
  bool is_persistable = false;
};

struct OpMessage {
  std::string_view type;
  std::vector<std::string_view> inputs, outputs, attributes;
};

struct BlockMessage {
  std::int64_t parent = -1;
  std::vector<VarMessage> vars;
  std::vector<OpMessage> ops;
};

struct AttributeMessage {
  std::string_view name;
  std::int64_t type = -1;
  NativeAttribute value;
  std::optional<std::int64_t> block;
};

// These throw protozero's exceptions on damaged input.
BlockMessage split_block(std::string_view view);
AttributeMessage read_attribute(std::string_view view);

}  // namespace forerun::paddle
