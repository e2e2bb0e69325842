// Matrix products: shapes and multiply-accumulates.
#include <algorithm>
#include <map>
#include <sstream>

#include "base/checked.hpp"
#include "ops/rules.hpp"

namespace forerun {
namespace {

// Shape of a numpy-style matrix product; the inner dimension goes to `inner`.
Result<Dims> product_shape(const RuleContext& c, Dims a, Dims b, std::int64_t& inner) {
  if (a.empty() || b.empty()) return c.fail("an operand is a scalar");
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  if (a.back() != b[b.size() - 2]) {
    return c.fail("inner dimensions differ: " + std::to_string(a.back()) + " and " + std::to_string(b[b.size() - 2]));
  }
  inner = a.back();
  auto batch = broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  if (!batch) return c.fail("batch dimensions do not broadcast");
  Dims result = std::move(*batch);
  if (!row) result.push_back(a[a.size() - 2]);
  if (!column) result.push_back(b.back());
  return result;
}

Status set_product(RuleContext& c, std::size_t a, std::size_t b, DType type) {
  const Dims* left = c.shape(a);
  const Dims* right = c.shape(b);
  if (left == nullptr || right == nullptr) return ok();
  std::int64_t inner = 0;
  FORERUN_TRY(Dims dims, product_shape(c, *left, *right, inner));
  c.set(0, type, std::move(dims));
  return ok();
}

Dims swap_last(Dims dims, bool swap) {
  if (swap && dims.size() >= 2) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims;
}

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

Equation parse_equation(std::string_view text, std::size_t operands) {
  Equation equation;
  std::string clean;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "...") {
      clean += '.';  // one mark stands for the ellipsis
      i += 2;
    } else {
      clean += text[i];
    }
  }
  const std::size_t arrow = clean.find("->");
  std::istringstream left(clean.substr(0, arrow));
  for (std::string part; std::getline(left, part, ',');) equation.inputs.push_back(part);
  if (arrow != std::string::npos) {
    equation.output = clean.substr(arrow + 2);
  } else {
    std::map<char, int> counts;
    for (const std::string& part : equation.inputs) {
      for (const char letter : part) ++counts[letter];
    }
    if (counts.count('.') != 0) equation.output += '.';
    for (const auto& [letter, count] : counts) {
      if (letter != '.' && count == 1) equation.output += letter;
    }
  }
  equation.inputs.resize(operands);
  return equation;
}

// Sizes of the letters; the ellipsis' dimensions go to `ellipsis`.
Result<std::map<char, std::int64_t>> letter_sizes(RuleContext& c, const Equation& equation, Dims& ellipsis) {
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const Dims* dims = c.shape(i);
    if (dims == nullptr) return c.fail("an operand's shape is unknown");
    const std::string& part = equation.inputs[i];
    const auto dots = std::int64_t(std::count(part.begin(), part.end(), '.'));
    const std::int64_t wide = std::int64_t(dims->size()) - (std::int64_t(part.size()) - dots);
    if (dots > 1 || wide < 0 || (dots == 0 && wide != 0)) return c.fail("the equation does not fit the operands");
    std::size_t position = 0;
    for (const char letter : part) {
      if (letter == '.') {
        const Dims own(dims->begin() + std::ptrdiff_t(position), dims->begin() + std::ptrdiff_t(position) + wide);
        auto joined = broadcast(ellipsis, own);
        if (!joined) return c.fail("ellipsis dimensions do not broadcast");
        ellipsis = std::move(*joined);
        position += std::size_t(wide);
        continue;
      }
      std::int64_t& size = sizes.try_emplace(letter, 1).first->second;
      const std::int64_t here = (*dims)[position++];
      if (size != 1 && here != 1 && size != here) return c.fail(std::string("dimension '") + letter + "' differs");
      size = std::max(size, here);
    }
  }
  return sizes;
}

}  // namespace

Status matmul_shape(RuleContext& c) { return set_product(c, 0, 1, c.dtype(0)); }
Status matmul_integer_shape(RuleContext& c) {
  // MatMulIntegerToFloat and DynamicQuantizeMatMul give floats of the scale's type.
  const bool integer = c.node().kind == OpKind::MatMulInteger || c.node().kind == OpKind::MatMulInteger16;
  return set_product(c, 0, 1, integer ? DType::Int32 : DType::Float32);
}
Status qlinear_matmul_shape(RuleContext& c) { return set_product(c, 0, 3, c.dtype(7)); }

