import type { PolicyTextFile } from "@switchyard/client/operations";
import { callerName } from "./session.ts";
import { toast } from "./toasts.ts";

/** Rules that a person writes, and those that they are to take the place of. */
export interface PolicyDraft {
  /** The rules that were in force when the draft was begun; null where the person may not read them. */
  readonly base: {
    readonly version: number;
    readonly policyDigest: string;
    readonly files: readonly PolicyTextFile[];
  } | null;
  readonly files: readonly PolicyTextFile[];
}

const PREFIX = "switchyard.policy-draft";
/** In place of a digest, for persons who may not read the rules in force. */
const NO_BASE = "none";

/**
 * The draft that this person has in this browser; null when there is none. A browser may know several installations under one address,
 * such as the projects of a laptop, so a draft belongs to those which have had its base in force; `digests` has theirs, the newest first.
 */
export function storedDraft(digests: readonly string[]): PolicyDraft | null {
  for (const digest of [...digests, NO_BASE]) {
    const draft = read(keyOf(digest));
    if (draft !== null) return draft;
  }
  return null;
}

/** Stores the draft, so that another tab, a new sign-in and a restart restore it. */
export function storeDraft(draft: PolicyDraft): void {
  const key = keyOf(draft.base?.policyDigest ?? NO_BASE);
  try {
    localStorage.setItem(key, JSON.stringify(draft));
  } catch {
    localStorage.removeItem(key);
    toast({
      text: "This draft is too long for the browser to store; copy it before you leave the page.",
      tone: "bad",
    });
  }
}

export function removeDraft({ base }: Pick<PolicyDraft, "base">): void {
  localStorage.removeItem(keyOf(base?.policyDigest ?? NO_BASE));
}

/** True when the draft would change something. */
export function isTouched({ base, files }: PolicyDraft): boolean {
  return base === null || JSON.stringify(base.files) !== JSON.stringify(files);
}

function read(key: string): PolicyDraft | null {
  try {
    const draft = JSON.parse(localStorage.getItem(key) ?? "null") as PolicyDraft | null; // as storeDraft wrote it
    return Array.isArray(draft?.files) ? draft : null;
  } catch {
    return null;
  }
}

function keyOf(digest: string): string {
  return `${PREFIX}.${callerName()}.${digest}`;
}
