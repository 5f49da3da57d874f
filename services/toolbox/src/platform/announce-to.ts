import type { RunFollowUp } from "@switchyard/contracts/agent-runner/run-follow-up";
import { SessionKey } from "@switchyard/contracts/agent-runner/session-key";
import type { Viewer } from "./session-access.ts";
import { chatOfKey } from "./session-names.ts";

/** Returns the follow-up of a task: its result is announced in the session that started it. Null when no agent answers in that session. */
export function announceTo(
  { session, agent }: Viewer,
  { label, endsSession }: { readonly label: string | null; readonly endsSession: boolean },
): RunFollowUp | null {
  if (session === null || agent === null || !SessionKey.safeParse(session).success) return null;
  const chat = chatOfKey(session);
  const to = { session, agent };
  return { kind: "announce", to, label, endsSession, ...(chat !== null && { chat }) };
}
