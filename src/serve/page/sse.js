// The data of server-sent events out of a response body. Not what the events mean.

// An event whose blank line never came is not whole, and is not given.
export async function* eventData(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let data = [];
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines.map((each) => each.replace(/\r$/, ""))) {
        if (line === "" && data.length > 0) {
          yield data.join("\n");
          data = [];
        } else if (line.startsWith("data:")) {
          data.push(line.slice(5).replace(/^ /, ""));
        }  // the rest: comments that keep the connection alive, and fields that are not used here
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
