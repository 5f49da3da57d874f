import type { PolicyTextFile } from "@switchyard/client/operations";
import { callerName } from "./session.ts";
import { toast } from "./toasts.ts";

/** Rules that a person writes, and those that they are to take the place of. */
export interface PolicyDraft {
  /** The rules that were in force when the draft was begun; null where the person may not read them. */
  readonly base: { readonly version: number; readonly files: readonly PolicyTextFile[] } | null;
  readonly files: readonly PolicyTextFile[];
}

/** The draft that this person has in this browser; null when there is none. */
export function storedDraft(): PolicyDraft | null {
  try {
    const draft = JSON.parse(localStorage.getItem(keyOf()) ?? "null") as PolicyDraft | null; // as storeDraft wrote it
    return Array.isArray(draft?.files) ? draft : null;
  } catch {
    return null;
  }
}

/** Stores the draft in place of the one before, so that a reload restores it; null removes it. */
export function storeDraft(draft: PolicyDraft | null): void {
  try {
    if (draft === null) localStorage.removeItem(keyOf());
    else localStorage.setItem(keyOf(), JSON.stringify(draft));
  } catch {
    localStorage.removeItem(keyOf());
    toast({
      text: "This draft is too long for the browser to store; copy it before you leave the page.",
      tone: "bad",
    });
  }
}

/** True when the draft would change something. */
export function isTouched({ base, files }: PolicyDraft): boolean {
  return base === null || JSON.stringify(base.files) !== JSON.stringify(files);
}

function keyOf(): string {
  return `switchyard.policy-draft.${callerName()}`;
}
