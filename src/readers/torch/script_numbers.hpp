// Python's arithmetic and comparisons on the numbers, texts and lists of a script.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "readers/torch/script_object.hpp"

namespace forerun::pytorch {

constexpr std::int64_t kMaxListed = 1'000'000;  // items of a list, steps of a loop

bool is_number(const Argument& value);
bool is_whole(const Argument& value);
std::int64_t wrapped(std::uint64_t value);  // as signed, wrapping around

// nullopt: not an operation of that name, or not defined for these numbers.
std::optional<Argument> whole_arithmetic(std::string_view name, std::int64_t a, std::int64_t b);
std::optional<Argument> real_arithmetic(std::string_view name, double a, double b);
std::optional<bool> compare(std::string_view name, double a, double b);
std::optional<Argument> unary(std::string_view name, const Argument& value);
// Of numbers, texts and lists of numbers; nullopt when it is known only at run time.
std::optional<bool> equal(const Argument& a, const Argument& b);

// The place that an index, which may count from the end, means in a list of `size` items.
std::optional<std::size_t> place_in(const Argument& index, std::size_t size);
// As str() shows it; long lists are cut.
std::string shown(const Argument& value);

}  // namespace forerun::pytorch
