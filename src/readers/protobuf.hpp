// protozero with std::string_view, and the labels its switch statements use. Every reader of protobuf files includes
// this header and never protozero itself, so that all of them see one configuration.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#define PROTOZERO_USE_VIEW std::string_view
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

namespace forerun::protobuf {

using Message = protozero::pbf_reader;

// Case labels for `switch (message.tag_and_type())`: a known field with another wire type is skipped like an unknown
// one.
constexpr std::uint32_t varint(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::varint);
}
constexpr std::uint32_t bytes(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::length_delimited);
}
constexpr std::uint32_t fixed32(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::fixed32);
}
constexpr std::uint32_t fixed64(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::fixed64);
}

// Appends a packed field of varints.
inline void append_packed(Message& message, std::vector<std::int64_t>& values) {
  for (const std::int64_t value : message.get_packed_int64()) values.push_back(value);
}
inline void append_packed(Message& message, std::vector<double>& values) {
  for (const float value : message.get_packed_float()) values.push_back(double{value});
}

}  // namespace forerun::protobuf
