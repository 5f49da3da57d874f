import type { WebAPIHTTPError, WebAPIPlatformError, WebAPIRateLimitedError } from "@slack/web-api";
import { ChannelError, type ChannelErrorCode } from "../adapter.ts";
import { wasNeverConnected } from "../error-causes.ts";

/** Converts an error of a Web API call. */
export function slackError(error: unknown): ChannelError {
  if (error instanceof ChannelError) return error;
  if (isNamed<WebAPIRateLimitedError>(error, "WebAPIRateLimitedError"))
    return new ChannelError("rate_limited", "Slack limits how often this may be requested.", {
      retryAfterMs: Math.max(1, error.retryAfter) * 1000,
    });
  const refusal = refusalOf(error);
  if (refusal !== null) return refused(refusal, error);
  if (isNamed<WebAPIHTTPError>(error, "WebAPIHTTPError") && error.statusCode < 500)
    return new ChannelError("provider_error", `Slack answered with status ${error.statusCode}.`, {
      isFinal: error.statusCode !== 408 && error.statusCode !== 429,
    });
  return wasNeverConnected(error)
    ? new ChannelError("provider_error", "Slack was not reached; nothing was sent.")
    : new ChannelError("timeout_unknown", "Slack's answer was lost.");
}

/** Returns the problem shown for an account without a connection. */
export function slackProblem(error: unknown): { text: string; isFinal: boolean } {
  const refusal = refusalOf(error);
  if (refusal === null)
    return {
      text: error instanceof ChannelError ? error.message : "Slack cannot be reached.",
      isFinal: false,
    };
  const { code, message } = refused(refusal, error);
  return { text: message, isFinal: code === "not_allowed" };
}

/** Returns Slack's code of a refusal, such as `channel_not_found`; null when the error is none. */
export function refusalOf(error: unknown): string | null {
  return isNamed<WebAPIPlatformError>(error, "WebAPIPlatformError") ? error.data.error : null;
}

function refused(word: string, error: unknown): ChannelError {
  if (REFUSED_TOKEN.has(word))
    return new ChannelError(
      "not_allowed",
      `Slack refuses the token (${word}). Install the app again or make a new token, and put it where channels.json reads it.`,
    );
  // After a failure of Slack itself the request may have been executed.
  if (UNKNOWN.has(word)) return new ChannelError("timeout_unknown", `Slack failed (${word}).`);
  const { needed } = (error as WebAPIPlatformError).data as { needed?: unknown };
  const scope =
    word === "missing_scope" && typeof needed === "string"
      ? `; give the app the scope ${needed}`
      : "";
  return new ChannelError(CODES[word] ?? "provider_error", `Slack refuses this: ${word}${scope}.`, {
    isFinal: !PASSING.has(word),
  });
}

const REFUSED_TOKEN = new Set([
  "invalid_auth",
  "not_authed",
  "token_expired",
  "token_revoked",
  "account_inactive",
  "team_access_not_granted",
]);

const UNKNOWN = new Set([
  "internal_error",
  "fatal_error",
  "service_unavailable",
  "request_timeout",
]);

/** Temporary refusals, according to the reference of `chat.postMessage`. */
const PASSING = new Set(["ratelimited", "rate_limited", "accesslimited", "team_added_to_org"]);

const CODES: Readonly<Record<string, ChannelErrorCode>> = {
  channel_not_found: "invalid_target",
  user_not_found: "invalid_target",
  users_not_found: "invalid_target",
  is_archived: "invalid_target",
  cannot_dm_bot: "invalid_target",
  message_not_found: "not_found",
  thread_not_found: "not_found",
  not_in_channel: "not_allowed",
  missing_scope: "not_allowed",
  cant_delete_message: "not_allowed",
  restricted_action: "not_allowed",
  no_permission: "not_allowed",
  not_allowed_token_type: "not_allowed",
  invalid_name: "unsupported",
};

// Compares by name, as the library is loaded only when an account uses it.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the name decides which error it is
function isNamed<E extends Error>(error: unknown, name: string): error is E {
  return error instanceof Error && error.name === name;
}
