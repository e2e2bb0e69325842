// A damaged language model: bytes laid over a valid GGUF file, and bytes as its whole. What still loads must decode
// without a sanitizer report.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "predictors/hybrid/language_model.hpp"
#include "predictors/hybrid/tiny_decoder.hpp"

namespace {

void read(std::string_view bytes) {
  const auto model = forerun::parse_language_model(bytes, "fuzz.gguf");
  if (!model) return;
  forerun::Decoding decoding(model->decoder);
  const auto ids = model->tokenizer.encode("the latency is 12.5 ms<|im_end|>");
  if (!ids.empty()) (void)forerun::decode_greedily(decoding, decoding.embed(ids), 4, model->tokenizer.end_of_text());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string kWhole = forerun::TinyGguf::make();
  read({reinterpret_cast<const char*>(data), size});
  if (size < 4) return 0;
  // The first two bytes say where the rest goes.
  std::string changed = kWhole;
  const std::size_t at = (std::size_t(data[0]) << 8 | data[1]) % changed.size();
  for (std::size_t i = 2; i < size && at + i - 2 < changed.size(); ++i) changed[at + i - 2] = char(data[i]);
  read(changed);
  return 0;
}
