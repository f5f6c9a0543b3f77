// Waiting that counts only while the machine is awake: after a sleep, timers come due at once, and what they wait for
// has had no time.

const TICK_MS = 1000;

/**
 * Does something after so many milliseconds awake.
 * @param {number} ms
 * @param {() => void} action
 * @returns {() => void} ends the waiting
 */
export function patiently(ms, action) {
  let left = ms;
  let timer;
  const wait = () => {
    if (left <= 0) return action();
    timer = setTimeout(wait, Math.min(left, TICK_MS));
    left -= TICK_MS;
  };
  wait();
  return () => clearTimeout(timer);
}
