import { appendFile, readFile } from "node:fs/promises";

/** A message that a tool has sent, or may have sent. The names are those of RemoteClaw's files. */
export interface MessageSent {
  readonly type: "message_sent";
  readonly tool: string;
  /** The channel. */
  readonly provider: string;
  readonly accountId?: string | undefined;
  readonly to?: string | undefined;
  readonly threadId?: string | undefined;
  readonly messageId?: string | undefined;
  readonly sessionKey?: string | undefined;
  readonly text: string;
  readonly mediaUrl: string | null;
  /** `unknown`: the provider may have delivered it. Left out in older files: sent. */
  readonly status?: "sent" | "unknown";
  /** Milliseconds since 1970. */
  readonly ts: number;
}

export interface CronAdded {
  readonly type: "cron_added";
  readonly jobId?: string | undefined;
  readonly ts: number;
}

export type SideEffect = MessageSent | CronAdded;

export interface SideEffects {
  readonly sentTexts: readonly string[];
  readonly sentMediaUrls: readonly string[];
  readonly sentTargets: readonly Pick<
    MessageSent,
    "tool" | "provider" | "accountId" | "to" | "threadId"
  >[];
  readonly cronAdds: number;
}

/**
 * Writes one line, and resolves when it is on the disk. Begins a new line after one that a crash has cut. Rejects with the system's error.
 */
export async function recordSideEffect(file: string, effect: SideEffect): Promise<void> {
  const before = await textOf(file);
  const start = before === "" || before.endsWith("\n") ? "" : "\n";
  await appendFile(file, `${start}${JSON.stringify(effect)}\n`, { mode: 0o600, flush: true });
}

/**
 * Reads the records of a file, in their order. A missing file has no records; a line that is cut or is not a record is left out, and so is
 * a message that may not have been sent: an answer must not count as given because of it. Rejects with other errors of the system.
 */
export async function readSideEffects(file: string): Promise<SideEffects> {
  const lines = (await textOf(file)).split("\n").map(parsed);
  const sent = lines.filter((line) => isSent(line));
  return {
    sentTexts: sent.map(({ text }) => text),
    sentMediaUrls: sent.flatMap(({ mediaUrl }) => mediaUrl ?? []),
    sentTargets: sent.map(targetOf),
    cronAdds: lines.filter((line) => line?.["type"] === "cron_added").length,
  };
}

function targetOf({ tool, provider, accountId, to, threadId }: MessageSent) {
  return {
    tool,
    provider,
    ...(accountId !== undefined && { accountId }),
    ...(to !== undefined && { to }),
    ...(threadId !== undefined && { threadId }),
  };
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}

function parsed(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function isSent(line: unknown): line is MessageSent {
  if (typeof line !== "object" || line === null) return false;
  const { type, text, tool, provider, mediaUrl, status } = {
    mediaUrl: null,
    status: "sent",
    ...line,
  } as Record<string, unknown>; // a record of anything

  return (
    type === "message_sent" &&
    status === "sent" &&
    [text, tool, provider].every((field) => typeof field === "string") &&
    (mediaUrl === null || typeof mediaUrl === "string")
  );
}
