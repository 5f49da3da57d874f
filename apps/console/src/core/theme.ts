import { signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const KEY = "switchyard.theme";
const NEXT = { auto: "light", light: "dark", dark: "auto" } as const;

export const theme = signal<Theme>(stored());

export function applyTheme(): void {
  if (theme.value === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
}

export function nextTheme(): void {
  theme.value = NEXT[theme.value];
  localStorage.setItem(KEY, theme.value);
  applyTheme();
}

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return value === "light" || value === "dark" ? value : "auto";
}
