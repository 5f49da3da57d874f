import type { RunEnd } from "../agent-runs/run-event.ts";
import { Problem, problemOf } from "../problems/problem.ts";

export interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly code: string;
  readonly param: string | null;
}

/** https://platform.openai.com/docs/guides/error-codes: types by status, our code beside them. */
export function openAiErrorOf({ status, code, message, data }: Problem): OpenAiError {
  const param =
    typeof data === "object" && data !== null && "param" in data ? String(data.param) : null;
  return { message, type: typeOf(status), code, param };
}

/**
 * Returns the answer to a request that failed. A retry by the client would start another run, so only requests without any
 * effect may be retried.
 */
export function openAiAnswer(problem: Problem, requestId: string): Response {
  const mayRetry = problem.status === 429 || problem.status === 503;
  return Response.json(
    { error: openAiErrorOf(problem) },
    {
      status: problem.status,
      headers: {
        ...problem.headers,
        "x-request-id": requestId,
        "x-should-retry": String(mayRetry),
      },
    },
  );
}

/** Returns the error that ends a stream, without internal details. */
export function streamErrorOf(error: unknown): OpenAiError {
  const problem = problemOf(error);
  if (problem !== null) return openAiErrorOf(problem);
  const message = "the gateway failed by a fault of its own";
  return { message, type: "server_error", code: "internal", param: null };
}

export function invalid(param: string, detail: string): Problem {
  return new Problem({ status: 400, code: "invalid_value", detail, data: { param } });
}

/** A run that ended without an answer. */
export function problemOfEnd(runId: string, { status, failure }: RunEnd): Problem {
  const code = failure?.code ?? status;
  const detail = `run ${runId}: ${failure?.message ?? status}`;
  return new Problem({ status: httpStatusOf(status, code), code, detail });
}

function httpStatusOf(status: RunEnd["status"], code: string): number {
  if (status === "rejected") return code === "storage_full" ? 507 : 409;
  return status === "cancelled" ? 409 : 500;
}

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}
