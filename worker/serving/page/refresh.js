// Asks for something again and again, while somebody looks: never twice at once, and not while the page is hidden.

/**
 * Call a function at once, and again `seconds` after each end of it.
 *
 * The function gets a signal that ends with `stop`, and deals with its own errors but for those of that signal.
 * @param {number} seconds
 * @param {(signal: AbortSignal) => Promise<unknown>} work
 * @returns {{now: () => void, stop: () => void}} `now` does not wait for the next time
 */
export function refresh(seconds, work) {
  const ended = new AbortController();
  /** @type {number | undefined} */
  let timer;
  let isWorking = false;

  async function turn() {
    clearTimeout(timer);
    if (isWorking || ended.signal.aborted || document.hidden) return;
    isWorking = true;
    try {
      await work(ended.signal);
    } catch (error) {
      if (!ended.signal.aborted) throw error;
    } finally {
      isWorking = false;
      if (!ended.signal.aborted) timer = setTimeout(turn, seconds * 1000);
    }
  }

  document.addEventListener("visibilitychange", turn, { signal: ended.signal });
  turn();
  return {
    now: () => void turn(),
    stop: () => {
      clearTimeout(timer);
      ended.abort();
    },
  };
}
