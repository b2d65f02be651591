// Making and running inner products of oneDNN.
#include "backend/vendor/products.h"

#include <fmt/format.h>

#include <array>
#include <mutex>
#include <set>

#include "base/check.h"

// OpenMP's own interface; its header is the compiler's, and clang's may lack.
extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int num_threads);
}

namespace verbatim::vendor {
namespace {

using dnnl::inner_product_forward;
using dnnl::memory;

// The row count for which the packed form is chosen. Every implementation of oneDNN 2.6 that packs
// chooses the same for any; PrepareLinear's products are made with it, whatever their rows.
constexpr int kPackedForRows = 16;

memory::data_type DataType(ProductType type) {
  return type == ProductType::kF32 ? memory::data_type::f32 : memory::data_type::bf16;
}

memory::desc Rows(memory::data_type type, int64_t rows, int64_t cols) {
  return {{rows, cols}, type, memory::format_tag::ab};
}

inner_product_forward::primitive_desc Describe(ProductType type, int64_t num_rows,
                                               const memory::desc& weights) {
  const int64_t outputs = weights.dims()[0];
  const inner_product_forward::desc desc(dnnl::prop_kind::forward_inference,
                                         Rows(DataType(type), num_rows, weights.dims()[1]), weights,
                                         Rows(memory::data_type::f32, num_rows, outputs));
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {desc, attributes, CpuEngine()};
}

// Records outlive the products whose names they hold.
std::string_view Intern(std::string name) {
  static std::mutex mutex;
  static auto* const names = new std::set<std::string>;  // never destroyed
  const std::lock_guard lock(mutex);
  return *names->insert(std::move(name)).first;
}

}  // namespace

std::string LibraryVersion() {
  const dnnl::version_t& version = *dnnl::version();
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

bool HasFastBf16() {
  // A level's bits include those of the levels below it.
  const auto bf16 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bf16) == bf16;
}

const dnnl::engine& CpuEngine() {
  static const auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

memory::desc PlainWeights(ProductType type, int64_t num_outputs, int64_t in_features) {
  return Rows(DataType(type), num_outputs, in_features);
}

memory::desc PackedWeights(ProductType type, int64_t num_outputs, int64_t in_features) {
  const memory::desc any({num_outputs, in_features}, DataType(type), memory::format_tag::any);
  return Describe(type, kPackedForRows, any).weights_desc();
}

int64_t ElementOffset(const memory::desc& desc, int64_t n, int64_t k) {
  const dnnl_blocking_desc_t& blocking = desc.data.format_desc.blocking;
  std::array<int64_t, 2> block = {1, 1};  // all inner blocks of a dimension together
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    block[static_cast<size_t>(blocking.inner_idxs[i])] *= blocking.inner_blks[i];
  }
  std::array<int64_t, 2> inside = {n % block[0], k % block[1]};
  int64_t offset = n / block[0] * blocking.strides[0] + k / block[1] * blocking.strides[1];
  int64_t stride = 1;
  for (int i = blocking.inner_nblks - 1; i >= 0; --i) {  // the last block is the innermost
    int64_t& position = inside[static_cast<size_t>(blocking.inner_idxs[i])];
    offset += position % blocking.inner_blks[i] * stride;
    position /= blocking.inner_blks[i];
    stride *= blocking.inner_blks[i];
  }
  return offset;
}

OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }

Products::Product& Products::Find(const ProductShape& shape, const memory::desc& weights) {
  const auto [place, is_new] = products_.try_emplace(shape.Key());
  Product& product = place->second;
  if (!is_new) return product;
  const auto desc = Describe(shape.type, shape.num_rows, weights);
  product.primitive = inner_product_forward(desc);
  product.x = memory(desc.src_desc(), CpuEngine(), DNNL_MEMORY_NONE);
  product.y = memory(desc.dst_desc(), CpuEngine(), DNNL_MEMORY_NONE);
  product.scratch = desc.scratchpad_desc();
  product.kernel = Intern(desc.impl_info_str());
  const size_t bytes = product.scratch.get_size();
  if (bytes > scratch_.size()) scratch_ = AlignedBuffer<std::byte>(bytes);
  return product;
}

std::string_view Products::Run(const ProductShape& shape, const void* x, const memory& weights,
                               float* y) {
  const OneThread one_thread;
  if (stream_ == nullptr) stream_ = std::make_unique<dnnl::stream>(CpuEngine());
  Product& product = Find(shape, weights.get_desc());
  product.x.set_data_handle(const_cast<void*>(x));
  product.y.set_data_handle(y);
  const memory scratch(product.scratch, CpuEngine(), scratch_.data());
  const std::array<dnnl_exec_arg_t, 4> arguments = {{{DNNL_ARG_SRC, product.x.get()},
                                                     {DNNL_ARG_WEIGHTS, weights.get()},
                                                     {DNNL_ARG_DST, product.y.get()},
                                                     {DNNL_ARG_SCRATCHPAD, scratch.get()}}};
  const dnnl_status_t status =
      dnnl_primitive_execute(product.primitive.get(), stream_->get(),
                             static_cast<int>(arguments.size()), arguments.data());
  VERBATIM_CHECK(status == dnnl_success);
  return product.kernel;
}

}  // namespace verbatim::vendor
