// Stands in for PyTorch's headers where they are missing: enough for kernels, and for the host
// code around them to name the instantiations that it launches. Host functions are declared only,
// for nothing of the host is compiled. What device code computes with (Half, BFloat16, accessors,
// Philox) has the layout and the arithmetic of the real ones, so that its registers are the same.
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 9
#define TORCH_VERSION_PATCH 0
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_ALWAYS_INLINE __attribute__((__always_inline__)) inline
#define C10_LIKELY(x) (__builtin_expect(static_cast<bool>(x), 1))
#define C10_UNLIKELY(x) (__builtin_expect(static_cast<bool>(x), 0))
#define C10_RESTRICT __restrict
#define C10_UNUSED __attribute__((__unused__))
#define C10_NODISCARD [[nodiscard]]
#define C10_EXPORT
#define C10_API
#define TORCH_API
#define TORCH_CUDA_CU_API
#define TORCH_CUDA_CPP_API
#define C10_WARP_SIZE 32

#if __CUDA_ARCH__ == 750
#define CUDA_MAX_THREADS_PER_SM 1024
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
#define CUDA_MAX_THREADS_PER_SM 1536
#else
#define CUDA_MAX_THREADS_PER_SM 2048
#endif
#define CUDA_MAX_THREADS_PER_BLOCK 1024
#define CUDA_THREADS_PER_BLOCK_FALLBACK 256
#define C10_MAX_THREADS_PER_BLOCK(val) \
  (((val) <= CUDA_MAX_THREADS_PER_BLOCK) ? (val) : CUDA_THREADS_PER_BLOCK_FALLBACK)
#define C10_MIN_BLOCKS_PER_SM(threads, blocks)                  \
  ((((threads) * (blocks) <= CUDA_MAX_THREADS_PER_SM)           \
        ? (blocks)                                              \
        : ((CUDA_MAX_THREADS_PER_SM + (threads)-1) / (threads))))
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(max) __launch_bounds__((C10_MAX_THREADS_PER_BLOCK((max))))
#define C10_LAUNCH_BOUNDS_2(max, min)                              \
  __launch_bounds__((C10_MAX_THREADS_PER_BLOCK((max))), \
                    (C10_MIN_BLOCKS_PER_SM((max), (min))))

#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                \
  int64_t _i_n_d_e_x = ((int64_t)blockIdx.x) * blockDim.x + threadIdx.x;       \
  for (index_type i = _i_n_d_e_x; _i_n_d_e_x < (n);                            \
       _i_n_d_e_x += blockDim.x * gridDim.x, i = _i_n_d_e_x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
#define CUDA_KERNEL_ASSERT(cond)
#define CUDA_KERNEL_ASSERT2(cond)

#define TORCH_CHECK(...) ((void)0)
#define TORCH_CHECK_EQ(...) ((void)0)
#define TORCH_INTERNAL_ASSERT(...) ((void)0)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) ((void)0)
#define TORCH_CHECK_NOT_IMPLEMENTED(...) ((void)0)
#define TORCH_CHECK_ARG(...) ((void)0)
#define TORCH_WARN(...) ((void)0)
#define TORCH_WARN_ONCE(...) ((void)0)
#define AT_ASSERT(...) ((void)0)
#define AT_ASSERTM(...) ((void)0)
#define AT_CHECK(...) ((void)0)
#define AT_ERROR(...) ((void)0)
#define C10_CUDA_CHECK(expression) ((void)(expression))
#define C10_CUDA_CHECK_WARN(expression) ((void)(expression))
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)0)
#define AT_CUDA_CHECK(expression) ((void)(expression))
#define AT_CUDABLAS_CHECK(expression) ((void)0)
#define AT_CUDA_DRIVER_CHECK(expression) ((void)0)

#define OCCLSP_JOIN_(a, b) a##b
#define OCCLSP_JOIN(a, b) OCCLSP_JOIN_(a, b)
#define TORCH_LIBRARY(ns, m) \
  static void OCCLSP_JOIN(occlsp_library_, __COUNTER__)(torch::Library & m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) TORCH_LIBRARY(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) TORCH_LIBRARY(ns, m)
#define PYBIND11_MODULE(name, m) \
  static void OCCLSP_JOIN(occlsp_module_, __COUNTER__)(pybind11::module_ & m)

