import type { DiscordAPIError, HTTPError, RateLimitError } from "@discordjs/rest";
import { ChannelError } from "../adapter.ts";
import { wasNeverConnected } from "../error-causes.ts";

/** Converts an error of a request. */
export function discordError(error: unknown): ChannelError {
  if (error instanceof ChannelError) return error;
  if (isRateLimit(error))
    return new ChannelError("rate_limited", "Discord limits how often this may be requested.", {
      retryAfterMs: Math.max(1, Math.ceil(error.retryAfter)),
    });
  if (isRefusal(error)) return refused(error);
  if (isHttpError(error) && error.status < 500)
    return new ChannelError("provider_error", `Discord answered with status ${error.status}.`, {
      isFinal: error.status !== 408 && error.status !== 429,
    });
  return wasNeverConnected(error)
    ? new ChannelError("provider_error", "Discord was not reached; nothing was sent.")
    : new ChannelError("timeout_unknown", "Discord's answer was lost.");
}

/** The gateway ended the connection with this code. */
export class GatewayClosed extends Error {
  override readonly name = "GatewayClosed";
  readonly code: number;

  constructor(code: number) {
    super(`the gateway closed the connection (${code})`);
    this.code = code;
  }
}

/** Returns the problem shown for an account without a connection. */
export function discordProblem(error: unknown): { text: string; isFinal: boolean } {
  if (error instanceof GatewayClosed) {
    const final = FINAL_CLOSES[error.code];
    return final === undefined
      ? { text: `Discord closed the connection (${error.code}).`, isFinal: false }
      : { text: final, isFinal: true };
  }
  if (isRefusal(error) && error.status === 401) return { text: REFUSED_TOKEN, isFinal: true };
  return { text: "Discord cannot be reached.", isFinal: false };
}

function refused(error: DiscordAPIError): ChannelError {
  const code = Number(error.code);
  const text = `Discord refuses this: ${error.message} (${code}).`;
  if (error.status === 401) return new ChannelError("not_allowed", REFUSED_TOKEN);
  if (UNKNOWN_TARGETS.has(code)) return new ChannelError("invalid_target", text);
  if (code === 10_014) return new ChannelError("unsupported", text);
  if (error.status === 403) return new ChannelError("not_allowed", text);
  if (error.status === 404) return new ChannelError("not_found", text);
  // Any other 4xx is about the message itself, such as 50035, an invalid form body, and 50006, an empty message.
  return new ChannelError("provider_error", text, { isFinal: error.status < 500 });
}

const REFUSED_TOKEN =
  "Discord refuses the token: it was reset or is wrong. Make a new one on the application's page Bot (Reset Token) and put it where channels.json reads it.";

/** Unknown channel, guild, user; one cannot write to oneself or into this kind of channel. */
const UNKNOWN_TARGETS = new Set([10_003, 10_004, 10_013, 50_008]);

const FINAL_CLOSES: Readonly<Record<number, string>> = {
  4004: REFUSED_TOKEN,
  4010: "Discord refuses the shard.",
  4011: "This bot is in so many servers that Discord wants several connections, which this adapter does not make.",
  4013: "Discord does not know the intents.",
  4014: "Discord refuses the intent to read messages. Switch on 'Message Content Intent' on the application's page Bot.",
};

// Compares by name, as the library is loaded only when an account uses it; it appends a code or route to the name.
function isRefusal(error: unknown): error is DiscordAPIError {
  return error instanceof Error && error.name.startsWith("DiscordAPIError");
}

function isRateLimit(error: unknown): error is RateLimitError {
  return error instanceof Error && error.name.startsWith("RateLimitError");
}

function isHttpError(error: unknown): error is HTTPError {
  return error instanceof Error && error.name === "HTTPError";
}
