// Two runs side by side: digests of all logits, token ids, and the verdict. Not the comparison (proof.js).
import {element} from "./dom.js";

const GROUP = 8;        // of 64 hexadecimal digits
const IDS_AROUND = 6;   // shown before and behind a difference

const groups = (digest) => (digest ?? "").match(new RegExp(`.{1,${GROUP}}`, "g")) ?? [];

function digestView(digest, other) {
  const others = groups(other);
  const shown = groups(digest).map((group, i) => element("span", {class: group === others[i] ? null : "differs", text: group}));
  return element("span", {class: "digest", "data-digest": digest ?? ""},
                 ...(shown.length > 0 ? shown : [element("span", {class: "differs", text: "no digest"})]));
}

function idsView(ids, differsAt) {
  const list = element("span", {class: "ids", tabindex: "0", role: "group", "aria-label": "Token ids"});
  const from = differsAt < 0 ? 0 : Math.max(0, differsAt - IDS_AROUND);
  const to = differsAt < 0 ? ids.length : differsAt + IDS_AROUND;
  if (from > 0) list.append("… ");
  ids.slice(from, to).forEach((id, i) => list.append(
      from + i === differsAt ? element("span", {class: "differs", text: id}) : String(id), " "));
  if (to < ids.length) list.append("…");
  return list;
}

function column(name, run, other, differsAt) {
  return element("div", {class: "proof-run"},
                 element("h4", {text: name}),
                 element("p", {class: "label", text: "SHA-256 of the logits"}), digestView(run.digest, other.digest),
                 element("p", {class: "label", text: `${run.ids.length} token ids`}), idsView(run.ids, differsAt));
}

function verdict(result) {
  if (result.equal) {
    return element("p", {class: "verdict equal"}, element("span", {"aria-hidden": "true", text: "✓ "}),
                   "Equal, bit for bit. Drafting changed nothing: not a token, not a bit of any logit.");
  }
  const what = [];
  if (!result.digests) what.push("logits");
  if (!result.ids) what.push(result.differsAt < 0 ? "token ids" : `token ids, from number ${result.differsAt + 1} on`);
  if (!result.texts) what.push("text");
  return element("p", {class: "verdict different", role: "alert"}, element("span", {"aria-hidden": "true", text: "✕ "}),
                 `NOT EQUAL: ${what.join("; ")}. This breaks the contract. Please report it, with this request and the version.`);
}

export class ProofView {
  #progress = element("p", {class: "hint"});
  root = element("section", {class: "proof", "aria-label": "Proof", hidden: true});

  showProgress(done, total, classic) {
    this.root.hidden = false;
    const how = classic ? "one token at a time" : "with drafts";
    this.#progress.textContent = `Running it again, ${how}: ${done} of ${total}`;
    if (!this.#progress.isConnected) this.root.replaceChildren(this.#progress);
  }

  show(drafted, classic, result) {
    this.root.hidden = false;
    this.root.replaceChildren(verdict(result), element("div", {class: "proof-runs"},
        column("With drafts", drafted, classic, result.differsAt),
        column("Classic decode, one token at a time", classic, drafted, result.differsAt)));
  }

  reveal() {
    this.root.scrollIntoView({block: "nearest"});
  }

  showFailure(words) {
    this.root.hidden = false;
    this.root.replaceChildren(element("p", {class: "failure", role: "alert", text: words}));
  }

  hide() {
    this.root.hidden = true;
  }
}
