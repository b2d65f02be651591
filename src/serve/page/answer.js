// One answer on the page: its text by tokens, what is said in its margin, and what can be done with it. Not the requests.
import {Attribution} from "./attribution.js";
import {element} from "./dom.js";
import {Figures} from "./figures.js";
import {perFrame} from "./frames.js";
import {compareRuns, speedup} from "./proof.js";
import {ProofView} from "./proof_view.js";
import {Run} from "./run.js";
import {legend, stepView} from "./step_view.js";
import {TokenView} from "./token_view.js";

export function failureWords(error) {
  const origin = [error.status ? `status ${error.status}` : null, error.type, error.code, error.param]
      .filter(Boolean).join(", ");
  return origin === "" ? error.message : `${error.message} (${origin})`;
}

export class Answer {
  root;
  body;           // of the request
  run = new Run();
  #attribution = new Attribution();
  #figures = new Figures();
  #proofView = new ProofView();
  #thinking;
  #thinkingBox;
  #content;
  #readout = element("div", {class: "readout", role: "status"}, legend());
  #notice = element("p", {class: "hint notice"});
  #showFigures = perFrame(() => this.root.getAttribute("aria-busy") === "true" && this.#figures.show(this.run, null, null));
  #prove;
  #receipt;

  // `actions`: {prove(answer), receipt(answer)}.
  constructor(body, actions) {
    this.body = body;
    const point = (token) => {
      this.#readout.classList.toggle("pointing", token !== null);
      this.#readout.replaceChildren(token ? stepView(token, this.run.blocks.get(token.block)) : legend());
    };
    this.#content = new TokenView("Answer, token by token. Arrow keys move from token to token.", point);
    this.#thinking = new TokenView("Thinking, token by token. Arrow keys move from token to token.", point);
    this.#thinkingBox = element("details", {class: "thinking", hidden: true},
                                element("summary", {text: "Thinking"}), this.#thinking.root);
    this.#prove = element("button", {type: "button", class: "strong prove", text: "Prove it", onclick: () => actions.prove(this)});
    this.#receipt = element("button", {type: "button", class: "quiet receipt", text: "Receipt", onclick: () => actions.receipt(this)});
    this.root = element("article", {class: "answer", "aria-label": "Answer", "aria-busy": "true"},
        element("div", {class: "text"}, this.#thinkingBox, this.#content.root, this.#notice),
        element("div", {class: "margin"}, this.#readout, this.#figures.root,
                element("div", {class: "actions"}, this.#prove, this.#receipt)),
        this.#proofView.root);
    this.enable(false);
    this.#figures.show(this.run, null, null);
  }

  take(chunk) {
    const {tokens, deltas} = this.run.take(chunk, performance.now());
    for (const token of tokens) this.#attribution.push(token);
    for (const {channel, text} of deltas) {
      const view = channel === "reasoning" ? this.#thinking : this.#content;
      if (channel === "reasoning") this.#thinkingBox.hidden = false;
      for (const piece of this.#attribution.take(channel, text)) view.append(piece);
    }
    this.#showFigures();
  }

  end() {
    this.run.ended = true;
    this.#settle();
    if (this.run.finish === "length") this.#notice.textContent = "Ended by the limit on tokens.";
    if (this.#content.empty && this.#notice.textContent === "") this.#notice.textContent = "The answer is empty.";
  }

  stop() {
    this.#settle();
    this.#notice.textContent = "Stopped. What proves an answer comes with its end, so this one can't be proved.";
  }

  fail(error) {
    this.#settle();
    this.root.querySelector(".text").append(element("p", {class: "failure", role: "alert", text: failureWords(error)}));
  }

  // As a turn of the conversation; null if there is nothing to go on from.
  turn() {
    return this.run.content === "" ? null : {role: "assistant", content: this.run.content, reasoning: this.run.reasoning};
  }

  // Its buttons; only a whole answer can be proved.
  enable(enabled) {
    this.#prove.disabled = this.#receipt.disabled = !(enabled && this.run.ended);
  }

  // `again` is a second run of the request: a classic one, or with drafts if this one was classic.
  showProofProgress(again, classic) {
    this.#proofView.showProgress(again.tokens.length, this.run.tokens.length, classic);
  }

  showProof(again, classic) {
    const [drafted, plain] = classic ? [this.run, again] : [again, this.run];
    const result = compareRuns(drafted, plain);
    this.#proofView.show(drafted, plain, result);
    this.#proofView.reveal();
    this.#figures.show(drafted, plain, result.equal ? speedup(drafted, plain) : null);
    return result;
  }

  showActionFailure(error) {
    this.#proofView.showFailure(failureWords(error));
  }

  hideProof() {
    this.#proofView.hide();
  }

  #settle() {
    this.root.setAttribute("aria-busy", "false");
    this.#figures.show(this.run, null, null);
    this.enable(true);
  }
}
