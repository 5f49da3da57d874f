import { createECDH, createPublicKey, randomBytes, verify } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { after } from "node:test";
import { decryptMessage } from "./push-browser.ts";

/** A message that the push service took, as its browser reads it. */
export interface PushMessage {
  readonly text: string;
  readonly ttl: number;
  readonly topic: string | undefined;
  readonly atMs: number;
}

/** An answer that the service gives in place of taking a message. */
export interface PushAnswer {
  readonly status: number;
  readonly retryAfter?: string;
}

/** A browser that has subscribed at the service. */
export interface SubscribedBrowser {
  /** The form of `PushSubscription.toJSON()` and the key, as `PUT /push` takes it. */
  readonly subscription: {
    readonly endpoint: string;
    readonly keys: { readonly p256dh: string; readonly auth: string };
    readonly publicKey: string;
  };
  /** The messages that were taken for it. */
  readonly messages: PushMessage[];
  /** The answers to its next messages, in their order. */
  readonly answers: PushAnswer[];
  /** The status of every answer that it gave. */
  readonly statuses: number[];
}

export interface PushService {
  readonly origin: string;
  subscribe(publicKey: string): SubscribedBrowser;
  /** Requests that broke a rule, in words. */
  readonly faults: readonly string[];
}

interface Registered extends SubscribedBrowser {
  readonly decrypt: (message: Buffer) => string;
}

/** RFC 8030 section 7.2: a service must take 4,096 bytes, and those of browsers' makers take no more. */
const MOST_BYTES = 4_096;
const DAY_SECONDS = 86_400;

/** Starts a push service that refuses whatever one of the makers' services refuses. It ends with the test file. */
export async function startPushService(): Promise<PushService> {
  const browsers = new Map<string, Registered>();
  const faults: string[] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => {
      faults.push(String(error));
      response.writeHead(500).end();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // It listens on a port.
  after(() => {
    server.close();
    server.closeAllConnections();
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const browser = browsers.get(request.url ?? "");
    if (browser === undefined) return void response.writeHead(404).end();
    const refuse = (status: number, why: string): void => {
      faults.push(`${status}: ${why}`);
      browser.statuses.push(status);
      response.writeHead(status).end(why);
    };
    const refusal = refusalOf(request, { body, origin, key: browser.subscription.publicKey });
    if (refusal !== null) return refuse(...refusal);
    const planned = browser.answers.shift();
    const { status = 201, retryAfter } = planned ?? {};
    browser.statuses.push(status);
    if (status === 201) {
      const ttl = Number(request.headers["ttl"]);
      const topic = request.headers["topic"]?.toString();
      browser.messages.push({ text: browser.decrypt(body), ttl, topic, atMs: Date.now() });
    }
    // RFC 8030 section 5: the answer to a message has its address.
    const location =
      status === 201 ? { location: `${origin}/m/${randomBytes(8).toString("hex")}` } : {};
    const wait = retryAfter === undefined ? {} : { "retry-after": retryAfter };
    response.writeHead(status, { ...location, ...wait }).end();
  }

  return {
    origin,
    faults,
    subscribe(publicKey) {
      const ecdh = createECDH("prime256v1");
      const [p256dh, auth] = [ecdh.generateKeys(), randomBytes(16)];
      const path = `/push/${randomBytes(12).toString("base64url")}`;
      const keys = { p256dh: p256dh.toString("base64url"), auth: auth.toString("base64url") };
      const browser: Registered = {
        subscription: { endpoint: `${origin}${path}`, keys, publicKey },
        messages: [],
        answers: [],
        statuses: [],
        decrypt: (message) => decryptMessage(message, { ecdh, auth }).toString(),
      };
      browsers.set(path, browser);
      return browser;
    },
  };
}

/** Status and reason of the refusal of a message; null for one that is right. */
function refusalOf(
  { method, headers }: IncomingMessage,
  { body, origin, key }: { readonly body: Buffer; readonly origin: string; readonly key: string },
): [number, string] | null {
  const header = (name: string): string => headers[name]?.toString() ?? "";
  if (method !== "POST") return [405, "a message is posted (RFC 8030 section 5)"];
  if (!/^\d+$/.test(header("ttl"))) return [400, "a message has a TTL (RFC 8030 section 5.2)"];
  if (!["", "very-low", "low", "normal", "high"].includes(header("urgency")))
    return [400, "an unknown urgency (RFC 8030 section 5.3)"];
  if (!/^[\w-]{0,32}$/.test(header("topic")))
    return [400, "a topic has 32 characters of base64url at most (RFC 8030 section 5.4)"];
  // autopush-rs refuses other encodings with 400; aesgcm is that of drafts.
  if (header("content-encoding") !== "aes128gcm")
    return [400, "the encoding is aes128gcm (RFC 8291 section 4)"];
  if (body.length > MOST_BYTES) return [413, "too large (RFC 8030 section 7.2)"];
  const [, token = "", k = ""] =
    /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(header("authorization")) ?? [];
  if (token === "") return [401, "no vapid token and key (RFC 8292 section 3)"];
  if (k !== key) return [403, "the key of another subscription (RFC 8292 section 4.2)"];
  const wrong = wrongToken(token, { origin, key });
  return wrong === null ? null : [403, wrong];
}

function wrongToken(
  token: string,
  { origin, key }: { readonly origin: string; readonly key: string },
): string | null {
  const [head = "", claims = "", signature = ""] = token.split(".");
  const parsed = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString());
  const { alg } = parsed(head) as { alg?: unknown }; // A token that is no object fails as a fault.
  if (alg !== "ES256") return "the algorithm is ES256 (RFC 8292 section 2)";
  const point = Buffer.from(key, "base64url");
  const x = point.subarray(1, 33).toString("base64url");
  const y = point.subarray(33).toString("base64url");
  const publicKey = createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
  const by = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
  if (!verify("sha256", Buffer.from(`${head}.${claims}`), by, Buffer.from(signature, "base64url")))
    return "the signature is wrong";
  const { aud, exp, sub } = parsed(claims) as Record<string, unknown>; // A token that is no object fails as a fault.
  if (aud !== origin) return "another audience than the origin (RFC 8292 section 2)";
  const seconds = Number(exp) - Date.now() / 1_000;
  if (!(seconds > 0 && seconds <= DAY_SECONDS)) return "it ends within a day (RFC 8292 section 2)";
  // RFC 8292 only advises it; Mozilla's service needs it: https://github.com/mozilla-services/autopush-rs/issues/361
  return /^(mailto:|https:)/.test(String(sub)) ? null : "no contact";
}
