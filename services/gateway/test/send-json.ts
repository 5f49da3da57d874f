export interface Sent {
  /** The address of a gateway. */
  readonly at: string;
  readonly method?: string;
  readonly key?: string;
  /** A text is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** Sends a request to `/api/v1` of a gateway and resolves with the answer. */
export async function sendJson(
  path: string,
  { at, method = "GET", key, body, headers = {} }: Sent,
) {
  const response = await fetch(`${at}/api/v1${path}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  });
  const answer = await response.text();
  const json = (answer === "" ? null : JSON.parse(answer)) as Record<string, unknown>;
  return { status: response.status, json, headers: response.headers };
}