namespace c10 {

struct alignas(2) Half {
  unsigned short x;
  struct from_bits_t {};
  static constexpr C10_HOST_DEVICE from_bits_t from_bits() { return from_bits_t(); }
  Half() = default;
  constexpr C10_HOST_DEVICE Half(unsigned short bits, from_bits_t) : x(bits) {}
  C10_HOST_DEVICE Half(float value) : x(__half_as_short(__float2half(value))) {}
  C10_HOST_DEVICE operator float() const {
    return __half2float(*reinterpret_cast<const __half*>(&x));
  }
  C10_HOST_DEVICE Half(const __half& value) {
    x = *reinterpret_cast<const unsigned short*>(&value);
  }
  C10_HOST_DEVICE operator __half() const { return *reinterpret_cast<const __half*>(&x); }
};

struct alignas(2) BFloat16 {
  unsigned short x;
  struct from_bits_t {};
  static constexpr C10_HOST_DEVICE from_bits_t from_bits() { return from_bits_t(); }
  BFloat16() = default;
  constexpr C10_HOST_DEVICE BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
  C10_HOST_DEVICE BFloat16(float value) : x(__bfloat16_as_ushort(__float2bfloat16(value))) {}
  C10_HOST_DEVICE operator float() const {
    return __bfloat162float(*reinterpret_cast<const __nv_bfloat16*>(&x));
  }
  C10_HOST_DEVICE BFloat16(const __nv_bfloat16& value) {
    x = *reinterpret_cast<const unsigned short*>(&value);
  }
  C10_HOST_DEVICE explicit operator __nv_bfloat16() const {
    return *reinterpret_cast<const __nv_bfloat16*>(&x);
  }
};

#define OCCLSP_SMALL_FLOAT(T)                                                               \
  C10_HOST_DEVICE inline T operator+(const T& a, const T& b) { return float(a) + float(b); } \
  C10_HOST_DEVICE inline T operator-(const T& a, const T& b) { return float(a) - float(b); } \
  C10_HOST_DEVICE inline T operator*(const T& a, const T& b) { return float(a) * float(b); } \
  C10_HOST_DEVICE inline T operator/(const T& a, const T& b) { return float(a) / float(b); } \
  C10_HOST_DEVICE inline T operator-(const T& a) { return -float(a); }                      \
  C10_HOST_DEVICE inline T& operator+=(T& a, const T& b) { return a = a + b; }              \
  C10_HOST_DEVICE inline T& operator-=(T& a, const T& b) { return a = a - b; }              \
  C10_HOST_DEVICE inline T& operator*=(T& a, const T& b) { return a = a * b; }              \
  C10_HOST_DEVICE inline T& operator/=(T& a, const T& b) { return a = a / b; }              \
  OCCLSP_MIXED(T, float, float)                                                             \
  OCCLSP_MIXED(T, double, double)                                                           \
  OCCLSP_MIXED(T, int, T)                                                                   \
  OCCLSP_MIXED(T, int64_t, T)
#define OCCLSP_MIXED(T, U, R)                                                                \
  C10_HOST_DEVICE inline R operator+(T a, U b) { return static_cast<R>(a) + static_cast<R>(b); } \
  C10_HOST_DEVICE inline R operator-(T a, U b) { return static_cast<R>(a) - static_cast<R>(b); } \
  C10_HOST_DEVICE inline R operator*(T a, U b) { return static_cast<R>(a) * static_cast<R>(b); } \
  C10_HOST_DEVICE inline R operator/(T a, U b) { return static_cast<R>(a) / static_cast<R>(b); } \
  C10_HOST_DEVICE inline R operator+(U a, T b) { return static_cast<R>(a) + static_cast<R>(b); } \
  C10_HOST_DEVICE inline R operator-(U a, T b) { return static_cast<R>(a) - static_cast<R>(b); } \
  C10_HOST_DEVICE inline R operator*(U a, T b) { return static_cast<R>(a) * static_cast<R>(b); } \
  C10_HOST_DEVICE inline R operator/(U a, T b) { return static_cast<R>(a) / static_cast<R>(b); }
OCCLSP_SMALL_FLOAT(Half)
OCCLSP_SMALL_FLOAT(BFloat16)

enum class ScalarType : int8_t {
  Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble,
  Bool, QInt8, QUInt8, QInt32, BFloat16, Undefined
};
template <ScalarType> struct CppType;
template <class> struct ScalarTypeOf;
#define OCCLSP_SCALAR(name, type)                                         \
  template <> struct CppType<ScalarType::name> { using type_t = type; };  \
  template <> struct ScalarTypeOf<type> { static constexpr ScalarType value = ScalarType::name; }; \
  constexpr ScalarType k##name = ScalarType::name;
OCCLSP_SCALAR(Byte, uint8_t)
OCCLSP_SCALAR(Char, int8_t)
OCCLSP_SCALAR(Short, int16_t)
OCCLSP_SCALAR(Int, int)
OCCLSP_SCALAR(Long, int64_t)
OCCLSP_SCALAR(Half, Half)
OCCLSP_SCALAR(Float, float)
OCCLSP_SCALAR(Double, double)
OCCLSP_SCALAR(Bool, bool)
OCCLSP_SCALAR(BFloat16, BFloat16)
constexpr ScalarType kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong, kUInt8 = kByte;
constexpr ScalarType kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble;
template <class T> using CppTypeToScalarType = ScalarTypeOf<T>;
std::ostream& operator<<(std::ostream&, ScalarType);

template <class T> using optional = std::optional<T>;
using std::nullopt;
template <class T> using intrusive_ptr = std::shared_ptr<T>;
template <class T> struct ArrayRef {
  ArrayRef();
  ArrayRef(std::initializer_list<T>);
  ArrayRef(const std::vector<T>&);
  size_t size() const;
  const T* data() const;
  const T* begin() const;
  const T* end() const;
  const T& operator[](size_t) const;
  std::vector<T> vec() const;
  bool operator==(const ArrayRef&) const;
  bool operator!=(const ArrayRef&) const;
};
using IntArrayRef = ArrayRef<int64_t>;

enum class DeviceType : int8_t { CPU, CUDA };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;
using DeviceIndex = int8_t;
struct Device {
  Device(DeviceType, DeviceIndex = -1);
  Device(const std::string&);
  DeviceIndex index() const;
  DeviceType type() const;
  bool is_cuda() const;
  bool is_cpu() const;
  bool operator==(const Device&) const;
  bool operator!=(const Device&) const;
};
enum class Layout : int8_t { Strided, Sparse };
constexpr Layout kStrided = Layout::Strided;
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
struct TypeMeta {
  operator ScalarType() const;
  ScalarType toScalarType() const;
  size_t itemsize() const;
};
bool operator==(TypeMeta, ScalarType);
bool operator!=(TypeMeta, ScalarType);
std::ostream& operator<<(std::ostream&, TypeMeta);
std::ostream& operator<<(std::ostream&, const Device&);
struct TensorOptions {
  TensorOptions();
  TensorOptions(ScalarType);
  TensorOptions(DeviceType);
  TensorOptions(Device);
  TensorOptions dtype(ScalarType) const;
  TypeMeta dtype() const;
  TensorOptions device(Device) const;
  TensorOptions device(DeviceType, DeviceIndex = -1) const;
  Device device() const;
  TensorOptions layout(Layout) const;
  TensorOptions requires_grad(bool = true) const;
  TensorOptions memory_format(MemoryFormat) const;
};
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
std::ostream& operator<<(std::ostream&, const TensorOptions&);
struct Scalar {
  template <class T> Scalar(T);
  template <class T> T to() const;
  double toDouble() const;
  float toFloat() const;
  int toInt() const;
};
template <class T> C10_HOST_DEVICE constexpr T divup(T a, T b) { return (a + b - 1) / b; }

namespace cuda {
struct CUDAStream {
  operator cudaStream_t() const;
  cudaStream_t stream() const;
  DeviceIndex device_index() const;
  void synchronize() const;
  bool query() const;
};
CUDAStream getCurrentCUDAStream(DeviceIndex = -1);
CUDAStream getDefaultCUDAStream(DeviceIndex = -1);
CUDAStream getStreamFromPool(bool = false, DeviceIndex = -1);
void setCurrentCUDAStream(CUDAStream);
struct CUDAGuard {
  template <class T> explicit CUDAGuard(T&&);
  void set_index(DeviceIndex);
};
struct OptionalCUDAGuard {
  OptionalCUDAGuard();
  template <class T> explicit OptionalCUDAGuard(T&&);
};
struct CUDAStreamGuard { explicit CUDAStreamGuard(CUDAStream); };
DeviceIndex current_device();
int device_count();
}  // namespace cuda
}  // namespace c10

