// One decode step in a few words and a row of marks: its drafts, which were right, what the model decided. Not the text.
import {element} from "./dom.js";

const COUNTED = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
                 "thirteen", "fourteen", "fifteen", "sixteen"];
const count = (n) => COUNTED[n] ?? String(n);
const drafts = (n) => `${count(n)} ${n === 1 ? "draft" : "drafts"}`;
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + ".";

function describe(rows, accepted, made) {
  if (rows === 1) return "No drafts: one token, decided by the model.";
  const tried = rows - 1;
  const words = accepted === tried ? `${drafts(tried)}, ${tried === 1 ? "and it was" : "all"} right`
                                   : `${drafts(tried)}, ${count(accepted)} right`;
  if (made === accepted) return sentence(`${words}; the answer ended there`);
  return sentence(`${words}; ${accepted === tried ? "one more token came with them" : "the model decided the next token"}`);
}

// `tokens`: all of the step so far; `token`: the one that is pointed at.
export function stepView(token, tokens) {
  if (token.block === 0) {
    return element("div", {class: "step"}, element("p", {class: "step-name", text: "The prompt's step"}),
                   element("p", {text: "The first token comes from reading the prompt."}));
  }
  const rows = token.block_rows;
  const accepted = tokens.filter((each) => each.drafted).length;
  const marks = element("span", {class: "marks", "aria-hidden": "true"});
  for (let row = 0; row < rows; ++row) {
    const made = tokens.find((each) => each.row === row);
    const kind = made ? (made.drafted ? "drafted" : "decided") : "unused";
    marks.append(element("span", {class: `mark ${kind}${row === token.row ? " here" : ""}`}));
  }
  return element("div", {class: "step"},
                 element("p", {class: "step-name"}, `Step ${token.block}`, marks),
                 element("p", {text: describe(rows, accepted, tokens.length)}),
                 element("p", {class: "step-token"},
                         `Row ${token.row + 1} of ${rows}: `,
                         element("span", {class: "literal", text: JSON.stringify(token.text ?? "")}),
                         ` (${token.id}), ${token.drafted ? "drafted and accepted" : "decided by the model"}.`));
}

// What is to be read before anything is pointed at.
export function legend() {
  return element("div", {class: "step"},
                 element("ul", {class: "legend"},
                         element("li", {}, element("span", {class: "token drafted", text: "drafted, and accepted"})),
                         element("li", {}, element("span", {class: "token decided", text: "decided by the model"}))),
                 element("p", {class: "hint", text: "Point at a token, or use the arrow keys in the text, to see its step."}));
}
