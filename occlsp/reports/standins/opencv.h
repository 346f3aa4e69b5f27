// Stands in for the headers of OpenCV's core where they are missing, as in a module built beside
// it. What kernels are given has the layout and the addressing of the real one; what computes on
// pixels (saturate_cast, borders, vector arithmetic) is left out, so that kernels which need it
// are told as lost, never compiled against something else.
#pragma once
#include <cuda_runtime.h>

#include <cfloat>
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

// What the build writes into opencv_modules.hpp, of the modules that others ask for.
#define HAVE_OPENCV_CUDEV
#define HAVE_OPENCV_CUDAARITHM
#define HAVE_OPENCV_CUDAFILTERS
#define HAVE_OPENCV_CUDAIMGPROC
#define HAVE_OPENCV_CUDALEGACY
#define HAVE_OPENCV_CUDAWARPING
#define CV_EXPORTS
#define CV_EXPORTS_W
#define CV_PI 3.1415926535897932384626433832795
#define CV_PI_F ((float)CV_PI)
#define CV_Assert(x) ((void)(x))
#define CV_DbgAssert(x) ((void)(x))
#define CV_Error(...) ((void)0)
#define CV_OVERRIDE override
#define cudaSafeCall(x) ((void)(x))
#define __CV_CUDA_HOST_DEVICE__ __host__ __device__ __forceinline__

typedef unsigned char uchar;
typedef signed char schar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef long long int64;
typedef unsigned long long uint64;

namespace cv {
using ::int64;
using ::schar;
using ::uchar;
using ::uint;
using ::uint64;
using ::ushort;

namespace Error {
enum Code { StsOk = 0, StsError = -2, StsBadArg = -5, GpuNotSupported = -216, GpuApiCallError = -217 };
}
void error(int code, const std::string &what, const char *function, const char *file, int line);

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

class Stream;
struct StreamAccessor {
  static cudaStream_t getStream(const Stream &);
};

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
OCCLSP_LIMITS(float, FLT_MIN, FLT_MAX)
OCCLSP_LIMITS(double, DBL_MIN, DBL_MAX)
#undef OCCLSP_LIMITS

template <class T, int N>
struct TypeVec;
template <class T>
struct VecTraits;
#define OCCLSP_VECTOR(type, count, vector) \
  template <>                              \
  struct TypeVec<type, count> {            \
    typedef vector vec_type;               \
  };
#define OCCLSP_VECTORS(type, prefix)   \
  OCCLSP_VECTOR(type, 1, type)         \
  OCCLSP_VECTOR(type, 2, prefix##2)    \
  OCCLSP_VECTOR(type, 3, prefix##3)    \
  OCCLSP_VECTOR(type, 4, prefix##4)
OCCLSP_VECTORS(unsigned char, uchar)
OCCLSP_VECTORS(signed char, char)
OCCLSP_VECTORS(short, short)
OCCLSP_VECTORS(unsigned short, ushort)
OCCLSP_VECTORS(int, int)
OCCLSP_VECTORS(unsigned int, uint)
OCCLSP_VECTORS(float, float)
OCCLSP_VECTORS(double, double)
#undef OCCLSP_VECTORS
#undef OCCLSP_VECTOR
}  // namespace device
}  // namespace cuda
}  // namespace cv