namespace std {
template <> struct numeric_limits<c10::Half> {
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false;
  static constexpr C10_HOST_DEVICE c10::Half bits(unsigned short b) { return c10::Half(b, c10::Half::from_bits()); }
  static constexpr C10_HOST_DEVICE c10::Half min() { return bits(0x0400); }
  static constexpr C10_HOST_DEVICE c10::Half lowest() { return bits(0xFBFF); }
  static constexpr C10_HOST_DEVICE c10::Half max() { return bits(0x7BFF); }
  static constexpr C10_HOST_DEVICE c10::Half epsilon() { return bits(0x1400); }
  static constexpr C10_HOST_DEVICE c10::Half infinity() { return bits(0x7C00); }
  static constexpr C10_HOST_DEVICE c10::Half quiet_NaN() { return bits(0x7E00); }
};
template <> struct numeric_limits<c10::BFloat16> {
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false;
  static constexpr C10_HOST_DEVICE c10::BFloat16 bits(unsigned short b) { return c10::BFloat16(b, c10::BFloat16::from_bits()); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 min() { return bits(0x0080); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 lowest() { return bits(0xFF7F); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 max() { return bits(0x7F7F); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 epsilon() { return bits(0x3C00); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 infinity() { return bits(0x7F80); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 quiet_NaN() { return bits(0x7FC0); }
};
}  // namespace std

namespace at {
using namespace c10;
using c10::BFloat16;
using c10::Half;

template <class T> struct DefaultPtrTraits { typedef T* PtrType; };
template <class T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };

template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
struct TensorAccessor {
  typedef typename Traits<T>::PtrType PtrType;
  C10_HOST_DEVICE TensorAccessor(PtrType data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  C10_HOST_DEVICE TensorAccessor<T, N - 1, Traits, Index> operator[](Index i) const {
    return TensorAccessor<T, N - 1, Traits, Index>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }
  C10_HOST_DEVICE Index size(Index i) const { return sizes_[i]; }
  C10_HOST_DEVICE Index stride(Index i) const { return strides_[i]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }
  PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};
template <class T, template <class> class Traits, class Index>
struct TensorAccessor<T, 1, Traits, Index> {
  typedef typename Traits<T>::PtrType PtrType;
  C10_HOST_DEVICE TensorAccessor(PtrType data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  C10_HOST_DEVICE T& operator[](Index i) const { return data_[strides_[0] * i]; }
  C10_HOST_DEVICE Index size(Index i) const { return sizes_[i]; }
  C10_HOST_DEVICE Index stride(Index i) const { return strides_[i]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }
  PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
struct GenericPackedTensorAccessor {
  typedef typename Traits<T>::PtrType PtrType;
  C10_HOST_DEVICE decltype(auto) operator[](Index i) const {
    if constexpr (N == 1) {
      return static_cast<T&>(data_[strides_[0] * i]);
    } else {
      return TensorAccessor<T, N - 1, Traits, Index>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
    }
  }
  C10_HOST_DEVICE Index size(Index i) const { return sizes_[i]; }
  C10_HOST_DEVICE Index stride(Index i) const { return strides_[i]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }
  PtrType data_;
  Index sizes_[N];
  Index strides_[N];
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, Index>;

struct DeprecatedTypeProperties {
  ScalarType scalarType() const;
  bool is_cuda() const;
  operator TensorOptions() const;
};

class Tensor {
 public:
  template <class T> T* data_ptr() const;
  void* data_ptr() const;
  template <class T> T* data() const;
  template <class T> T* mutable_data_ptr() const;
  void* mutable_data_ptr() const;
  template <class T> const T* const_data_ptr() const;
  const void* const_data_ptr() const;
  int64_t size(int64_t) const;
  int64_t stride(int64_t) const;
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  int64_t numel() const;
  int64_t dim() const;
  int64_t ndimension() const;
  int64_t element_size() const;
  int64_t itemsize() const;
  size_t nbytes() const;
  int64_t storage_offset() const;
  DeviceIndex get_device() const;
  bool is_cuda() const;
  bool is_cpu() const;
  bool is_contiguous(MemoryFormat = MemoryFormat::Contiguous) const;
  bool is_floating_point() const;
  bool is_sparse() const;
  bool defined() const;
  bool requires_grad() const;
  bool has_value() const;
  ScalarType scalar_type() const;
  TypeMeta dtype() const;
  TensorOptions options() const;
  Device device() const;
  DeprecatedTypeProperties type() const;
  Tensor view(IntArrayRef) const;
  Tensor reshape(IntArrayRef) const;
  Tensor expand(IntArrayRef) const;
  Tensor permute(IntArrayRef) const;
  Tensor repeat(IntArrayRef) const;
  Tensor resize_(IntArrayRef) const;
  Tensor sum(IntArrayRef) const;
  Tensor operator[](int64_t) const;
  template <class T> T item() const;
  Scalar item() const;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, Traits> packed_accessor32() const;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, Traits> packed_accessor64() const;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
  PackedTensorAccessor<T, N, Traits, Index> packed_accessor() const;
  template <class T, size_t N> TensorAccessor<T, N> accessor() const;
#define OCCLSP_TENSOR(name) template <class... A> Tensor name(A&&...) const;
  OCCLSP_TENSOR(contiguous) OCCLSP_TENSOR(to) OCCLSP_TENSOR(flatten) OCCLSP_TENSOR(transpose)
  OCCLSP_TENSOR(t) OCCLSP_TENSOR(unsqueeze) OCCLSP_TENSOR(squeeze) OCCLSP_TENSOR(clone)
  OCCLSP_TENSOR(zero_) OCCLSP_TENSOR(fill_) OCCLSP_TENSOR(copy_) OCCLSP_TENSOR(narrow)
  OCCLSP_TENSOR(select) OCCLSP_TENSOR(slice) OCCLSP_TENSOR(cpu) OCCLSP_TENSOR(cuda)
  OCCLSP_TENSOR(detach) OCCLSP_TENSOR(sum) OCCLSP_TENSOR(max) OCCLSP_TENSOR(min)
  OCCLSP_TENSOR(mean) OCCLSP_TENSOR(cumsum) OCCLSP_TENSOR(index) OCCLSP_TENSOR(view_as)
  OCCLSP_TENSOR(mul_) OCCLSP_TENSOR(add_) OCCLSP_TENSOR(half) OCCLSP_TENSOR(toType)
  OCCLSP_TENSOR(view) OCCLSP_TENSOR(reshape) OCCLSP_TENSOR(matmul) OCCLSP_TENSOR(record_stream)
};
std::ostream& operator<<(std::ostream&, const Tensor&);
#define OCCLSP_FACTORY(name)                                             \
  Tensor name(IntArrayRef, TensorOptions = {});                          \
  template <class... A> Tensor name(A&&...);
OCCLSP_FACTORY(empty) OCCLSP_FACTORY(zeros) OCCLSP_FACTORY(ones) OCCLSP_FACTORY(full)
OCCLSP_FACTORY(rand) OCCLSP_FACTORY(randn) OCCLSP_FACTORY(arange) OCCLSP_FACTORY(tensor)
OCCLSP_FACTORY(empty_like) OCCLSP_FACTORY(zeros_like) OCCLSP_FACTORY(ones_like)
OCCLSP_FACTORY(from_blob) OCCLSP_FACTORY(empty_strided) OCCLSP_FACTORY(cat) OCCLSP_FACTORY(stack)

template <class T> struct opmath { using type = T; };
template <> struct opmath<Half> { using type = float; };
template <> struct opmath<BFloat16> { using type = float; };
template <class T> using opmath_type = typename opmath<T>::type;
template <class T, bool> struct AccumulateType {
  using type = std::conditional_t<std::is_integral_v<T>, int64_t, opmath_type<T>>;
};
template <class T, bool is_cuda> using acc_type = typename AccumulateType<T, is_cuda>::type;
template <class T> C10_HOST_DEVICE constexpr T ceil_div(T a, T b) { return (a + b - 1) / b; }

struct PhiloxCudaState {
  PhiloxCudaState() = default;
  PhiloxCudaState(uint64_t seed, uint64_t offset);
  union Payload { uint64_t val; int64_t* ptr; };
  Payload seed_{};
  Payload offset_{};
  uint32_t offset_intragraph_ = 0;
  bool captured_ = false;
};
struct Generator { std::mutex& mutex(); };
struct CUDAGeneratorImpl : Generator {
  PhiloxCudaState philox_cuda_state(uint64_t);
  std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t);
};
template <class T> T* get_generator_or_default(const std::optional<Generator>&, const Generator&);
template <class T> T* check_generator(const std::optional<Generator>&);

namespace cuda {
using namespace c10::cuda;
cudaDeviceProp* getCurrentDeviceProperties();
cudaDeviceProp* getDeviceProperties(int64_t);
int warp_size();
namespace detail { const Generator& getDefaultCUDAGenerator(DeviceIndex = -1); }
namespace philox {
__device__ inline std::tuple<uint64_t, uint64_t> unpack(PhiloxCudaState arg) {
  if (arg.captured_) {
    return std::make_tuple(static_cast<uint64_t>(*arg.seed_.ptr),
                           static_cast<uint64_t>(*(arg.offset_.ptr) + arg.offset_intragraph_));
  }
  return std::make_tuple(arg.seed_.val, arg.offset_.val);
}
}  // namespace philox
}  // namespace cuda

inline ScalarType scalar_type(ScalarType t) { return t; }
ScalarType scalar_type(const DeprecatedTypeProperties&);
ScalarType scalar_type(TypeMeta);
}  // namespace at

namespace torch {
using namespace at;
namespace autograd { using Variable = at::Tensor; }
struct Library { template <class... A> Library& def(A&&...); template <class... A> Library& impl(A&&...); };
namespace headeronly = c10;
}  // namespace torch

namespace pybind11 {
struct module_ { template <class... A> module_& def(A&&...); };
using module = module_;
struct arg { arg(const char*); template <class T> arg& operator=(T&&); };
namespace literals { arg operator""_a(const char*, size_t); }
}  // namespace pybind11
namespace py = pybind11;

#define AT_DISPATCH_CASE(which, ...)                                                      \
  case which: {                                                                           \
    using scalar_t [[maybe_unused]] = typename c10::CppType<which>::type_t;               \
    return __VA_ARGS__();                                                                 \
  }
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)      \
  [&] {                                          \
    switch (at::scalar_type(TYPE)) {             \
      __VA_ARGS__                                \
      default: break;                            \
    }                                            \
  }()
#define OCCLSP_FLOATING(...)                               \
  AT_DISPATCH_CASE(c10::ScalarType::Double, __VA_ARGS__) \
  AT_DISPATCH_CASE(c10::ScalarType::Float, __VA_ARGS__)
#define OCCLSP_INTEGRAL(...)                               \
  AT_DISPATCH_CASE(c10::ScalarType::Byte, __VA_ARGS__)   \
  AT_DISPATCH_CASE(c10::ScalarType::Char, __VA_ARGS__)   \
  AT_DISPATCH_CASE(c10::ScalarType::Int, __VA_ARGS__)    \
  AT_DISPATCH_CASE(c10::ScalarType::Long, __VA_ARGS__)   \
  AT_DISPATCH_CASE(c10::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) OCCLSP_FLOATING(__VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) OCCLSP_INTEGRAL(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) OCCLSP_INTEGRAL(__VA_ARGS__) OCCLSP_FLOATING(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(T, NAME, ...) \
  AT_DISPATCH_SWITCH(T, NAME, OCCLSP_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(A, T, NAME, ...) \
  AT_DISPATCH_SWITCH(T, NAME, OCCLSP_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, T, NAME, ...)                                  \
  AT_DISPATCH_SWITCH(T, NAME, OCCLSP_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
                                  AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(T, NAME, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(c10::ScalarType::Half, T, NAME, __VA_ARGS__)
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(T, NAME, ...)                            \
  AT_DISPATCH_SWITCH(T, NAME, AT_DISPATCH_CASE(c10::ScalarType::Half, __VA_ARGS__) \
                                  AT_DISPATCH_CASE(c10::ScalarType::BFloat16, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(T, NAME, ...) \
  AT_DISPATCH_SWITCH(T, NAME, OCCLSP_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_INDEX_TYPES(T, NAME, ...)                                                  \
  AT_DISPATCH_SWITCH(T, NAME, OCCLSP_INDEX(c10::ScalarType::Int, __VA_ARGS__)               \
                                  OCCLSP_INDEX(c10::ScalarType::Long, __VA_ARGS__))
#define OCCLSP_INDEX(which, ...)                                                          \
  case which: {                                                                           \
    using index_t [[maybe_unused]] = typename c10::CppType<which>::type_t;                \
    return __VA_ARGS__();                                                                 \
  }
#define AT_DISPATCH_ALL_TYPES(T, NAME, ...) \
  AT_DISPATCH_SWITCH(T, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, T, NAME, ...) \
  AT_DISPATCH_SWITCH(T, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, T, NAME, ...)                                            \
  AT_DISPATCH_SWITCH(T, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
                                  AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_HALF(T, NAME, ...) \
  AT_DISPATCH_ALL_TYPES_AND(c10::ScalarType::Half, T, NAME, __VA_ARGS__)
