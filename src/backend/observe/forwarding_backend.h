// ForwardingBackend: a backend in front of another one. What overrides a method sees or changes
// that op alone. Changes nothing by itself.
#ifndef VERBATIM_BACKEND_OBSERVE_FORWARDING_BACKEND_H_
#define VERBATIM_BACKEND_OBSERVE_FORWARDING_BACKEND_H_

#include <memory>
#include <utility>

#include "ops/backend.h"

namespace verbatim {

class ForwardingBackend : public ops::Backend {
 public:
  explicit ForwardingBackend(std::unique_ptr<ops::Backend> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  std::string_view target() const override { return inner_->target(); }
  std::string_view numerics() const override { return inner_->numerics(); }
  std::string_view variance() const override { return inner_->variance(); }
  Expected<std::unique_ptr<ops::DeviceBuffer>> Allocate(size_t bytes) override {
    return inner_->Allocate(bytes);
  }
  void CopyToHost(void* host, const void* device, size_t bytes) override {
    inner_->CopyToHost(host, device, bytes);
  }
  void CopyFromHost(void* device, const void* host, size_t bytes) override {
    inner_->CopyFromHost(device, host, bytes);
  }
  Expected<std::unique_ptr<ops::PreparedLinear>> PrepareLinear(
      const WeightMatrix& matrix) override {
    return inner_->PrepareLinear(matrix);
  }
  Status Reserve(const ops::WorkspaceNeeds& needs) override { return inner_->Reserve(needs); }
  void SetDispatchLog(ops::DispatchLog* log) override { inner_->SetDispatchLog(log); }

  void Embed(const ops::EmbedArgs& args) override { inner_->Embed(args); }
  void GatherRows(const ops::GatherRowsArgs& args) override { inner_->GatherRows(args); }
  void RmsNorm(const ops::RmsNormArgs& args) override { inner_->RmsNorm(args); }
  void Linear(const ops::LinearArgs& args) override { inner_->Linear(args); }
  void SiluMul(const ops::SiluMulArgs& args) override { inner_->SiluMul(args); }
  void RopeAndCache(const ops::RopeAndCacheArgs& args) override { inner_->RopeAndCache(args); }
  void Attention(const ops::AttentionArgs& args) override { inner_->Attention(args); }
  void ConvAndGatedDelta(const ops::ConvAndGatedDeltaArgs& args) override {
    inner_->ConvAndGatedDelta(args);
  }
  void FoldRecords(const ops::FoldRecordsArgs& args) override { inner_->FoldRecords(args); }
  void GatedNorm(const ops::GatedNormArgs& args) override { inner_->GatedNorm(args); }
  void BestLogits(const ops::BestLogitsArgs& args) override { inner_->BestLogits(args); }
  void Synchronize() override { inner_->Synchronize(); }

 protected:
  ops::Backend& inner() { return *inner_; }

 private:
  std::unique_ptr<ops::Backend> inner_;
};

}  // namespace verbatim

#endif  // VERBATIM_BACKEND_OBSERVE_FORWARDING_BACKEND_H_
