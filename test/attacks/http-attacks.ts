import { createHash } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { AttackRow } from "./attack-table.ts";

/** A gateway with a hook called `orders`, and an API key of each role. */
export interface HttpWorld {
  readonly url: string;
  readonly keys: Readonly<Record<Role, string>>;
}
export type Role = "viewer" | "operator" | "approver" | "admin";
type Row = AttackRow<HttpWorld>;

const MIB = 1024 * 1024;
/** The sizes that once took the gateway from 163 to 683 MB. */
const CONNECTIONS = 520;
/** Several times one address's limit of concurrent requests. */
const SOME = 60;
const BODY = Buffer.alloc(1_040_000, 0x20);
/** For many requests at the same time, whose turns of the event loop add up; with the buffers of that many sockets. */
const MANY_LIMITS = { stallMs: 500, growthMb: 128 };

/** Sends a request; resolves with status and code of the answer, `cut` when the connection ends without one. */
export function send(
  target: string,
  {
    method = "POST",
    key,
    body,
    headers = {},
  }: {
    readonly method?: string;
    readonly key?: string;
    readonly body?: Uint8Array;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const sent = httpRequest(
    target,
    {
      method,
      agent: false,
      headers: {
        "content-type": "application/json",
        ...(body === undefined ? {} : { "content-length": body.length }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...headers,
      },
    },
    (response: IncomingMessage) =>
      void text(response).then(
        (answer) => resolve(`${response.statusCode} ${codeOf(answer)}`),
        () => resolve("cut"),
      ),
  );
  sent.on("error", () => resolve("cut"));
  sent.end(body);
  return promise;
}

function codeOf(answer: string): string {
  try {
    const { code, error } = JSON.parse(answer) as { code?: unknown; error?: { code?: unknown } };
    const found = code ?? error?.code;
    return typeof found === "string" || typeof found === "number" ? String(found) : "";
  } catch {
    return "";
  }
}

/** Many at the same time; resolves with the one answer that all had, or with all different ones. */
async function many(
  count: number,
  one: () => Promise<string>,
  fine: readonly string[],
): Promise<string> {
  const answers = new Set(await Promise.all(Array.from({ length: count }, one)));
  const others = [...answers].filter((answer) => !fine.includes(answer));
  return others.length === 0 ? "refused" : others.toSorted().join(", ");
}

/** The status of the answer to a head that is sent unchanged, without a body. */
export async function sendHead(
  { url }: Pick<HttpWorld, "url">,
  head: (host: string) => string,
): Promise<string> {
  const { hostname, port, host } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(`${head(host)}\r\nConnection: close\r\n\r\n`);
  const [, status = ""] = (await text(socket)).split(" ");
  return status;
}

const strangers: readonly Row[] = [
  {
    attempt: "a body that says it has ten gigabytes",
    caller: "a stranger",
    face: "POST /hooks/orders",
    expected: "413",
    run: (world) =>
      sendHead(
        world,
        (host) => `POST /hooks/orders HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10000000000`,
      ),
  },
  ...[
    {
      face: "POST /hooks/no-such/account, which does not exist",
      count: CONNECTIONS,
      // No channels service runs here, which would return 404.
      fine: ["404 unknown_hook", "503 no_responders", "429 rate_limited"],
    },
    {
      face: "POST /hooks/no-such, which does not exist",
      fine: ["404 unknown_hook", "429 rate_limited"],
    },
    {
      face: "POST /hooks/orders, with a wrong signature",
      fine: ["403 bad_signature", "429 rate_limited", "429 too_many_bytes"],
    },
    { face: "POST /api/v1/runs, without a credential", fine: ["401 unauthenticated"] },
  ].map(({ face, count = SOME, fine }): Row => ({
    attempt: `${count} bodies of a megabyte at the same time`,
    caller: "a stranger",
    face,
    expected: "refused",
    limits: MANY_LIMITS,
    run: ({ url }) => {
      const [path = ""] = /\/[\w/-]+/.exec(face) ?? [];
      return many(count, () => send(`${url}${path}`, { body: BODY }), [...fine, "cut"]);
    },
  })),
  {
    attempt: "two Host headers",
    caller: "a stranger",
    face: "GET /api/v1/me",
    expected: "400",
    run: (world) =>
      sendHead(world, (host) => `GET /api/v1/me HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example`),
  },
  {
    attempt: "another host in the first line",
    caller: "a stranger",
    face: "GET /.well-known/oauth-protected-resource",
    expected: "400",
    run: (world) =>
      sendHead(
        world,
        (host) =>
          `GET http://evil.example/.well-known/oauth-protected-resource HTTP/1.1\r\nHost: ${host}`,
      ),
  },
];

const FINE_WHEN_MANY = [
  "202 ",
  "429 too_many_bytes",
  "503 too_many_bytes",
  "400 invalid_request",
  "cut",
];

const callers: readonly Row[] = [
  {
    attempt: `${SOME} bodies of a megabyte at the same time`,
    caller: "an operator",
    face: "POST /api/v1/policy/explain",
    expected: "refused",
    limits: MANY_LIMITS,
    run: ({ url, keys }) =>
      many(
        SOME,
        () =>
          send(`${url}/api/v1/policy/explain`, { key: keys.operator, body: filledBody(MIB - 100) }),
        FINE_WHEN_MANY,
      ),
  },
  {
    attempt: "an archive that is larger than one may be",
    caller: "an operator",
    face: "POST /api/v1/skills/archive",
    expected: "413 payload_too_large",
    run: ({ url, keys }) =>
      send(`${url}/api/v1/skills/archive?label=x&format=zip&dryRun=true`, {
        key: keys.operator,
        body: Buffer.alloc(41 * MIB),
        headers: { "content-type": "application/zip" },
      }).then((answer) => (answer === "cut" ? "413 payload_too_large" : answer)),
  },
  {
    attempt: "an archive of 30 MB of nothing",
    caller: "an operator",
    face: "POST /api/v1/skills/archive",
    expected: "409 archive_refused",
    run: ({ url, keys }) =>
      send(`${url}/api/v1/skills/archive?label=x&format=zip&dryRun=true`, {
        key: keys.operator,
        body: Buffer.alloc(30 * MIB),
        headers: { "content-type": "application/zip" },
      }),
  },
  {
    attempt: "the run of another owner",
    caller: "an operator",
    face: "POST /api/v1/runs",
    expected: "400 invalid_request",
    run: ({ url, keys }) =>
      send(`${url}/api/v1/runs`, {
        key: keys.operator,
        body: Buffer.from('{"agent":"echo","input":"x","runId":"team-a~mine"}'),
      }),
  },
  {
    attempt: "one Idempotency-Key for two requests",
    caller: "an operator",
    face: "POST /api/v1/runs",
    expected: "422 idempotency_key_reused",
    run: async ({ url, keys }) => {
      const start = (input: string) =>
        send(`${url}/api/v1/runs`, {
          key: keys.operator,
          body: Buffer.from(JSON.stringify({ agent: "echo", input })),
          headers: { "idempotency-key": createHash("sha256").update(url).digest("hex") },
        });
      await start("one");
      return start("two");
    },
  },
];

function filledBody(size: number): Buffer {
  return Buffer.from(JSON.stringify({ args: { text: "x".repeat(size - 40) } }));
}

/** Requests to the HTTP port, with and without a credential, and the answer to each. */
export const httpAttacks: readonly Row[] = [...strangers, ...callers];
