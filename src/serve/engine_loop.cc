// Commands in, a step, results out.
#include "serve/engine_loop.h"

#include <fmt/format.h>

#include <utility>

namespace verbatim::serve {

EngineLoop::EngineLoop(Engine& engine, int max_jobs)
    : engine_(engine), max_jobs_(max_jobs), stats_(engine.stats()) {
  thread_ = std::thread([this] { Run(); });
}

EngineLoop::~EngineLoop() { Stop(); }

Expected<std::vector<Ticket>> EngineLoop::Submit(std::vector<Job> jobs) {
  std::vector<Ticket> tickets;
  {
    const std::lock_guard lock(mutex_);
    if (draining_ || stopping_) {
      return MakeError(StatusCode::kCancelled, "server", "a server that goes on",
                       "one that is shutting down", "the request again in a moment");
    }
    if (std::cmp_greater(jobs.size(), max_jobs_)) {  // waiting would not help
      return MakeError(StatusCode::kInvalidArgument, "n",
                       fmt::format("at most {} answers of one request", max_jobs_),
                       fmt::format("{}", jobs.size()), "fewer prompts or choices at a time");
    }
    if (num_jobs_ + static_cast<int>(jobs.size()) > max_jobs_) {
      return MakeError(StatusCode::kResourceExhausted, "queue",
                       fmt::format("at most {} answers running and waiting", max_jobs_),
                       fmt::format("{} more beside {}", jobs.size(), num_jobs_),
                       "the request again in a moment");
    }
    num_jobs_ += static_cast<int>(jobs.size());
    for (Job& job : jobs) {
      tickets.push_back(next_ticket_);
      submitted_.emplace_back(next_ticket_++, std::move(job));
    }
  }
  changed_.notify_all();
  return tickets;
}

void EngineLoop::Cancel(Ticket ticket) {
  {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(ticket);
  }
  changed_.notify_all();
}

EngineStats EngineLoop::stats() const {
  const std::lock_guard lock(mutex_);
  EngineStats stats = stats_;
  stats.waiting += static_cast<int64_t>(submitted_.size());
  return stats;
}

std::chrono::duration<double> EngineLoop::TakeLongestStep() {
  const std::lock_guard lock(mutex_);
  return std::exchange(longest_step_, std::chrono::duration<double>(0));
}

int EngineLoop::num_jobs() const {
  const std::lock_guard lock(mutex_);
  return num_jobs_;
}

void EngineLoop::Drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
}

bool EngineLoop::draining() const {
  const std::lock_guard lock(mutex_);
  return draining_ || stopping_;
}

bool EngineLoop::WaitIdle(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return num_jobs_ == 0; });
}

void EngineLoop::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EngineLoop::Run() {
  while (true) {
    TakeCommands(active_.empty());
    {
      const std::lock_guard lock(mutex_);
      if (stopping_ && submitted_.empty()) {
        cancelled_.clear();
        if (active_.empty()) return;
      }
    }
    const auto start = std::chrono::steady_clock::now();
    engine_.Step();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    for (auto& [ticket, active] : active_) {
      if (std::exchange(active.had_token, false) && active.on_step) active.on_step();
    }
    {
      const std::lock_guard lock(mutex_);
      stats_ = engine_.stats();
      longest_step_ = std::max(longest_step_, took);
    }
    CollectResults();
  }
}

void EngineLoop::TakeCommands(bool may_wait) {
  std::vector<std::pair<Ticket, Job>> submitted;
  std::vector<Ticket> cancelled;
  bool stopping = false;
  {
    std::unique_lock lock(mutex_);
    if (may_wait) changed_.wait(lock, [this] { return stopping_ || !submitted_.empty(); });
    submitted.swap(submitted_);
    cancelled.swap(cancelled_);
    stopping = stopping_;
  }
  for (auto& [ticket, job] : submitted) Start(ticket, std::move(job));
  if (stopping) {
    for (const auto& [ticket, active] : active_) cancelled.push_back(ticket);
  }
  for (const Ticket ticket : cancelled) {
    // One that has ended meanwhile is unknown to the engine, or not in the list any more.
    if (const auto it = active_.find(ticket); it != active_.end()) {
      (void)engine_.Cancel(it->second.id).ok();
    }
  }
}

void EngineLoop::Start(Ticket ticket, Job job) {
  const auto it = active_
                      .emplace(ticket, Active{.id = 0,
                                              .on_step = std::move(job.on_step),
                                              .on_end = std::move(job.on_end)})
                      .first;
  Active* const active = &it->second;  // stays where it is, in a map
  if (job.request.on_token) {
    job.request.on_token = [active,
                            on_token = std::move(job.request.on_token)](const TokenEvent& event) {
      active->had_token = true;
      on_token(event);
    };
  }
  const auto id = engine_.Submit(std::move(job.request));
  if (id.ok()) {
    active->id = *id;
    return;
  }
  const auto on_end = std::move(active->on_end);
  active_.erase(it);
  End(on_end, id.status());
}

void EngineLoop::CollectResults() {
  for (auto it = active_.begin(); it != active_.end();) {
    auto result = engine_.TakeResult(it->second.id);
    if (!result.ok()) {
      ++it;
      continue;
    }
    const auto on_end = std::move(it->second.on_end);
    it = active_.erase(it);
    End(on_end, *std::move(result));
  }
}

void EngineLoop::End(const std::function<void(Expected<Result>)>& on_end, Expected<Result> result) {
  if (on_end) on_end(std::move(result));
  {
    const std::lock_guard lock(mutex_);
    --num_jobs_;
  }
  changed_.notify_all();
}

}  // namespace verbatim::serve
