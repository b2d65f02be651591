// Whether two runs of one request had the same output. Not how that is shown.

// Index of the first difference of two lists, -1: none.
export function firstDifference(a, b) {
  const length = Math.max(a.length, b.length);
  for (let i = 0; i < length; ++i) {
    if (a[i] !== b[i]) return i;
  }
  return -1;
}

// {equal, digests, ids, texts, differsAt}. A digest that is missing proves nothing.
export function compareRuns(drafted, classic) {
  const differsAt = firstDifference(drafted.ids, classic.ids);
  const digests = Boolean(drafted.digest) && drafted.digest === classic.digest;
  const ids = differsAt < 0 && drafted.ids.length > 0;
  const texts = drafted.content === classic.content && drafted.reasoning === classic.reasoning;
  return {equal: digests && ids && texts, digests, ids, texts, differsAt};
}

// Of the speeds; null unless both are known.
export function speedup(drafted, classic) {
  return drafted.tokensPerSecond && classic.tokensPerSecond
             ? drafted.tokensPerSecond / classic.tokensPerSecond : null;
}
