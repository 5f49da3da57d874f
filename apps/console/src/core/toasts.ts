import { signal } from "@preact/signals";

export interface Toast {
  readonly text: string;
  readonly more?: string;
  readonly tone: "good" | "bad";
}

export const toasts = signal<readonly (Toast & { readonly id: number })[]>([]);

const GOOD_MS = 4_000;
let made = 0;

/** Shows a result. A failure stays until it is closed. */
export function toast(given: Toast): void {
  const id = (made += 1);
  const { value: shown } = toasts;
  toasts.value = [...shown.slice(-3), { ...given, id }];
  if (given.tone === "good") setTimeout(() => dropToast(id), GOOD_MS);
}

export function dropToast(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}
