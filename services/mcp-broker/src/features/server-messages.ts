import { cutText } from "@switchyard/contracts/cut-text";
import { LogLevel, type ServerMessage } from "@switchyard/contracts/mcp-broker/mcp-features";

export type ServerMessages = ReturnType<typeof createServerMessages>;

const KEPT = 1_000;
const PER_SECOND = 20;
const MAX_TEXT = 4_000;
const MAX_LOGGER = 200;

/** The log messages that one server sent lately: bounded in number, in size and in how many a second. */
export function createServerMessages(options: {
  readonly redact: (text: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}) {
  const { redact, now } = options;
  const kept: ServerMessage[] = [];
  let second = 0;
  let inSecond = 0;
  let dropped = 0;
  return {
    /** Keeps a `notifications/message`; null when it is none or too many came in this second. */
    add({ level, logger, data }: Readonly<Record<string, unknown>>): ServerMessage | null {
      const parsed = LogLevel.safeParse(level);
      if (!parsed.success) return null;
      const at = now();
      if (Math.floor(at / 1_000) !== second) {
        second = Math.floor(at / 1_000);
        inSecond = 0;
      }
      inSecond += 1;
      if (inSecond > PER_SECOND) {
        dropped += 1;
        return null;
      }
      const text = typeof data === "string" ? data : (JSON.stringify(data) ?? "");
      const message: ServerMessage = {
        at: new Date(at).toISOString(),
        level: parsed.data,
        // Redacted before the cut: half of a value would not be found.
        logger: typeof logger === "string" ? cutText(redact(logger), MAX_LOGGER) : null,
        text: cutText(redact(text), MAX_TEXT),
      };
      kept.push(message);
      if (kept.length > KEPT) kept.shift();
      return message;
    },
    last: (count: number) => kept.slice(-count),
    get dropped() {
      return dropped;
    },
  };
}
