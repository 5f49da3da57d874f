import type { SideEffect } from "./side-effects.ts";

interface MadeCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly structured: Readonly<Record<string, unknown>>;
  /** True when the outcome is unknown. */
  readonly isUnknown: boolean;
  readonly at: number;
}

const SENDERS: ReadonlySet<string> = new Set([
  "message_send",
  "message_reply",
  "message_thread_reply",
  "message_send_attachment",
  "message_send_with_effect",
]);

/** The external side effects of a call, as recorded in the file of side effects [F38]; most calls have none. */
export function sideEffectsOf(
  made: MadeCall,
  { sessionKey }: { readonly sessionKey: string | null },
): SideEffect[] {
  const { name, args, structured, at: ts } = made;
  if (structured["dryRun"] === true) return [];
  // A bestEffort call reports its failure in the result.
  const failure = structured["ok"] === false ? (textOr(structured["error"]) ?? "") : null;
  const isUnknown = made.isUnknown || failure?.includes("TIMEOUT_UNKNOWN") === true;
  if (failure !== null && !isUnknown) return [];
  const status = isUnknown ? "unknown" : "sent";
  if (name === "cron_add")
    return isUnknown ? [] : [{ type: "cron_added", jobId: textOr(structured["id"]), ts }];
  const common = {
    type: "message_sent",
    tool: name,
    text: textOr(args["message"]) ?? textOr(args["caption"]) ?? "",
    mediaUrl: textOr(args["media"]) ?? textOr(args["file"]) ?? null,
    sessionKey: sessionKey ?? undefined,
    status,
    ts,
  } as const;
  if (name === "message_broadcast") {
    // One for each recipient: the reader of the file has to know which of them have the text already.
    const { results } = recordOr(structured["payload"]);
    const all = Array.isArray(results) ? results.map(recordOr) : [];
    return all
      .filter(({ ok }) => ok === true)
      .map(({ channel, accountId, to }): SideEffect => {
        const where = { provider: textOr(channel) ?? "", accountId: textOr(accountId) };
        return Object.assign(where, common, { to: textOr(to) });
      });
  }
  if (name === "sessions_send") {
    // A session that was not reached got no message; an answer that failed or is late followed one.
    if (structured["status"] === "forbidden") return [];
    const to = textOr(structured["sessionKey"]) ?? textOr(args["sessionKey"]);
    return [{ ...common, provider: "session", to }];
  }
  if (!SENDERS.has(name)) return [];
  const payload = recordOr(structured["payload"]);
  const [messageId] = Array.isArray(payload["messageIds"]) ? payload["messageIds"] : [];
  return [
    {
      ...common,
      provider: textOr(structured["channel"]) ?? textOr(args["channel"]) ?? "",
      accountId: textOr(payload["accountId"]) ?? textOr(args["accountId"]),
      to: textOr(structured["to"]) ?? textOr(args["target"]),
      threadId: textOr(payload["threadId"]) ?? textOr(args["threadId"]),
      messageId: textOr(messageId),
    },
  ];
}

function textOr(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function recordOr(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
