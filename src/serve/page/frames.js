// Work that need not be done more often than the screen shows it. Not a clock.

// A function that has `work` done once before the next frame, however often it is called until then.
export function perFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}
