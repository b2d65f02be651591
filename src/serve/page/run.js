// One run of a request: what its chunks add up to. Not how it is shown, and not the request.

const MAX_DRAFTS = 15;  // a block has at most 16 rows: a token and its drafts

// Rows are counted from 0. Row r of a block of w rows had a draft to test if r < w - 1; block 0 is the prompt's.
export function wasTested(token) {
  return token.block > 0 && token.row < token.block_rows - 1;
}

export class Run {
  tokens = [];          // {id, text or bytes, drafted, block, row, block_rows}
  blocks = new Map();   // block -> its tokens
  content = "";
  reasoning = "";
  tested = [];          // by position of the draft in its block
  accepted = [];
  finish = null;
  digest = null;
  usage = null;
  timings = null;
  speculation = null;   // the server's statistics: tested_at and accepted_at by position
  ended = false;        // whole, to the last chunk
  #first = null;        // ms, of the first and the last token
  #last = null;
  #firstBurst = 0;      // tokens that came with the first

  // What a chunk adds: {tokens, deltas: [{channel, text}]}.
  take(chunk, now) {
    const choice = chunk.choices?.[0] ?? {};
    const told = choice.verbatim ?? {};
    const tokens = told.tokens ?? [];
    for (const token of tokens) this.#count(token);
    if (tokens.length > 0) {
      if (this.#first === null) {
        this.#first = now;
        this.#firstBurst = tokens.length;
      }
      this.#last = now;
    }
    const deltas = [];
    const {content, reasoning_content: reasoning} = choice.delta ?? {};
    if (reasoning) {
      this.reasoning += reasoning;
      deltas.push({channel: "reasoning", text: reasoning});
    }
    if (content) {
      this.content += content;
      deltas.push({channel: "content", text: content});
    }
    this.finish = choice.finish_reason ?? this.finish;
    this.digest = told.logits_sha256 ?? this.digest;
    this.usage = chunk.usage ?? this.usage;
    this.timings = chunk.timings ?? this.timings;
    this.speculation = told.speculation ?? this.speculation;
    return {tokens, deltas};
  }

  #count(token) {
    this.tokens.push(token);
    if (!this.blocks.has(token.block)) this.blocks.set(token.block, []);
    this.blocks.get(token.block).push(token);
    if (!wasTested(token) || token.row >= MAX_DRAFTS) return;
    while (this.tested.length <= token.row) {
      this.tested.push(0);
      this.accepted.push(0);
    }
    this.tested[token.row] += 1;
    if (token.drafted) this.accepted[token.row] += 1;
  }

  get ids() {
    return this.tokens.map((token) => token.id);
  }

  // Of decoding: the prompt's step and the tokens that it made are not in it. The server's clock where it has told.
  get tokensPerSecond() {
    if (this.timings?.predicted_per_second > 0) return this.timings.predicted_per_second;
    const count = this.tokens.length - this.#firstBurst;
    return count > 0 && this.#last > this.#first ? (1000 * count) / (this.#last - this.#first) : null;
  }

  // Tokens that decode steps made, and how many steps.
  get steps() {
    return this.blocks.size - (this.blocks.has(0) ? 1 : 0);
  }

  get tokensPerStep() {
    const made = this.tokens.length - (this.blocks.get(0)?.length ?? 0);
    return this.steps > 0 ? made / this.steps : null;
  }
}
