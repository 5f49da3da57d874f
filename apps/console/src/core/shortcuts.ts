import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

const KEY = "switchyard.shortcuts";

/** False where the person has switched single-letter shortcuts off, as WCAG 2.1.4 wants it possible. */
export const hasShortcuts = signal(localStorage.getItem(KEY) !== "off");

export function toggleShortcuts(): void {
  hasShortcuts.value = !hasShortcuts.value;
  localStorage.setItem(KEY, hasShortcuts.value ? "on" : "off");
}

const TAKES_LETTERS =
  "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

/** Single letters, while no text is written and no dialog is open. A key that repeats because it is held down does nothing. */
export function useShortcuts(keys: Readonly<Record<string, () => unknown>>): void {
  // Before the browser paints: a key is for what is seen.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isPlain = !event.metaKey && !event.ctrlKey && !event.altKey && !event.repeat;
      if (!isPlain || !hasShortcuts.value) return;
      const target = event.target as Element; // keyboard events are dispatched on elements
      if (target.closest(TAKES_LETTERS) !== null) return;
      if (document.querySelector("dialog[open]") !== null) return;
      keys[event.key]?.();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}

/** Holding Enter on a button, a link or in a form activates it once: browsers click again at each repetition of the key. */
export function ignoreHeldEnter(): void {
  addEventListener("keydown", stopHeldEnter, { capture: true });
}

function stopHeldEnter(event: KeyboardEvent): void {
  if (!event.repeat || event.key !== "Enter") return;
  const isInText = (event.target as Element).closest("textarea") !== null; // as above
  if (isInText && !event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  event.stopPropagation();
}
