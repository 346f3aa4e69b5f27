// Stands in for the headers of OpenCV's core where they are missing, as in a module built beside
// it. What kernels are given has the layout and the addressing of the real one, what they compute
// with the same instructions; the rest (borders, colours, reductions) is left out, so that kernels
// which need it are told as lost, never compiled against something else.
#pragma once
#include <cfloat>
#include <climits>

#include "opencv_core.h"

// What the build writes into opencv_modules.hpp, of the modules that others ask for.
#define HAVE_OPENCV_CUDEV
#define HAVE_OPENCV_CUDAARITHM
#define HAVE_OPENCV_CUDAFILTERS
#define HAVE_OPENCV_CUDAIMGPROC
#define HAVE_OPENCV_CUDALEGACY
#define HAVE_OPENCV_CUDAWARPING
#define cudaSafeCall(x) ((void)(x))
#define __CV_CUDA_HOST_DEVICE__ __host__ __device__ __forceinline__

namespace cv {
namespace cuda {
template <class T>
struct DevPtr {
  typedef T elem_type;
  typedef int index_type;
  enum { elem_size = sizeof(T) };
  T *data;
  __CV_CUDA_HOST_DEVICE__ DevPtr() : data(nullptr) {}
  __CV_CUDA_HOST_DEVICE__ DevPtr(T *at) : data(at) {}
  __CV_CUDA_HOST_DEVICE__ size_t elemSize() const { return sizeof(T); }
  __CV_CUDA_HOST_DEVICE__ operator T *() { return data; }
  __CV_CUDA_HOST_DEVICE__ operator const T *() const { return data; }
};

template <class T>
struct PtrSz : DevPtr<T> {
  size_t size;
  __CV_CUDA_HOST_DEVICE__ PtrSz() : size(0) {}
  __CV_CUDA_HOST_DEVICE__ PtrSz(T *at, size_t count) : DevPtr<T>(at), size(count) {}
};

template <class T>
struct PtrStep : DevPtr<T> {
  size_t step;  // bytes
  __CV_CUDA_HOST_DEVICE__ PtrStep() : step(0) {}
  __CV_CUDA_HOST_DEVICE__ PtrStep(T *at, size_t bytes) : DevPtr<T>(at), step(bytes) {}
  __CV_CUDA_HOST_DEVICE__ T *ptr(int row = 0) {
    return reinterpret_cast<T *>(reinterpret_cast<char *>(this->data) + row * step);
  }
  __CV_CUDA_HOST_DEVICE__ const T *ptr(int row = 0) const {
    return reinterpret_cast<const T *>(reinterpret_cast<const char *>(this->data) + row * step);
  }
  __CV_CUDA_HOST_DEVICE__ T &operator()(int row, int column) { return ptr(row)[column]; }
  __CV_CUDA_HOST_DEVICE__ const T &operator()(int row, int column) const {
    return ptr(row)[column];
  }
};

template <class T>
struct PtrStepSz : PtrStep<T> {
  int cols;
  int rows;
  __CV_CUDA_HOST_DEVICE__ PtrStepSz() : cols(0), rows(0) {}
  __CV_CUDA_HOST_DEVICE__ PtrStepSz(int height, int width, T *at, size_t bytes)
      : PtrStep<T>(at, bytes), cols(width), rows(height) {}
  template <class U>
  explicit PtrStepSz(const PtrStepSz<U> &other)
      : PtrStep<T>((T *)other.data, other.step), cols(other.cols), rows(other.rows) {}
};

typedef PtrStepSz<unsigned char> PtrStepSzb;
typedef PtrStepSz<unsigned short> PtrStepSzus;
typedef PtrStepSz<float> PtrStepSzf;
typedef PtrStepSz<int> PtrStepSzi;
typedef PtrStep<unsigned char> PtrStepb;
typedef PtrStep<unsigned short> PtrStepus;
typedef PtrStep<float> PtrStepf;
typedef PtrStep<int> PtrStepi;

namespace device {
__host__ __device__ __forceinline__ int divUp(int total, int grain) {
  return (total + grain - 1) / grain;
}

template <class T>
struct numeric_limits;
#define OCCLSP_LIMITS(type, least, most)                                   \
  template <>                                                              \
  struct numeric_limits<type> {                                            \
    __device__ __forceinline__ static type(min)() { return least; }        \
    __device__ __forceinline__ static type(max)() { return most; }         \
    static const bool is_signed = (type)(-1) < (type)(0);                      \
  };
OCCLSP_LIMITS(signed char, SCHAR_MIN, SCHAR_MAX)
OCCLSP_LIMITS(unsigned char, 0, UCHAR_MAX)
OCCLSP_LIMITS(short, SHRT_MIN, SHRT_MAX)
OCCLSP_LIMITS(unsigned short, 0, USHRT_MAX)
OCCLSP_LIMITS(int, INT_MIN, INT_MAX)
OCCLSP_LIMITS(unsigned int, 0, UINT_MAX)
#undef OCCLSP_LIMITS
#define OCCLSP_LIMITS(type, name)                                               \
  template <>                                                                   \
  struct numeric_limits<type> {                                                 \
    __device__ __forceinline__ static type(min)() { return name##_MIN; }        \
    __device__ __forceinline__ static type(max)() { return name##_MAX; }        \
    __device__ __forceinline__ static type epsilon() { return name##_EPSILON; } \
    static const bool is_signed = true;                                         \
  };
OCCLSP_LIMITS(float, FLT)
OCCLSP_LIMITS(double, DBL)
#undef OCCLSP_LIMITS

template <class T, int N>
struct TypeVec;
template <class T>
struct VecTraits;
#define OCCLSP_TYPE(type, count, vector) \
  template <>                            \
  struct TypeVec<type, count> {          \
    typedef vector vec_type;             \
  };
#define OCCLSP_TRAITS(vector, element, count, one, parameters, values, loaded)             \
  OCCLSP_TYPE(vector, count, vector)                                                       \
  template <>                                                                              \
  struct VecTraits<vector> {                                                               \
    typedef element elem_type;                                                             \
    enum { cn = count };                                                                   \
    static __device__ __host__ __forceinline__ vector all(element v) { return one; }       \
    static __device__ __host__ __forceinline__ vector make parameters { return values; }   \
    static __device__ __host__ __forceinline__ vector make(const element *v) { return loaded; } \
  };
#define OCCLSP_VECTORS(type, prefix)                                                       \
  OCCLSP_TRAITS(type, type, 1, v, (type x), x, *v)                                         \
  OCCLSP_TRAITS(prefix##1, type, 1, make_##prefix##1(v), (type x), make_##prefix##1(x),    \
                make_##prefix##1(*v))                                                      \
  OCCLSP_TRAITS(prefix##2, type, 2, make_##prefix##2(v, v), (type x, type y),              \
                make_##prefix##2(x, y), make_##prefix##2(v[0], v[1]))                      \
  OCCLSP_TRAITS(prefix##3, type, 3, make_##prefix##3(v, v, v), (type x, type y, type z),   \
                make_##prefix##3(x, y, z), make_##prefix##3(v[0], v[1], v[2]))             \
  OCCLSP_TRAITS(prefix##4, type, 4, make_##prefix##4(v, v, v, v),                          \
                (type x, type y, type z, type w), make_##prefix##4(x, y, z, w),            \
                make_##prefix##4(v[0], v[1], v[2], v[3]))                                  \
  OCCLSP_TYPE(type, 2, prefix##2)                                                          \
  OCCLSP_TYPE(type, 3, prefix##3)                                                          \
  OCCLSP_TYPE(type, 4, prefix##4)
OCCLSP_VECTORS(unsigned char, uchar)
OCCLSP_VECTORS(signed char, char)
OCCLSP_VECTORS(short, short)
OCCLSP_VECTORS(unsigned short, ushort)
OCCLSP_VECTORS(int, int)
OCCLSP_VECTORS(unsigned int, uint)
OCCLSP_VECTORS(float, float)
OCCLSP_VECTORS(double, double)
#undef OCCLSP_VECTORS
#undef OCCLSP_TRAITS
#undef OCCLSP_TYPE
}  // namespace device
}  // namespace cuda
}  // namespace cv

#include "opencv_pixels.h"
