// Requests of the composition's tests to the gateway, as a program with an API key.
import assert from "node:assert/strict";
import { succeeded, type Composition } from "./composition.ts";

export type Http = (
  path: string,
  init?: Omit<RequestInit, "headers"> & { headers?: Record<string, string> },
) => Promise<Response>;

interface Run {
  readonly status: string;
  readonly output?: string;
}

const ENDED = new Set(["succeeded", "failed", "dead", "cancelled"]);

/** Makes a key. The port of the gateway's container is looked up each time: it changes with a restart. */
export function gatewayOf({ compose, yard }: Composition, container = "gateway"): Http {
  const created = succeeded(yard("keys", "api", "create", "me", "--role", "admin", "--json"));
  const key = /yk_[\w-]+/.exec(created)?.[0];
  return async (path, { headers, ...init } = {}) => {
    const address = succeeded(compose(["port", container, "8321"])).trim();
    return fetch(`http://${address}${path}`, {
      signal: AbortSignal.timeout(20_000),
      ...init,
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
  };
}

export async function startRun(
  http: Http,
  body: { agent: string; input: string; runId: string },
): Promise<void> {
  const response = await http("/api/v1/runs", {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": body.runId },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 202, await response.clone().text());
}

/** `away` while the gateway, or the service behind it, does not answer. */
export async function runOf(http: Http, runId: string): Promise<Run> {
  try {
    const response = await http(`/api/v1/runs/${runId}`);
    if (!response.ok) return { status: "away" };
    // The gateway's answer is checked against its contract in its own tests.
    return ((await response.json()) as { run: Run }).run;
  } catch {
    return { status: "away" };
  }
}

export function hasEnded({ status }: Run): boolean {
  return ENDED.has(status);
}

/** The text of a run's event stream within two seconds, or until it ended. */
export async function eventsSoFar(http: Http, runId: string): Promise<string> {
  let text = "";
  try {
    const response = await http(`/api/v1/runs/${runId}/events`, {
      signal: AbortSignal.timeout(2_000),
    });
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
    }
  } catch {
    // The time is over, or the gateway is away.
  }
  return text;
}
