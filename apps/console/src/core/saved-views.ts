import { callerName } from "./session.ts";

/** Filters of the list of runs under a name. */
export interface SavedView {
  readonly name: string;
  /** The address of the list with them. */
  readonly href: string;
}

const MOST_VIEWS = 30;

/** The views that this person has saved in this browser. */
export function storedViews(): readonly SavedView[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(keyOf()) ?? "[]");
    return Array.isArray(found) ? found.filter(isView) : [];
  } catch {
    return [];
  }
}

export function storeViews(views: readonly SavedView[]): void {
  localStorage.setItem(keyOf(), JSON.stringify(views.slice(-MOST_VIEWS)));
}

/** An address of another page, which a script may have stored, is no view. */
function isView(view: unknown): view is SavedView {
  const { name, href } = (view ?? {}) as Partial<SavedView>;
  return (
    typeof name === "string" && typeof href === "string" && /^\/runs\?[\w%&=+.~*-]*$/.test(href)
  );
}

function keyOf(): string {
  return `switchyard.run-views.${callerName()}`;
}
