import { signal } from "@preact/signals";
import type { AttachedFile } from "./attached-files.tsx";

/** A message of this tab that the history of its conversation may not have yet. */
export interface SentMessage {
  /** Distinguishes messages of the tab. */
  readonly id: string;
  readonly sessionKey: string;
  readonly text: string;
  readonly files: readonly AttachedFile[];
  /** The agent that was picked for it; empty: the session's. */
  readonly agent: string;
  /** Null until the gateway has accepted it. */
  readonly runId: string | null;
}

/** Messages outlive the view: a person who comes back to a conversation still sees what they sent. */
export const sentMessages = signal<readonly SentMessage[]>([]);

/** Older ones are in the histories of their conversations. */
const MOST = 50;

export function addSent(message: SentMessage): void {
  sentMessages.value = [...sentMessages.value, message].slice(-MOST);
}

export function acceptSent(id: string, runId: string): void {
  sentMessages.value = sentMessages.value.map((one) => (one.id === id ? { ...one, runId } : one));
}

export function dropSent(id: string): void {
  sentMessages.value = sentMessages.value.filter((one) => one.id !== id);
}

/** Texts that were written and not sent, by conversation and person. */
const drafts = new Map<string, string>();

export function draftOf(key: string): string {
  return drafts.get(key) ?? "";
}

export function keepDraft(key: string, text: string): void {
  if (text === "") drafts.delete(key);
  else drafts.set(key, text);
}
