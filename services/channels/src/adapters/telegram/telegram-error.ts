import type { GrammyError } from "grammy";
import { ChannelError } from "../adapter.ts";
import { wasNeverConnected } from "../error-causes.ts";

/** Converts an error of a Bot API call. The library's own message may contain the URL with the token and is left out. */
export function telegramError(error: unknown): ChannelError {
  if (error instanceof ChannelError) return error;
  if (!isRefusal(error))
    return wasNeverConnected(error)
      ? new ChannelError("provider_error", "Telegram was not reached; nothing was sent.")
      : new ChannelError("timeout_unknown", "Telegram's answer was lost.");
  const { error_code: status, description, parameters } = error;
  if (status === 429)
    return new ChannelError("rate_limited", `Telegram: ${description}`, {
      retryAfterMs: (parameters.retry_after ?? 1) * 1000,
    });
  if (status >= 500) return new ChannelError("timeout_unknown", `Telegram failed: ${description}`);
  if (isSignInRefused(error)) return new ChannelError("not_allowed", REFUSED_TOKEN);
  if (status === 403) return new ChannelError("not_allowed", `Telegram: ${description}`);
  if (/message (to [\w ]+)?not found|MESSAGE_ID_INVALID/i.test(description))
    return new ChannelError("not_found", `Telegram: ${description}`);
  if (/(chat|user|thread) not found|PEER_ID_INVALID|chat_id is empty/i.test(description))
    return new ChannelError("invalid_target", `Telegram: ${description}`);
  if (/not enough rights|can't be deleted|need administrator/i.test(description))
    return new ChannelError("not_allowed", `Telegram: ${description}`);
  // Any other 4xx is about the message itself, such as "message text is empty" or "can't parse entities".
  return new ChannelError("provider_error", `Telegram: ${description}`, { isFinal: true });
}

/** The id of the supergroup that a group became; null when the error names none. */
export function migratedTo(error: unknown): string | null {
  const id = isRefusal(error) ? error.parameters.migrate_to_chat_id : undefined;
  return id === undefined ? null : String(id);
}

/** Returns the problem shown for an account whose messages cannot be fetched. */
export function telegramProblem(error: unknown): { text: string; isFinal: boolean } {
  if (!isRefusal(error)) return { text: "Telegram cannot be reached.", isFinal: false };
  if (isSignInRefused(error)) return { text: REFUSED_TOKEN, isFinal: true };
  if (error.error_code === 409)
    return {
      text: `Another program fetches this bot's messages, or a webhook is set (${error.description}). Give each installation a bot of its own.`,
      isFinal: false,
    };
  return { text: `Telegram: ${error.description}`, isFinal: false };
}

const REFUSED_TOKEN =
  "Telegram refuses the token: it was revoked or is wrong. Ask @BotFather for a new one (/token) and put it where channels.json reads it.";

/** 404 is Telegram's answer to a token that is none at all. */
function isSignInRefused(error: GrammyError): boolean {
  return error.error_code === 401 || error.error_code === 404;
}

// Compares by name, as the library is loaded only when an account uses it.
function isRefusal(error: unknown): error is GrammyError {
  return error instanceof Error && error.name === "GrammyError";
}
