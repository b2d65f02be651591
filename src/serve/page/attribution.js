// Which token each piece of the shown text came from. Not how it is shown.
//
// The server sends tokens as the model made them, and the text that a reader gets: without tags and special tokens,
// and perhaps later, as half a character or what may become a stop string is held back. So the text is looked for in
// the concatenated tokens, from where the last piece ended.

const END_OF_THINKING = "</think>";

export class Attribution {
  #decoder = new TextDecoder();
  #raw = "";      // what the tokens say, concatenated
  #starts = [];   // where in it each token's text begins
  #tokens = [];
  #position = 0;  // behind the last piece
  #channel = null;

  push(token) {
    this.#starts.push(this.#raw.length);
    this.#tokens.push(token);
    const bytes = token.bytes ? Uint8Array.from(token.bytes) : new TextEncoder().encode(token.text ?? "");
    // A character of several tokens belongs to the one that completes it.
    this.#raw += this.#decoder.decode(bytes, {stream: true});
  }

  // Pieces {text, token} of one delta; token is null where the text is not found, which only costs its colour.
  take(channel, text) {
    if (this.#channel === "reasoning" && channel === "content") {
      const tag = this.#raw.indexOf(END_OF_THINKING, this.#position);
      if (tag >= 0) this.#position = tag + END_OF_THINKING.length;
    }
    this.#channel = channel;
    const begin = this.#raw.indexOf(text, this.#position);
    if (begin < 0) return [{text, token: null}];
    const end = begin + text.length;
    this.#position = end;
    const pieces = [];
    for (let at = begin, index = this.#indexAt(begin); at < end; ++index) {
      const next = Math.min(end, this.#starts[index + 1] ?? end);
      if (next > at) pieces.push({text: this.#raw.slice(at, next), token: this.#tokens[index]});
      at = Math.max(at, next);
    }
    return pieces;
  }

  // The last token that begins at or before a position.
  #indexAt(position) {
    let low = 0;
    let high = this.#starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle] <= position) low = middle;
      else high = middle;
    }
    return low;
  }
}
