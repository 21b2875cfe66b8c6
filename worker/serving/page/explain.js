// What went wrong, and what to do about it, in words: one sentence each, for every error that the worker can answer with.

/**
 * @param {any} error an ApiError, or whatever else was thrown
 * @returns {{what: string, todo: string, retryS: number | null}} `retryS`: it is worth asking again by itself after these seconds
 */
export function explain(error) {
  const retryS = error?.retryAfter ?? null;
  switch (error?.code) {
    case "offline":
      return { what: "The worker does not answer.", todo: "It may be restarting. If it stays away, look at its process and its log.", retryS: retryS ?? 3 };
    case "unavailable":
      return { what: `The worker cannot answer now: ${sentence(error.reason)}`, todo: "The Doctor and Lag tabs say what is away.", retryS: retryS ?? 2 };
    case "expired":
      return { what: "The answer took longer than the page waits.", todo: "Ask for a shorter time, or fewer filters by field.", retryS: null };
    case "too_many":
      return { what: `The worker is busy: ${sentence(error.reason)}`, todo: "", retryS: retryS ?? 2 };
    case "bad_query":
      return { what: `The worker refuses ${error.field ? `“${error.field}”` : "the question"}: ${sentence(error.reason)}`, todo: "Change it and ask again.", retryS: null };
    case "not_found":
      return { what: "This worker does not have that page.", todo: "It may run an older version than this page.", retryS: null };
    default:
      return unknown(error, retryS);
  }
}

/** @param {any} error @param {number | null} retryS */
function unknown(error, retryS) {
  if (error?.status === 401) return { what: "You are not signed in.", todo: "Sign in and ask again.", retryS: null };
  if (error?.status === 504) return { what: `It took too long: ${sentence(error.reason)}`, todo: "What is asked for may be away; the Doctor tab says what.", retryS: retryS ?? 5 };
  if (error?.status >= 500) return { what: `The worker failed: ${sentence(error.reason)}`, todo: "Its log says where.", retryS };
  if (error?.status) return { what: `The worker refuses this: ${sentence(error.reason)}`, todo: "", retryS };
  return { what: `The page failed: ${sentence(String(error?.message ?? error))}`, todo: "Reload it. If that does not help, it is a fault of the page.", retryS: null };
}

/** @param {string} text */
function sentence(text) {
  const trimmed = String(text).trim();
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
