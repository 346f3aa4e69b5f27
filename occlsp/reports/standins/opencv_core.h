// Stands in for what host code uses of OpenCV's core where it is missing: declarations alone, so
// that the launches between them compile. Nothing here is seen by a kernel.
#pragma once
#include <cuda_runtime.h>
#if __has_include(<npp.h>)
#include <npp.h>
#define nppSafeCall(x) ((void)(x))
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#define CV_EXPORTS
#define CV_EXPORTS_W
#define CV_EXPORTS_W_SIMPLE
#define CV_EXPORTS_AS(name)
#define CV_WRAP
#define CV_WRAP_AS(name)
#define CV_PROP
#define CV_PROP_RW
#define CV_OUT
#define CV_IN_OUT
#define CV_OVERRIDE override
#define CV_FINAL final
#define CV_NOEXCEPT noexcept
#define CV_DEPRECATED
#define CV_INLINE static inline
#define CV_Assert(x) ((void)(x))
#define CV_DbgAssert(x) ((void)(x))
#define CV_Error(...) ((void)0)
#define CV_Error_(...) ((void)0)
#define CV_Func __func__
#define CV_UNUSED(x) ((void)(x))
#define CV_MAT_TYPE_MASK 4095
#define CV_LOG_INFO(...) ((void)0)
#define CV_LOG_WARNING(...) ((void)0)
#define CV_LOG_ERROR(...) ((void)0)
#define CV_PI 3.1415926535897932384626433832795
#define CV_PI_F ((float)CV_PI)
#define CV_CN_SHIFT 3
#define CV_CN_MAX 512
#define CV_8U 0
#define CV_8S 1
#define CV_16U 2
#define CV_16S 3
#define CV_32S 4
#define CV_32F 5
#define CV_64F 6
#define CV_16F 7
#define CV_MAT_DEPTH(type) ((type) & 7)
#define CV_MAT_CN(type) ((((type) >> CV_CN_SHIFT) & (CV_CN_MAX - 1)) + 1)
#define CV_MAT_TYPE(type) ((type) & 4095)
#define CV_MAKETYPE(depth, channels) (CV_MAT_DEPTH(depth) + (((channels)-1) << CV_CN_SHIFT))
#define CV_MAKE_TYPE CV_MAKETYPE
#define CV_8UC1 CV_MAKETYPE(CV_8U, 1)
#define CV_8UC2 CV_MAKETYPE(CV_8U, 2)
#define CV_8UC3 CV_MAKETYPE(CV_8U, 3)
#define CV_8UC4 CV_MAKETYPE(CV_8U, 4)
#define CV_16SC1 CV_MAKETYPE(CV_16S, 1)
#define CV_16SC2 CV_MAKETYPE(CV_16S, 2)
#define CV_16UC1 CV_MAKETYPE(CV_16U, 1)
#define CV_32SC1 CV_MAKETYPE(CV_32S, 1)
#define CV_32SC2 CV_MAKETYPE(CV_32S, 2)
#define CV_32SC4 CV_MAKETYPE(CV_32S, 4)
#define CV_32FC1 CV_MAKETYPE(CV_32F, 1)
#define CV_32FC2 CV_MAKETYPE(CV_32F, 2)
#define CV_32FC3 CV_MAKETYPE(CV_32F, 3)
#define CV_32FC4 CV_MAKETYPE(CV_32F, 4)
#define CV_64FC1 CV_MAKETYPE(CV_64F, 1)
#define CV_64FC2 CV_MAKETYPE(CV_64F, 2)

typedef unsigned char uchar;
typedef signed char schar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef int64_t int64;
typedef uint64_t uint64;

