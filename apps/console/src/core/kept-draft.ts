import type { PolicyTextFile } from "@switchyard/client/operations";
import { callerName } from "./session.ts";
import { toast } from "./toasts.ts";

/** Rules that a person writes, and those that they are to take the place of. */
export interface PolicyDraft {
  /** What was in force when the draft was begun; null where the person may not read it. */
  readonly base: { readonly version: number; readonly files: readonly PolicyTextFile[] } | null;
  readonly files: readonly PolicyTextFile[];
}

/** A draft of the person in this browser, from before; null when there is none. */
export function keptDraft(): PolicyDraft | null {
  try {
    const draft = JSON.parse(localStorage.getItem(keyOf()) ?? "null") as PolicyDraft | null; // as keepDraft wrote it
    return Array.isArray(draft?.files) ? draft : null;
  } catch {
    return null;
  }
}

/** Keeps it until another one is kept, over reloads; null keeps none. */
export function keepDraft(draft: PolicyDraft | null): void {
  try {
    if (draft === null) localStorage.removeItem(keyOf());
    else localStorage.setItem(keyOf(), JSON.stringify(draft));
  } catch {
    localStorage.removeItem(keyOf());
    toast({ text: "This draft is too long: the browser does not keep it.", tone: "bad" });
  }
}

/** True when the draft would change something. */
export function isTouched({ base, files }: PolicyDraft): boolean {
  return base === null || JSON.stringify(base.files) !== JSON.stringify(files);
}

function keyOf(): string {
  return `switchyard.policy-draft.${callerName()}`;
}
