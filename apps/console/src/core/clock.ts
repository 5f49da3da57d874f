import { signal } from "@preact/signals";

/** The time of all relative times on the page, in milliseconds; moves each second while the page is visible. */
export const nowMs = signal(Date.now());

export function startClock(): void {
  setInterval(() => {
    if (document.visibilityState === "visible") nowMs.value = Date.now();
  }, 1_000);
}
