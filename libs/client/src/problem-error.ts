/** The gateway's answer to a request that it refuses, RFC 9457. */
export interface Problem {
  readonly status: number;
  /** The codes are listed in docs/reference/subjects.md, for example `unknown_run`; it is `unreachable` when no gateway answered. */
  readonly code: string;
  readonly detail: string;
  /** The next step; missing when a proxy answered in the gateway's place. */
  readonly next?: string;
  readonly data?: unknown;
  /** The id of the request in logs; empty when no gateway answered. */
  readonly requestId: string;
}

/** A request failed. `message` is the problem's detail; a `status` of 0 means that no gateway answered. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly problem: Problem;

  constructor(problem: Problem, options?: ErrorOptions) {
    super(problem.detail, options);
    this.problem = problem;
  }

  get code(): string {
    return this.problem.code;
  }

  get status(): number {
    return this.problem.status;
  }

  /** The next step; undefined when a proxy answered in the gateway's place. */
  get next(): string | undefined {
    return this.problem.next;
  }

  /** The id of the request in logs; empty when no gateway answered. */
  get requestId(): string {
    return this.problem.requestId;
  }
}

/** The problem of an answer that is not a success, also of one that a proxy sent in the gateway's place. */
export async function problemOfResponse(response: Response): Promise<ProblemError> {
  const text = await response.text().catch(() => "");
  const body = parsed(text);
  const { status } = response;
  return new ProblemError({
    status,
    code: textOr(body["code"], `http_${status}`),
    detail: textOr(body["detail"], `the server answered ${status} ${response.statusText}`.trim()),
    requestId: textOr(body["requestId"], response.headers.get("x-request-id") ?? ""),
    ...(typeof body["next"] === "string" && { next: body["next"] }),
    ...("data" in body && { data: body["data"] }),
  });
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}
