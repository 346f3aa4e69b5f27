// Stands in for OpenCV's own test support, which is GoogleTest with matrices.
#pragma once
#include "gtest.h"
#include "opencv.h"

#define CUDA_TEST_P TEST_P
#define EXPECT_MAT_NEAR(...) ::testing::check(__VA_ARGS__)
#define EXPECT_MAT_SIMILAR(...) ::testing::check(__VA_ARGS__)
#define ASSERT_MAT_NEAR EXPECT_MAT_NEAR

namespace cvtest {
cv::Mat randomMat(cv::Size, int, double = 0.0, double = 255.0);
cv::Size randomSize(int, int);
cv::Scalar randomScalar(double, double);
int randomInt(int, int);
double randomDouble(double, double);
}  // namespace cvtest
