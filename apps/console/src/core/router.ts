import { computed, signal } from "@preact/signals";

const href = signal(location.href);

/** The current address. */
export const address = computed(() => new URL(href.value));

/** Navigates there without reloading the page. */
export function navigate(to: string, { replace = false } = {}): void {
  const next = new URL(to, location.href);
  if (next.href === location.href) return;
  history[replace ? "replaceState" : "pushState"](null, "", next);
  href.value = next.href;
}

/** Sets a filter in the address, so that a link keeps it; the empty text removes it. */
export function setFilter(name: string, value: string, { replace = true } = {}): void {
  const next = new URL(location.href);
  if (value === "") next.searchParams.delete(name);
  else next.searchParams.set(name, value);
  navigate(next.href, { replace });
}

/** Empty when the address has none. */
export function filterOf(name: string): string {
  return address.value.searchParams.get(name) ?? "";
}

/** Has links of the page's own origin open without loading it anew. */
export function startRouter(): void {
  addEventListener("popstate", () => void (href.value = location.href));
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest?.("a[href]");
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
    if (!(link instanceof HTMLAnchorElement) || !isPlain || event.defaultPrevented) return;
    if (link.origin !== location.origin || link.target !== "" || link.download !== "") return;
    if (link.pathname.startsWith("/auth/") || link.pathname.startsWith("/api/")) return;
    if (link.hash !== "" && link.pathname === location.pathname) return;
    event.preventDefault();
    navigate(link.href);
  });
}

/** The values of `{names}` in a template when the path fits it, else null. */
export function matchPath(template: string, path: string): Record<string, string> | null {
  const wanted = template.split("/");
  const given = path.replace(/(.)\/$/, "$1").split("/");
  if (wanted.length !== given.length) return null;
  const values: Record<string, string> = {};
  for (const [index, word] of wanted.entries()) {
    const actual = given[index] ?? "";
    const name = /^\{(\w+)\}$/.exec(word)?.[1];
    if (name === undefined ? word !== actual : actual === "") return null;
    if (name !== undefined) values[name] = decoded(actual);
  }
  return values;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
