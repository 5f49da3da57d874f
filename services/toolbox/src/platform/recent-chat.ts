import { cutForReader } from "@switchyard/contracts/cut-text";
import type { JobPayload } from "@switchyard/contracts/scheduler/schedules";
import { sessionHistory, type SessionMessage } from "@switchyard/contracts/agent-runner/sessions";
import type { ToolContext } from "../tool.ts";
import { asToolError, type AsCaller } from "./as-caller.ts";

const MESSAGE_CHARS = 220;
const ALL_CHARS = 700;
const SPEAKER: Readonly<Record<string, string>> = { user: "User", assistant: "Assistant" };

/** Appends the end of the current chat to a reminder, so that its later reader has the context. */
export async function withRecentChat(
  asCaller: AsCaller,
  context: ToolContext,
  {
    payload,
    recent,
  }: {
    readonly payload: JobPayload;
    readonly recent: { readonly session: string | undefined; readonly messages: number };
  },
): Promise<JobPayload> {
  const { session = "", messages: limit } = recent;
  if (limit === 0 || session === "" || payload.text === undefined) return payload;
  const { messages } = await asCaller(context, sessionHistory, { session, limit }).catch(
    asToolError,
  );
  const lines = recentLines(messages);
  if (lines.length === 0) return payload;
  return { ...payload, text: `${payload.text}\n\nRecent context:\n${lines.join("\n")}` };
}

/** The last messages of people and agents, the oldest first, as many as fit. */
export function recentLines(messages: readonly Pick<SessionMessage, "role" | "text">[]): string[] {
  const lines: string[] = [];
  let left = ALL_CHARS;
  for (const { role, text } of messages.toReversed()) {
    const speaker = SPEAKER[role];
    const said = text.replaceAll(/\s+/g, " ").trim();
    if (speaker === undefined || said === "") continue;
    const cut = cutForReader(said, MESSAGE_CHARS);
    const line = `- ${speaker}: ${cut}`;
    if (line.length > left) break;
    left -= line.length;
    lines.unshift(line);
  }
  return lines;
}
