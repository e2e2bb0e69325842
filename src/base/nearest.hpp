// Words near a misspelled one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace forerun {

// Insertions, deletions and replacements between two words.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// The `most` candidates nearest to a word, the nearest first, and of those none further than a third of its letters
// (at least two): those that it is likely to mean.
[[nodiscard]] std::vector<std::string> likely_meant(std::string_view word, const std::vector<std::string>& candidates,
                                                    std::size_t most = 3);

// "; did you mean 'x' or 'y'?", empty when nothing is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace forerun
