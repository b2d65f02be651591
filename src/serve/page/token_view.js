// The text of an answer as tokens that can be pointed at, by mouse, finger or arrow keys. Not what is said about them.
import {element} from "./dom.js";

export class TokenView {
  // One tab stop; arrow keys move inside of it.
  root;
  #shown = [];            // {token, spans} in order of the text
  #indexOf = new Map();   // span -> index in #shown
  #current = -1;
  #onPoint;

  // `onPoint(token)` is called with the token that is pointed at, null: none.
  constructor(label, onPoint) {
    this.#onPoint = onPoint;
    this.root = element("div", {
      class: "tokens", role: "group", tabindex: "0", "aria-label": label,
      onmouseover: (event) => this.#point(this.#indexOf.get(event.target) ?? -1),
      onmouseleave: () => this.#point(-1),
      onclick: (event) => this.#point(this.#indexOf.get(event.target) ?? -1),
      onkeydown: (event) => this.#key(event),
      onblur: () => this.#point(-1),
    });
  }

  append({text, token}) {
    if (!token) {
      this.root.append(text);
      return;
    }
    if (this.#shown.at(-1)?.token !== token) this.#shown.push({token, spans: []});
    const kind = token.drafted ? "drafted" : "decided";
    // White space has spans of its own: lines under words, not between them.
    for (const part of text.match(/\s+|\S+/g)) {
      const span = element("span", {class: `token ${kind}${part.trim() === "" ? " blank" : ""}`, text: part});
      this.#shown.at(-1).spans.push(span);
      this.#indexOf.set(span, this.#shown.length - 1);
      this.root.append(span);
    }
  }

  get empty() {
    return this.root.childNodes.length === 0;
  }

  #blockOf(index) {
    return this.#shown[index]?.token.block;
  }

  // A step's tokens lie side by side: [first, last] of the one at an index.
  #stepAt(index) {
    let first = index;
    let last = index;
    while (first > 0 && this.#blockOf(first - 1) === this.#blockOf(index)) --first;
    while (this.#blockOf(last + 1) === this.#blockOf(index)) ++last;
    return [first, last];
  }

  #point(index) {
    if (index === this.#current) return;
    for (const span of this.root.querySelectorAll(".pointed, .same-step")) span.classList.remove("pointed", "same-step");
    this.#current = index;
    if (index < 0) {
      this.#onPoint(null);
      return;
    }
    const [first, last] = this.#stepAt(index);
    for (const {spans} of this.#shown.slice(first, last + 1)) {
      for (const span of spans) span.classList.add("same-step");
    }
    const {token, spans} = this.#shown[index];
    const words = spans.filter((span) => !span.classList.contains("blank"));
    for (const span of words.length > 0 ? words : spans) span.classList.add("pointed");
    this.#onPoint(token);
  }

  #key(event) {
    if (this.#shown.length === 0 || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const end = this.#shown.length - 1;
    const here = this.#current;
    const [first, last] = here < 0 ? [0, -1] : this.#stepAt(here);
    const moves = {
      ArrowRight: () => Math.min(here + 1, end),
      ArrowLeft: () => Math.max(here - 1, 0),
      ArrowDown: () => Math.min(last + 1, end),                            // the next step
      ArrowUp: () => (first === 0 ? 0 : this.#stepAt(first - 1)[0]),       // the step before
      Home: () => 0,
      End: () => end,
      Escape: () => -1,
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.#point(moves[event.key]());
    this.#shown[this.#current]?.spans[0].scrollIntoView({block: "nearest"});
  }
}
