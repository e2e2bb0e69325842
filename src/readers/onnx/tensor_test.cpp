#include "readers/onnx/tensor.hpp"

#include <gtest/gtest.h>

#include <array>

#include "readers/protobuf_writer.hpp"

namespace forerun::onnx {
namespace {

// Writes a TensorProto: dims, type, then whatever `fill` adds.
template <typename Fill>
std::string tensor(std::initializer_list<std::int64_t> dims, DType type, Fill fill) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_packed_int64(1, dims.begin(), dims.end());
  writer.add_int32(2, static_cast<std::int32_t>(type));
  writer.add_string(8, "t");
  fill(writer);
  return bytes;
}

Result<TensorInfo> read(const std::string& bytes) {
  ReadContext context(bytes, {});
  return read_tensor(bytes, context);
}

TEST(ReadTensor, DecodesRawIntegers) {
  const std::array<std::int64_t, 3> values = {2, -1, 768};
  const auto read_back = read(tensor({3}, DType::Int64, [&](auto& writer) {
    writer.add_bytes(9, reinterpret_cast<const char*>(values.data()), sizeof(values));
  }));
  ASSERT_TRUE(read_back);
  ASSERT_TRUE(read_back->literal);
  EXPECT_EQ(read_back->literal->ints, (std::vector<std::int64_t>{2, -1, 768}));
  EXPECT_EQ(read_back->dims, Dims{3});
}

TEST(ReadTensor, DecodesTypedDataPackedOrNot) {
  const std::array<std::int64_t, 2> longs = {-5, 7};
  const auto packed = tensor({2}, DType::Int64, [&](auto& w) { w.add_packed_int64(7, longs.begin(), longs.end()); });
  const auto single = tensor({2}, DType::Int64, [](auto& w) {
    w.add_int64(7, -5);
    w.add_int64(7, 7);
  });
  EXPECT_EQ(read(packed)->literal->ints, (std::vector<std::int64_t>{-5, 7}));
  EXPECT_EQ(read(single)->literal->ints, (std::vector<std::int64_t>{-5, 7}));
  const auto real = tensor({}, DType::Float32, [](auto& w) { w.add_float(4, 1.5F); });
  EXPECT_EQ(read(real)->literal->reals, std::vector<double>{1.5});
  const auto flag = tensor({}, DType::Bool, [](auto& w) { w.add_int32(5, 1); });
  EXPECT_EQ(read(flag)->literal->ints, std::vector<std::int64_t>{1});
  const auto narrow = tensor({}, DType::Int8, [](auto& w) { w.add_int32(5, -3); });
  EXPECT_EQ(read(narrow)->literal->ints, std::vector<std::int64_t>{-3});
}

TEST(ReadTensor, DecodesHalfAndBrainFloats) {
  const auto half = tensor({2}, DType::Float16, [](auto& w) { w.add_bytes(9, std::string("\x00\x3e\x01\x80", 4)); });
  EXPECT_EQ(read(half)->literal->reals, (std::vector<double>{1.5, -5.9604644775390625e-08}));
  const auto brain = tensor({}, DType::BFloat16, [](auto& w) { w.add_int32(5, 0x3fc0); });
  EXPECT_EQ(read(brain)->literal->reals, std::vector<double>{1.5});
}

TEST(ReadTensor, KnowsAnEmptyTensorFromAWeightFreeOne) {
  const auto nothing = [](auto&) {};
  EXPECT_TRUE(read(tensor({0}, DType::Int64, nothing))->literal) << "no elements: contents are known";
  EXPECT_FALSE(read(tensor({3}, DType::Int64, nothing))->literal) << "elements without data: contents are not";
}

TEST(ReadTensor, LeavesLargeTensorsAlone) {
  const std::string raw(std::size_t{4} * 65, '\0');
  EXPECT_FALSE(read(tensor({65}, DType::Float32, [&](auto& w) { w.add_bytes(9, raw); }))->literal);
}

TEST(ReadTensor, WarnsWhenDataAndDimensionsDisagree) {
  const auto bytes = tensor({3}, DType::Int64, [](auto& w) { w.add_bytes(9, std::string(8, '\0')); });
  ReadContext context(bytes, {});
  const auto short_one = read_tensor(bytes, context);
  ASSERT_TRUE(short_one);
  EXPECT_FALSE(short_one->literal);
  EXPECT_EQ(context.warnings().size(), 1U);
}

TEST(ReadTensor, RefusesImpossibleDimensions) {
  const auto nothing = [](auto&) {};
  EXPECT_FALSE(read(tensor({3, -1}, DType::Float32, nothing)));
  EXPECT_FALSE(read(tensor({INT64_MAX}, DType::Float32, nothing)));
  const std::int64_t large = std::int64_t{1} << 40;
  const auto overflow = read(tensor({large, large}, DType::Float32, nothing));
  ASSERT_FALSE(overflow);
  EXPECT_EQ(overflow.error().message, "tensor 't' (byte 0): its size overflows");
}

TEST(ReadTensor, UnknownElementTypesAreReported) {
  const auto bytes = tensor({3}, static_cast<DType>(99), [](auto&) {});
  ReadContext context(bytes, {});
  EXPECT_EQ(read_tensor(bytes, context)->dtype, DType::Undefined);
  EXPECT_EQ(context.warnings().size(), 1U);
}

}  // namespace
}  // namespace forerun::onnx