namespace cv {
using ::int64;
using ::schar;
using ::uchar;
using ::uint;
using ::uint64;
using ::ushort;
typedef std::string String;
template <class T>
using Ptr = std::shared_ptr<T>;
template <class T, class... A>
Ptr<T> makePtr(const A &...);

namespace Error {
enum Code {
  StsOk = 0, StsInternal = -3, StsError = -2, StsBadArg = -5, StsNotImplemented = -213,
  StsOutOfRange = -211, StsUnsupportedFormat = -210, StsNoMem = -4, GpuNotSupported = -216,
  GpuApiCallError = -217
};
}
String format(const char *, ...);
void error(int code, const String &what, const char *function, const char *file, int line);
struct Exception : std::exception {
  String msg;
};

enum CmpTypes { CMP_EQ, CMP_GT, CMP_GE, CMP_LT, CMP_LE, CMP_NE };
enum NormTypes { NORM_INF = 1, NORM_L1 = 2, NORM_L2 = 4, NORM_L2SQR = 5, NORM_HAMMING = 6, NORM_MINMAX = 32 };
enum BorderTypes {
  BORDER_CONSTANT, BORDER_REPLICATE, BORDER_REFLECT, BORDER_WRAP, BORDER_REFLECT_101,
  BORDER_DEFAULT = BORDER_REFLECT_101
};
enum DecompTypes { DECOMP_LU, DECOMP_SVD, DECOMP_EIG, DECOMP_CHOLESKY, DECOMP_QR };
enum ReduceTypes { REDUCE_SUM, REDUCE_AVG, REDUCE_MAX, REDUCE_MIN };
enum InterpolationFlags { INTER_NEAREST, INTER_LINEAR, INTER_CUBIC, INTER_AREA, INTER_MAX = 7, WARP_INVERSE_MAP = 16 };

template <class T>
struct Point_ {
  T x, y;
  Point_();
  Point_(T, T);
};
typedef Point_<int> Point;
typedef Point_<float> Point2f;
typedef Point_<double> Point2d;
template <class T>
struct Point3_ {
  T x, y, z;
  Point3_();
  Point3_(T, T, T);
};
typedef Point3_<float> Point3f;
template <class T>
struct Size_ {
  T width, height;
  Size_();
  Size_(T, T);
  T area() const;
  bool empty() const;
  bool operator==(const Size_ &) const;
  bool operator!=(const Size_ &) const;
};
typedef Size_<int> Size;
typedef Size_<float> Size2f;
template <class T>
struct Rect_ {
  T x, y, width, height;
  Rect_();
  Rect_(T, T, T, T);
  Size_<T> size() const;
};
typedef Rect_<int> Rect;
struct Range {
  int start, end;
  Range();
  Range(int, int);
  static Range all();
};
template <class T, int N>
struct Vec {
  T val[N];
  T &operator[](int);
  const T &operator[](int) const;
};
typedef Vec<int, 2> Vec2i;
typedef Vec<int, 4> Vec4i;
typedef Vec<float, 2> Vec2f;
typedef Vec<float, 3> Vec3f;
template <class T>
struct Scalar_ : Vec<T, 4> {
  Scalar_();
  Scalar_(T, T = 0, T = 0, T = 0);
  static Scalar_ all(T);
  template <class U>
  operator Scalar_<U>() const;
};
typedef Scalar_<double> Scalar;
struct TermCriteria {
  enum { COUNT = 1, MAX_ITER = 1, EPS = 2 };
  int type, maxCount;
  double epsilon;
  TermCriteria();
  TermCriteria(int, int, double);
};
struct KeyPoint;
struct DMatch;
struct Algorithm {
  virtual ~Algorithm();
};

template <class T>
class DataType;
#define OCCLSP_DATA(type_, depth_, fmt_)                                                          \
  template <>                                                                                     \
  class DataType<type_> {                                                                         \
   public:                                                                                        \
    typedef type_ value_type, work_type, channel_type, vec_type;                                  \
    enum { generic_type = 0, depth = depth_, channels = 1, fmt = fmt_, type = CV_MAKETYPE(depth, 1) }; \
  };
OCCLSP_DATA(uchar, CV_8U, 'u')
OCCLSP_DATA(schar, CV_8S, 'c')
OCCLSP_DATA(char, CV_8S, 'c')
OCCLSP_DATA(ushort, CV_16U, 'w')
OCCLSP_DATA(short, CV_16S, 's')
OCCLSP_DATA(int, CV_32S, 'i')
OCCLSP_DATA(float, CV_32F, 'f')
OCCLSP_DATA(double, CV_64F, 'd')
#undef OCCLSP_DATA
namespace traits {
template <class T>
struct Depth {
  enum { value = DataType<T>::depth };
};
template <class T>
struct Type {
  enum { value = DataType<T>::type };
};
}  // namespace traits

namespace cudev {
template <class T>
class GpuMat_;
}
namespace cuda {
namespace device {
namespace compat {
#if CUDART_VERSION >= 13000
using double4 = ::double4_16a;
using ulonglong4 = ::ulonglong4_16a;
__host__ __device__ __forceinline__ double4 make_double4(double x, double y, double z, double w) {
  return ::make_double4_16a(x, y, z, w);
}
#else
using ::double4;
using ::make_double4;
using ::ulonglong4;
#endif
}  // namespace compat
}  // namespace device

template <class T>
struct PtrStepSz;
template <class T>
struct PtrStep;
class Stream {
 public:
  Stream();
  static Stream &Null();
  void waitForCompletion();
  explicit operator bool() const;
};
struct StreamAccessor {
  static cudaStream_t getStream(const Stream &);
  static Stream wrapStream(cudaStream_t);
};
}  // namespace cuda

// The members that Mat and GpuMat share.
#define OCCLSP_MAT(Self)                                                        \
  int flags, rows, cols;                                                        \
  uchar *data, *datastart;                                                      \
  const uchar *dataend;                                                         \
  Self();                                                                       \
  Self(int, int, int);                                                          \
  Self(Size, int);                                                              \
  Self(int, int, int, Scalar);                                                  \
  Self(Size, int, Scalar);                                                      \
  Self(int, int, int, void *, size_t = 0);                                      \
  Self(Size, int, void *, size_t = 0);                                          \
  Self(const Self &, Rect);                                                     \
  Self(const Self &, Range, Range);                                             \
  Self row(int) const;                                                          \
  Self col(int) const;                                                          \
  Self rowRange(int, int) const;                                                \
  Self rowRange(Range) const;                                                   \
  Self colRange(int, int) const;                                                \
  Self colRange(Range) const;                                                   \
  Self operator()(Rect) const;                                                  \
  Self operator()(Range, Range) const;                                          \
  Self reshape(int, int = 0) const;                                             \
  Self clone() const;                                                           \
  void create(int, int, int);                                                   \
  void create(Size, int);                                                       \
  void release();                                                               \
  void swap(Self &);                                                            \
  Self &adjustROI(int, int, int, int);                                          \
  void locateROI(Size &, Point &) const;                                        \
  bool empty() const;                                                           \
  bool isContinuous() const;                                                    \
  int type() const;                                                             \
  int depth() const;                                                            \
  int channels() const;                                                         \
  size_t elemSize() const;                                                      \
  size_t elemSize1() const;                                                     \
  size_t step1() const;                                                         \
  Size size() const;                                                            \
  uchar *ptr(int = 0);                                                          \
  const uchar *ptr(int = 0) const;                                              \
  template <class T>                                                            \
  T *ptr(int = 0);                                                              \
  template <class T>                                                            \
  const T *ptr(int = 0) const;                                                  \
  template <class... A>                                                         \
  Self &setTo(const A &...);                                                    \
  template <class... A>                                                         \
  void copyTo(A &&...) const;                                                   \
  template <class... A>                                                         \
  void convertTo(A &&...) const;

class Mat {
 public:
  enum { AUTO_STEP = 0 };
  OCCLSP_MAT(Mat)
  size_t step;
  template <class T>
  T &at(int, int = 0) const;
};
template <class T>
class Mat_ : public Mat {
 public:
  using Mat::Mat;
};

namespace cuda {
class GpuMat {
 public:
  struct Allocator;
  static Allocator *defaultAllocator();
  OCCLSP_MAT(GpuMat)
  size_t step;
  explicit GpuMat(Allocator *);
  GpuMat(int, int, int, Allocator *);
  GpuMat(Size, int, Allocator *);
  GpuMat(int, int, int, Scalar, Allocator *);
  GpuMat(Size, int, Scalar, Allocator *);
  explicit GpuMat(const Mat &, Allocator * = nullptr);
  template <class... A>
  void upload(const A &...);
  template <class... A>
  void download(A &&...) const;
  template <class T>
  operator PtrStepSz<T>() const;
  template <class T>
  operator PtrStep<T>() const;
};
class HostMem;
class GpuMatND;
class Event;
struct DeviceInfo {
  DeviceInfo();
  int multiProcessorCount() const;
  bool supports(int) const;
  size_t sharedMemPerBlock() const;
};
enum FeatureSet {
  FEATURE_SET_COMPUTE_10 = 10, FEATURE_SET_COMPUTE_20 = 20, FEATURE_SET_COMPUTE_30 = 30,
  FEATURE_SET_COMPUTE_35 = 35, SHARED_ATOMICS = 12, NATIVE_DOUBLE = 13
};
bool deviceSupports(FeatureSet);
struct ThrustAllocator {
  typedef uchar value_type;
  static ThrustAllocator &getAllocator();
  uchar *allocate(ptrdiff_t);
  void deallocate(uchar *, size_t);
};
struct TargetArchs {
  static bool builtWith(FeatureSet);
};
int getDevice();
}  // namespace cuda

class _InputArray {
 public:
  enum KindFlag { FIXED_TYPE = 0x8000 << 16, FIXED_SIZE = 0x4000 << 16, CUDA_GPU_MAT = 9 << 16 };
  int flags;
  void *obj;
  _InputArray();
  template <class T>
  _InputArray(const T &);
  template <class T>
  _InputArray(const cudev::GpuMat_<T> &);
  Mat getMat(int = -1) const;
  cuda::GpuMat getGpuMat() const;
  int type(int = -1) const;
  int depth(int = -1) const;
  int channels(int = -1) const;
  int rows(int = -1) const;
  int cols(int = -1) const;
  Size size(int = -1) const;
  bool empty() const;
  bool isGpuMat() const;
  int kind() const;
};
class _OutputArray : public _InputArray {
 public:
  using _InputArray::_InputArray;
  _OutputArray();
  template <class T>
  _OutputArray(cudev::GpuMat_<T> &);
  template <class T>
  _OutputArray(const cudev::GpuMat_<T> &);
  template <class... A>
  void create(const A &...) const;
  cuda::GpuMat &getGpuMatRef() const;
  Mat &getMatRef(int = -1) const;
  bool needed() const;
  void release() const;
};
class _InputOutputArray : public _OutputArray {
 public:
  using _OutputArray::_OutputArray;
};
typedef const _InputArray &InputArray;
typedef InputArray InputArrayOfArrays;
typedef const _OutputArray &OutputArray;
typedef OutputArray OutputArrayOfArrays;
typedef const _InputOutputArray &InputOutputArray;
typedef InputOutputArray InputOutputArrayOfArrays;
const _InputOutputArray &noArray();

namespace cuda {
// What core/private.cuda.hpp has for the modules.
GpuMat getInputMat(InputArray, Stream &);
GpuMat getOutputMat(OutputArray, int, int, int, Stream &);
GpuMat getOutputMat(OutputArray, Size, int, Stream &);
void syncOutput(const GpuMat &, OutputArray, Stream &);
#if __has_include(<npp.h>)
struct NppStreamHandler {
  explicit NppStreamHandler(cudaStream_t);
  explicit NppStreamHandler(Stream &);
  operator NppStreamContext() const;
};
#endif
struct BufferPool {
  explicit BufferPool(Stream &);
  GpuMat getBuffer(int, int, int);
  GpuMat getBuffer(Size, int);
  GpuMat::Allocator *getAllocator();
};
void createContinuous(int, int, int, OutputArray);
void ensureSizeIsEnough(int, int, int, OutputArray);
void ensureSizeIsEnough(Size, int, OutputArray);
}  // namespace cuda
int cvRound(double);
int cvFloor(double);
int cvCeil(double);
}  // namespace cv
using cv::cvCeil;
using cv::cvFloor;
using cv::cvRound;
