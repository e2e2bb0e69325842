// van der Maaten and Hinton, 2008: neighbours' probabilities by Gaussians of equal perplexity, in the plane by
// Student's t; gradient descent with momentum, probabilities exaggerated at first.
#include "evaluation/tsne.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace forerun {
namespace {

// Probabilities of one row's neighbours: the width of its Gaussian by bisection.
void set_probabilities(std::span<const double> distances, std::size_t own, double perplexity, std::span<double> out) {
  double low = 0, high = 0, precision = 1;
  for (int i = 0; i < 60; ++i) {
    double sum = 0, weighted = 0;
    for (std::size_t k = 0; k < distances.size(); ++k) {
      out[k] = k == own ? 0 : std::exp(-distances[k] * precision);
      sum += out[k];
      weighted += out[k] * distances[k];
    }
    sum = std::max(sum, 1e-300);
    const double entropy = std::log(sum) + precision * weighted / sum;
    for (double& p : out) p /= sum;
    if (std::abs(entropy - std::log(perplexity)) < 1e-5) return;
    if (entropy > std::log(perplexity)) {
      low = precision;
      precision = high > 0 ? (low + high) / 2 : precision * 2;
    } else {
      high = precision;
      precision = (low + high) / 2;
    }
  }
}

std::vector<double> joint_probabilities(std::span<const float> values, std::size_t width, double perplexity) {
  const std::size_t rows = values.size() / width;
  std::vector<double> distances(rows * rows), p(rows * rows);
  double mean = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < width; ++k) {
        const double difference = double(values[i * width + k]) - double(values[j * width + k]);
        sum += difference * difference;
      }
      distances[i * rows + j] = distances[j * rows + i] = sum;
      mean += sum;
    }
  }
  mean = std::max(1e-300, mean * 2 / double(rows * rows));
  for (double& distance : distances) distance /= mean;  // so that the bisection starts near
  for (std::size_t i = 0; i < rows; ++i)
    set_probabilities(std::span(distances).subspan(i * rows, rows), i, perplexity,
                      std::span(p).subspan(i * rows, rows));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      p[i * rows + j] = p[j * rows + i] = std::max(1e-12, (p[i * rows + j] + p[j * rows + i]) / (2 * double(rows)));
  }
  return p;
}

}  // namespace

std::vector<std::pair<double, double>> tsne(std::span<const float> values, std::size_t width,
                                            const TsneOptions& options) {
  const std::size_t rows = width == 0 ? 0 : values.size() / width;
  if (rows < 3) return std::vector<std::pair<double, double>>(rows);
  const double perplexity = std::min(options.perplexity, double(rows - 1) / 3);
  const std::vector<double> p = joint_probabilities(values, width, perplexity);
  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> normal(0, 1e-2);
  std::vector<double> y(rows * 2), speed(rows * 2, 0), gain(rows * 2, 1), slope(rows * 2), near(rows * rows);
  for (double& one : y) one = normal(random);
  for (int step = 0; step < options.iterations; ++step) {
    const double exaggerated = step < 100 ? 4 : 1, momentum = step < 100 ? 0.5 : 0.8;
    double total = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double a = y[2 * i] - y[2 * j], b = y[2 * i + 1] - y[2 * j + 1];
        total += 2 * (near[i * rows + j] = near[j * rows + i] = 1 / (1 + a * a + b * b));
      }
    }
    std::fill(slope.begin(), slope.end(), 0.0);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < rows; ++j) {
        if (i == j) continue;
        const double q = near[i * rows + j];
        const double pull = 4 * (exaggerated * p[i * rows + j] - q / total) * q;
        slope[2 * i] += pull * (y[2 * i] - y[2 * j]);
        slope[2 * i + 1] += pull * (y[2 * i + 1] - y[2 * j + 1]);
      }
    }
    const double rate = std::max(50.0, double(rows) / 12);
    for (std::size_t k = 0; k < y.size(); ++k) {
      gain[k] = std::max(0.01, (slope[k] > 0) == (speed[k] > 0) ? gain[k] * 0.8 : gain[k] + 0.2);
      speed[k] = momentum * speed[k] - rate * gain[k] * slope[k];
      y[k] += speed[k];
    }
  }
  std::vector<std::pair<double, double>> points(rows);
  for (std::size_t i = 0; i < rows; ++i) points[i] = {y[2 * i], y[2 * i + 1]};
  return points;
}

}  // namespace forerun
