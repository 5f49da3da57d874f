import type { SessionMessage } from "@switchyard/contracts/agent-runner/sessions";
import { redactText } from "@switchyard/service/redact";

/** The limits are those of OpenClaw's `sessions_history`, for callers that put the answer before a model. */
const MAX_CHARACTERS = 4_000;
const MAX_JSON_BYTES = 80 * 1_024;
const CUT_MARK = "…(truncated)…";
const TOO_LARGE = "[sessions_history omitted: message too large]";

export interface HistoryReply {
  readonly messages: SessionMessage[];
  readonly truncated: boolean;
  readonly droppedMessages: number;
  readonly contentTruncated: boolean;
  readonly contentRedacted: boolean;
  readonly bytes: number;
}

/** The part of a history that is shown: the last messages, each cut, without credentials, within 80 KiB of JSON. */
export function historyReply(
  lines: readonly SessionMessage[],
  options: { readonly limit: number; readonly includeTools: boolean; readonly dropped: number },
): HistoryReply {
  const { limit, includeTools, dropped } = options;
  const wanted = includeTools ? lines : lines.filter(({ role }) => role !== "tool");
  const shown = wanted.slice(-limit).map(shownMessage);
  const sizes = shown.map((message) => Buffer.byteLength(JSON.stringify(message)) + 1);
  let bytes = 1 + sizes.reduce((sum, size) => sum + size, 0);
  let first = 0;
  while (bytes > MAX_JSON_BYTES && first < shown.length - 1) {
    bytes -= sizes[first] ?? 0;
    first += 1;
  }
  const kept = shown.slice(first);
  const [last] = kept;
  const messages =
    bytes > MAX_JSON_BYTES && last !== undefined
      ? [{ ...last, text: TOO_LARGE, truncated: true }]
      : kept;
  const missing = dropped + (wanted.length - messages.length);
  return {
    messages,
    truncated: missing > 0,
    droppedMessages: missing,
    contentTruncated: messages.some(({ truncated }) => truncated === true),
    contentRedacted: messages.some(({ redacted }) => redacted === true),
    bytes: Buffer.byteLength(JSON.stringify(messages)),
  };
}

function shownMessage(message: SessionMessage): SessionMessage {
  const clean = redactText(message.text);
  const characters = Array.from(clean);
  const isCut = characters.length > MAX_CHARACTERS;
  return {
    ...message,
    text: isCut ? characters.slice(0, MAX_CHARACTERS).join("") + CUT_MARK : clean,
    ...(isCut ? { truncated: true } : {}),
    ...(clean === message.text ? {} : { redacted: true }),
  };
}