Status fused_matmul_shape(RuleContext& c) {
  const Dims* a = c.shape(0);
  const Dims* b = c.shape(1);
  if (a == nullptr || b == nullptr) return ok();
  std::int64_t inner = 0;
  FORERUN_TRY(Dims dims, product_shape(c, swap_last(*a, c.int_of("transA", 0) != 0),
                                       swap_last(*b, c.int_of("transB", 0) != 0), inner));
  c.set(0, c.dtype(0), std::move(dims));
  return ok();
}

Status matmul_nbits_shape(RuleContext& c) {
  const Dims* a = c.shape(0);
  if (a == nullptr || a->empty()) return ok();
  const std::int64_t n = c.int_of("N", 0);
  if (n <= 0) return c.fail("attribute N is missing");
  Dims dims = *a;
  dims.back() = n;
  c.set(0, c.dtype(0), std::move(dims));
  return ok();
}

Status gemm_shape(RuleContext& c) {
  const Dims* a = c.shape(0);
  const Dims* b = c.shape(1);
  if (a == nullptr || b == nullptr) return ok();
  if (b->size() != 2 || a->size() < 2) return c.fail("operands are not matrices");
  Dims left = *a;
  if (left.size() > 2) {  // opset < 7 exporters leave the flattening to the operator
    left = {a->front(), checked_product(std::span(*a).subspan(1))};
  }
  left = swap_last(left, c.int_of("transA", 0) != 0);
  const Dims right = swap_last(*b, c.int_of("transB", 0) != 0);
  if (left[1] != right[0]) {
    return c.fail("inner dimensions differ: " + std::to_string(left[1]) + " and " + std::to_string(right[0]));
  }
  c.set(0, c.dtype(0), {left[0], right[1]});
  return ok();
}

Status qgemm_shape(RuleContext& c) {
  const Dims* a = c.shape(0);
  const Dims* b = c.shape(3);
  if (a == nullptr || b == nullptr || a->size() != 2 || b->size() != 2) return ok();
  c.set(0, c.dtype(8) == DType::Undefined ? DType::Float32 : c.dtype(8),
        {swap_last(*a, c.int_of("transA", 0) != 0)[0], swap_last(*b, c.int_of("transB", 0) != 0)[1]});
  return ok();
}

Status einsum_shape(RuleContext& c) {
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (c.shape(i) == nullptr) return ok();
  }
  const Equation equation = parse_equation(text_attribute(c.node(), "equation", ""), c.input_count());
  Dims ellipsis;
  FORERUN_TRY(const auto sizes, letter_sizes(c, equation, ellipsis));
  Dims result;
  for (const char letter : equation.output) {
    if (letter == '.') {
      result.insert(result.end(), ellipsis.begin(), ellipsis.end());
    } else if (const auto found = sizes.find(letter); found != sizes.end()) {
      result.push_back(found->second);
    } else {
      return c.fail(std::string("output dimension '") + letter + "' is in no operand");
    }
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

void matmul_cost(RuleContext& c, OpCost& cost) {
  const Value* output = c.output(0);
  const Dims* left = c.shape(0);
  if (output == nullptr || left == nullptr || left->empty()) return;
  set_macs(cost, checked_mul(elements_of(*output), left->back()));
}

void fused_matmul_cost(RuleContext& c, OpCost& cost) {
  const Value* output = c.output(0);
  const Dims* a = c.shape(0);
  if (output == nullptr || a == nullptr || a->empty()) return;
  set_macs(cost, checked_mul(elements_of(*output), swap_last(*a, c.int_of("transA", 0) != 0).back()));
}

void gemm_cost(RuleContext& c, OpCost& cost) {
  const Value* output = c.output(0);
  const Dims* b = c.shape(c.node().kind == OpKind::QGemm ? 3 : 1);
  if (output == nullptr || b == nullptr || b->size() != 2) return;
  set_macs(cost, checked_mul(elements_of(*output), (*b)[c.int_of("transB", 0) != 0 ? 1 : 0]));
}

void einsum_cost(RuleContext& c, OpCost& cost) {
  const Equation equation = parse_equation(text_attribute(c.node(), "equation", ""), c.input_count());
  Dims ellipsis;
  const auto sizes = letter_sizes(c, equation, ellipsis);
  if (!sizes) return;
  std::int64_t work = checked_product(ellipsis);
  for (const auto& [letter, size] : *sizes) work = checked_mul(work, size);
  if (c.input_count() >= 2) {
    set_macs(cost, work);
  } else {
    cost.flops = work;
  }
}

}  // namespace forerun
