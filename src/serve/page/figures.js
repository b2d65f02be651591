// The figures of an answer beside its text: speed with and without drafts, acceptance by position. Not the counting (run.js).
import {element} from "./dom.js";

const percent = (share) => `${Math.round(100 * share)} %`;
const sum = (list) => list.reduce((total, value) => total + value, 0);
const rate = (value) => (value === null ? "–" : value >= 100 ? value.toFixed(0) : value.toFixed(1));

function bar(share) {
  const fill = element("span", {class: "fill"});
  fill.style.setProperty("--share", Math.max(0, Math.min(1, share)));
  return element("span", {class: "track", "aria-hidden": "true"}, fill);
}

export class Figures {
  root = element("div", {class: "figures"});
  #speeds = element("div", {class: "speeds"});
  #summary = element("p", {class: "summary"});
  #chart = element("ol", {class: "chart"});
  #chartTitle = element("h3", {text: "Drafts accepted, by position"});

  constructor() {
    this.root.append(element("h3", {text: "Tokens per second"}), this.#speeds, this.#summary, this.#chartTitle, this.#chart);
  }

  // `classic` is the run without drafts, null as long as there was none; `ratio` is null unless the outputs are equal.
  show(run, classic, ratio) {
    this.#showSpeeds(run, classic, ratio);
    const drafts = sum(run.tested);
    const parts = [`${run.tokens.length || (run.usage?.completion_tokens ?? 0)} tokens`];
    if (run.tokensPerStep !== null) parts.push(`${run.tokensPerStep.toFixed(2)} per step`);
    if (drafts > 0) parts.push(`${percent(sum(run.accepted) / drafts)} of ${drafts} tested drafts accepted`);
    const cached = run.usage?.prompt_tokens_details?.cached_tokens;
    if (cached) parts.push(`${cached} of ${run.usage.prompt_tokens} prompt tokens from the cache`);
    this.#summary.textContent = parts.join(" · ");
    this.#showChart(run);
  }

  #showSpeeds(run, classic, ratio) {
    const drafting = run.tested.length > 0 || classic !== null;
    const most = Math.max(run.tokensPerSecond ?? 0, classic?.tokensPerSecond ?? 0);
    const line = (name, value, kind) => element("div", {class: `speed ${kind}`},
        element("span", {class: "speed-name", text: name}), bar(most > 0 ? (value ?? 0) / most : 0),
        element("span", {class: "speed-value", text: rate(value)}));
    this.#speeds.replaceChildren(line(drafting ? "with drafts" : "without", run.tokensPerSecond, drafting ? "drafted" : "decided"));
    if (classic !== null) this.#speeds.append(line("without", classic.tokensPerSecond, "decided"));
    if (ratio !== null) {
      this.#speeds.append(element("p", {class: ratio > 1 ? "ratio gain" : "ratio", text: `${ratio.toFixed(2)} times, for the same bytes`}));
    }
  }

  #showChart(run) {
    // The server's statistics at the end; until then what the tokens tell, which is the same.
    const tested = run.speculation?.tested_at ?? run.tested;
    const accepted = run.speculation?.accepted_at ?? run.accepted;
    const shown = tested.findLastIndex((count) => count > 0) + 1;
    this.#chart.hidden = this.#chartTitle.hidden = shown === 0;
    if (shown === 0) return;
    while (this.#chart.childElementCount > shown) this.#chart.lastElementChild.remove();
    for (let i = 0; i < shown; ++i) {
      const share = tested[i] > 0 ? accepted[i] / tested[i] : 0;
      let column = this.#chart.children[i];
      if (!column) {
        column = element("li", {}, element("span", {class: "hidden"}),
                         element("span", {class: "column", "aria-hidden": "true"}, element("span", {class: "fill"})),
                         element("span", {class: "column-value", "aria-hidden": "true"}),
                         element("span", {class: "column-name", "aria-hidden": "true", text: i + 1}));
        this.#chart.append(column);
      }
      const words = `position ${i + 1}: ${accepted[i]} of ${tested[i]} accepted, ${percent(share)}`;
      column.title = words;
      column.children[0].textContent = words;
      column.querySelector(".fill").style.setProperty("--share", share);
      column.children[2].textContent = percent(share);
    }
  }
}
