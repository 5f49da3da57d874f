import { ServiceError } from "@switchyard/contracts/errors";
import { StorageFull } from "@switchyard/contracts/store-errors";
import { withoutSubjects } from "@switchyard/contracts/subject-words";
import { StoreError } from "@switchyard/service/store-error";

/** Status and code of errors for which a route's existing clients expect other values. */
export type Codes = Readonly<
  Record<string, readonly [status: number, code: string, message?: string]>
>;

/** An error of a request, as RFC 9457 defines it. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly code: string;
  readonly data: unknown;
  readonly headers: Readonly<Record<string, string>>;
  /** The next step; undefined for the one of the status. */
  readonly next: string | undefined;

  constructor(facts: {
    status: number;
    code: string;
    detail: string;
    next?: string | undefined;
    data?: unknown;
    headers?: Readonly<Record<string, string>>;
  }) {
    super(facts.detail);
    this.status = facts.status;
    this.code = facts.code;
    this.data = facts.data ?? null;
    this.next = facts.next ?? NEXT_BY_CODE[facts.code];
    this.headers = facts.headers ?? {};
  }
}

/** Statuses by code; other codes get theirs by their ending, and then 409: the state of an object does not allow the request. */
const STATUS: Readonly<Record<string, number>> = {
  invalid_request: 400,
  invalid_config: 400,
  invalid_arguments: 400,
  invalid_answer: 400,
  invalid_content: 400,
  bad_pointer: 400,
  reason_required: 400,
  bad_request_choice: 400,
  bad_attachment: 400,
  invalid_target: 400,
  bad_credential: 401,
  invalid_token: 401,
  forbidden: 403,
  denied: 403,
  not_allowed: 403,
  not_found: 404,
  tool_unavailable: 409,
  version_changed: 412,
  payload_too_large: 413,
  upload_too_large: 413,
  invalid_subscription: 400,
  session_required: 403,
  file_too_large: 413,
  unsupported_file: 415,
  result_too_large: 502,
  overloaded: 429,
  rate_limited: 429,
  server_overloaded: 429,
  too_many: 429,
  internal: 500,
  storage_full: 507,
  files_full: 507,
  invalid_reply: 502,
  provider_error: 502,
  invalid_result: 502,
  server_down: 502,
  server_failed: 502,
  server_timeout: 504,
  tool_timeout: 504,
  timeout: 504,
  timeout_unknown: 504,
  deadline_exceeded: 504,
  no_responders: 503,
  disconnected: 503,
  policy_unavailable: 503,
};

/** The next step by status. */
const NEXT: Readonly<Record<number, string>> = {
  400: "correct the request as the detail says, and send it again",
  401: "send Authorization: Bearer with an API key (yk_…) or a token of a configured issuer",
  403: "use a credential with the role or scope, or ask an administrator for it",
  404: "check the address and the ids in it; /api/v1/openapi.json lists the operations",
  405: "use one of the methods in Allow",
  409: "read the object's state, and send the request again when it allows it",
  412: "read it again, and send its ETag in If-Match if the change is still wanted",
  413: "send less in one request",
  415: "send the body in the type that the detail names",
  422: "send the request with a new Idempotency-Key",
  429: "wait as long as Retry-After says, and send the same request again",
  500: "look for the request id in the log of the gateway and of the service",
  502: "the service or MCP server behind answered badly; its log has the request id",
  503: "send the same request again shortly",
  504: "it may have been carried out: look before you send it again",
  507: "delete runs' sessions, jobs or what agents keep in memory, or wait until old runs expire, and send the same request again",
};

/** The next step of codes for which the status says too little. */
const NEXT_BY_CODE: Readonly<Record<string, string>> = {
  foreign_origin:
    "use a name that YARD_HTTP_HOSTS has, or ask the operator to add this one (in the chart: gateway.hosts)",
  unknown_server:
    "GET /api/v1/mcp/servers lists the MCP servers and their ids; POST /api/v1/mcp/servers adds one",
};

export function statusOf(code: string): number {
  if (Object.hasOwn(STATUS, code)) return STATUS[code] ?? 409;
  if (code.startsWith("unknown_")) return 404;
  if (code.startsWith("forbidden_")) return 403;
  return code.endsWith("_unavailable") ? 503 : 409;
}

/** Converts an error of a call to the answer of its route; null for a fault. */
export function problemOf(error: unknown, route: { readonly codes?: Codes } = {}): Problem | null {
  const found = knownProblem(error);
  const own = found === null ? undefined : route.codes?.[found.code];
  if (found === null || own === undefined) return found;
  const [status, code, message] = own;
  const detail = message === undefined ? found.message : `${message}: ${found.message}`;
  return new Problem({ status, code, detail, next: found.next, data: found.data });
}

function knownProblem(error: unknown): Problem | null {
  if (error instanceof Problem) return error;
  if (error instanceof ServiceError) return problemOfService(error);
  // The gateway's own store has failed, which serves rate limits and sign-ins; services report theirs as errors of their contracts.
  if (error instanceof StoreError)
    return problemOfService(new ServiceError("store_unavailable", error.message));
  return null;
}

function problemOfService(error: ServiceError): Problem {
  const { code, data } = error;
  // The operator has to enlarge a Redis that is full of others' data; RFC 4918 (507) is about the data of the caller.
  const isOfRedis = code === "storage_full" && StorageFull.safeParse(data).data?.scope === "redis";
  const status = isOfRedis ? 503 : statusOf(code);
  const headers =
    status === 429 || status === 503 ? { "retry-after": String(secondsOf(data)) } : {};
  return new Problem({ status, code, detail: withoutSubjects(error), data, headers });
}

/** Returns the seconds after which to retry, if the error states them. */
function secondsOf(data: unknown): number {
  const { retryAfterMs } = Object(data) as { readonly retryAfterMs?: unknown };
  return typeof retryAfterMs === "number" ? Math.max(1, Math.ceil(retryAfterMs / 1_000)) : 1;
}

/** The body of the answer. */
export function problemBody(problem: Problem, requestId: string): string {
  const { status, code, message, data } = problem;
  const next = problem.next ?? NEXT[status] ?? "look for the request id in the log of the gateway";
  return JSON.stringify({
    type: `urn:switchyard:problem:${code}`,
    title: code.replaceAll("_", " ").toLowerCase(),
    status,
    detail: message,
    code,
    next,
    ...(data === null ? {} : { data }),
    requestId,
  });
}
