import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import type { Verdict } from "./circuit-breaker.ts";
import { OldQuestionError } from "./old-question.ts";

/**
 * The classes of a failed request: the one question is whether the tool may have run.
 * - `not_sent`: the server never saw the call.
 * - `answered`: the server answered, with a refusal or with something that is not a result.
 * - `timed_out`: no answer came in time; the server was notified to stop.
 * - `lost`: the connection ended after the call was sent.
 */
export interface CallFailure {
  readonly kind: "not_sent" | "answered" | "timed_out" | "lost";
  readonly reason: string;
}

/** Network errors that come before the first byte of a request. */
const BEFORE_SENDING = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Ours: an address that is not permitted. */
const EGRESS_REFUSED = "EGRESS_REFUSED";

/**
 * The SDK sets this mark on errors from where a request gets its login: before it is sent, or after the server refused it with 401
 * or 403. Whether a login is missing, Redis is down or the authorization server does not answer: the call was not made.
 */
const AT_THE_LOGIN = Symbol.for("mcp.authSeamEscape");

/** Marks an error as one of the login, which comes before the server does anything. */
export function atTheLogin(error: unknown): unknown {
  if (error instanceof Error) Object.defineProperty(error, AT_THE_LOGIN, { value: true });
  return error;
}

/** Classifies what the SDK throws from a request. Anything unknown counts as `lost`, the careful answer. */
export function classifyCallFailure(error: unknown): CallFailure {
  const reason = errorText(error);
  if (error instanceof Error && AT_THE_LOGIN in error) return { kind: "not_sent", reason };
  if (error instanceof UnauthorizedError || error instanceof InsufficientScopeError)
    return { kind: "not_sent", reason };
  if (error instanceof ProtocolError || error instanceof OldQuestionError)
    return { kind: "answered", reason };
  if (error instanceof SdkHttpError)
    return { kind: error.status < 500 ? "not_sent" : "lost", reason };
  if (error instanceof SdkError) return { kind: kindOfCode(error.code), reason };
  // The SDK throws a plain error when the transport is gone before the request is written.
  if (error instanceof Error && error.message === "Not connected")
    return { kind: "not_sent", reason };
  if (error instanceof Error && "code" in error && error.code === EGRESS_REFUSED)
    return { kind: "not_sent", reason };
  const code = networkCode(error);
  return { kind: code !== null && BEFORE_SENDING.has(code) ? "not_sent" : "lost", reason };
}

/** HTTP statuses for a session that the server does not have: the specification prescribes the first. */
const SESSION_IS_GONE = new Set([404, 410]);
/** These have other reasons, too, which only the body distinguishes. */
const SESSION_MAY_BE_GONE = new Set([400, 401]);
const ABOUT_THE_SESSION = /session|not (?:yet )?initiali[sz]ed|initiali[sz]e first/i;

/** True for an error of a server that does not have the session of the request. */
export function speaksOfSession(error: unknown): boolean {
  const message =
    typeof error === "object" && error !== null ? Reflect.get(error, "message") : null;
  return typeof message === "string" && ABOUT_THE_SESSION.test(message);
}

/**
 * True when a request that was not sent may succeed in a new session: the server no longer has this one, or it could not be
 * reached and may have restarted. A stateless connection has no session that could be gone.
 */
export function mayNeedNewSession(
  error: unknown,
  { isStateless }: { readonly isStateless: boolean },
): boolean {
  if (error instanceof Error && AT_THE_LOGIN in error) return false;
  if (error instanceof SdkHttpError) {
    const isGone = SESSION_IS_GONE.has(error.status);
    const isSaid = SESSION_MAY_BE_GONE.has(error.status) && speaksOfSession(error);
    return !isStateless && (isGone || isSaid);
  }
  const code = networkCode(error);
  return code !== null && BEFORE_SENDING.has(code);
}

/**
 * The verdict of a failure about the connection to the server. Every answer of the server counts as
 * good: a caller can cause it with bad arguments, and must not close the server to others.
 */
export function verdictOf(error: unknown, failure: CallFailure): Verdict {
  switch (failure.kind) {
    case "answered":
      return "good";
    case "not_sent":
      return networkCode(error) === null ? "none" : "bad";
    case "timed_out":
    case "lost":
      return "bad";
    default:
      return failure.kind satisfies never;
  }
}

/** The message of an error with the reason below it, which `fetch` hides in its cause. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof SdkHttpError) return httpText(error);
  // The SDK appends the findings of its validator to these words: a list of paths and types, which is no sentence.
  const unread = /^Invalid result for ([\w/]+): [[{]/.exec(error.message);
  if (unread !== null)
    return `the answer to ${unread[1]} does not have the form that MCP prescribes`;
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  // An address with several IPs fails with an aggregate whose own message is empty.
  const below = cause.message || (networkCode(error) ?? cause.name);
  return error.message.includes(below) ? error.message : `${error.message}: ${below}`;
}

const POST_FAILED = "Error POSTing to endpoint:";

/** The SDK's error for a refused request holds its body or its status, and the body may be empty or a page for a browser. */
function httpText({ message, status, data }: SdkHttpError): string {
  const isPost = message.startsWith(POST_FAILED);
  const text = isPost ? message.slice(POST_FAILED.length) : String(Object(data)["text"] ?? "");
  const body = /^\s*<(?:!doctype|html)\b/i.test(text)
    ? (/<title[^>]{0,200}>([^<]{1,300})/i.exec(text)?.[1] ?? "")
    : text;
  const what = isPost ? `the server answered HTTP ${status}` : message;
  const said = body.trim();
  return said === "" || what.includes(said) ? what : `${what}: ${said}`;
}

function kindOfCode(code: SdkErrorCode): CallFailure["kind"] {
  switch (code) {
    case SdkErrorCode.RequestTimeout:
      return "timed_out";
    case SdkErrorCode.NotConnected:
    case SdkErrorCode.NotInitialized:
    case SdkErrorCode.CapabilityNotSupported:
    case SdkErrorCode.MethodNotSupportedByProtocolVersion:
      return "not_sent";
    case SdkErrorCode.InvalidResult:
    case SdkErrorCode.UnsupportedResultType:
    case SdkErrorCode.InputRequiredRoundsExceeded:
      return "answered";
    default:
      return "lost"; // the other codes are ends of the connection
  }
}

function networkCode(error: unknown): string | null {
  const cause = error instanceof Error ? error.cause : null;
  return cause instanceof Error && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : null;
}
