import type { IncomingMessage } from "node:http";
import { setImmediate } from "node:timers/promises";
import { JsonGauge } from "@switchyard/bus/bounded-json";
import { cutText } from "@switchyard/contracts/cut-text";
import { MAX_BODY_DEPTH, REQUEST_LIMITS, type JsonLimits } from "@switchyard/contracts/json-limits";
import type { Context } from "hono";
import { limitedAddress } from "../identity/client-address.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import { Problem } from "../problems/problem.ts";
import type { BytesOwner } from "../identity/bytes-in-work.ts";

/** The body of a request. */
export interface Body {
  /** The bytes as received; empty without a body. */
  readonly bytes: Uint8Array;
  /** The parsed JSON; undefined without a body. */
  readonly value: unknown;
  /** True for JSON that takes long to check when everything in it is wrong, see `checkCounted`. */
  readonly isLarge: boolean;
}

/** Above this size a request is passed through the object store, as in `libs/bus`. */
const STORED_ABOVE_BYTES = 512 * 1024;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Returns the JSON limits for a body that becomes a request of `limits`, and has `maxBytes` at most. */
export function bodyLimits(maxBytes: number, limits: JsonLimits = REQUEST_LIMITS): JsonLimits {
  const least = Math.min(maxBytes, limits.maxBytes);
  return { ...limits, maxBytes: least, maxDepth: Math.min(MAX_BODY_DEPTH, limits.maxDepth) };
}

/** Reads a JSON body, and refuses one over the limits while it arrives. Throws a Problem. */
export async function readBody(c: Context<GatewayEnv>, limits: JsonLimits): Promise<Body> {
  const gauge = new JsonGauge(limits);
  const bytes = await readBytes(c, limits.maxBytes, gauge);
  const { isLarge } = gauge;
  if (bytes.length === 0) return { bytes, value: undefined, isLarge };
  const value = jsonOf(bytes, c.env.incoming.headers["content-type"]);
  // Other requests have their turn before a large value is checked and encoded.
  if (bytes.length > STORED_ABOVE_BYTES) await setImmediate();
  return { bytes, value, isLarge };
}

/**
 * Reads the body from the socket: the framework's own request object for it costs more than the rest of a request. Throws a
 * Problem when it is too long, over the limit of a gauge, or over the bytes that its sender may have in work.
 */
export async function readBytes(
  c: Context<GatewayEnv>,
  maxBytes: number,
  gauge?: JsonGauge,
): Promise<Uint8Array> {
  const { incoming } = c.env;
  if (incoming.method === "GET" || incoming.method === "HEAD") return new Uint8Array();
  checkLength(incoming, maxBytes);
  checkEncoding(incoming);
  const owner = ownerOf(c);
  const held = c.get("held");
  let size = 0;
  const bytes = await bytesOf(incoming, (chunk) => {
    size += chunk.length;
    if (size > maxBytes) throw tooLong(maxBytes);
    held.hold(owner, chunk.length);
    const problem = gauge?.add(chunk) ?? null;
    if (problem !== null) throw tooComplex(problem);
  });
  if (bytes.length > STORED_ABOVE_BYTES && "caller" in owner)
    held.store(owner.caller, bytes.length);
  return bytes;
}

/** Yields the bytes of a body that is passed on as it arrives. They count as stored for their caller. Throws a Problem. */
export async function* streamBytes(
  c: Context<GatewayEnv>,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { incoming } = c.env;
  checkLength(incoming, maxBytes);
  const { caller } = c.get("user");
  let size = 0;
  // Ending the iteration early must not close the connection: the answer is still to be sent.
  const chunks = incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > maxBytes) throw tooLong(maxBytes);
      c.get("held").store(caller, chunk.length);
      yield chunk;
    }
  } catch (error) {
    throw incoming.errored === null ? error : endedEarly();
  }
  if (!incoming.complete) throw endedEarly();
}

/** Parses the bytes of a body. Throws a Problem when they are not valid JSON. */
export function jsonOf(bytes: Uint8Array, contentType: string | undefined): unknown {
  if (!isJson(contentType))
    throw new Problem({
      status: 415,
      code: "unsupported_media_type",
      detail: "the body must be JSON: send Content-Type: application/json",
    });
  try {
    return JSON.parse(decoder.decode(bytes)) as unknown;
  } catch {
    throw malformed("it is not JSON in UTF-8");
  }
}

export function isJson(contentType: string | undefined): boolean {
  return contentType?.split(";")[0]?.trim().toLowerCase() === "application/json";
}

/** Checks a body that was read as bytes against {@link bodyLimits}. Throws a Problem. */
export function checkJson(bytes: Uint8Array, limits: JsonLimits): void {
  const problem = new JsonGauge(limits).add(bytes);
  if (problem !== null) throw tooComplex(problem);
}

function ownerOf(c: Context<GatewayEnv>): BytesOwner {
  // Authentication sets the user; requests without a credential have none.
  const user = c.get("user") as { readonly caller: string } | undefined;
  return user === undefined
    ? { address: limitedAddress(c.get("address")) }
    : { caller: user.caller };
}

function bytesOf(request: IncomingMessage, take: (chunk: Uint8Array) => void): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const chunks: Buffer[] = [];
  const onChunk = (chunk: Buffer): void => {
    try {
      take(chunk);
      chunks.push(chunk);
    } catch (error) {
      request.off("data", onChunk).pause();
      chunks.length = 0;
      reject(error);
    }
  };
  request.on("data", onChunk);
  request.once("end", () =>
    resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)),
  );
  // Node.js reports a client that disconnects as an error, which is no fault of the gateway.
  request.once("error", () => reject(endedEarly()));
  request.once("close", () => {
    if (!request.complete) reject(endedEarly());
  });
  return promise;
}

/** Clients that announce the length of a body are refused before they send it. */
function checkLength({ headers }: IncomingMessage, maxBytes: number): void {
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLong(maxBytes);
}

/** https://www.rfc-editor.org/rfc/rfc9110.html#section-15.5.16 */
function checkEncoding({ headers }: IncomingMessage): void {
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding === "identity") return;
  throw new Problem({
    status: 415,
    code: "unsupported_media_type",
    detail: `the body has Content-Encoding ${cutText(encoding, 100)}, which is not accepted here`,
    next: "send the body as it is, without a Content-Encoding",
    headers: { "accept-encoding": "identity" },
  });
}

function tooLong(limit: number): Problem {
  return new Problem({
    status: 413,
    code: "payload_too_large",
    detail: `the body is larger than ${limit} bytes, which is the most that is accepted here`,
    headers: { connection: "close" },
  });
}

function tooComplex(problem: string): Problem {
  return new Problem({
    status: 400,
    code: "json_too_complex",
    detail: `the body ${problem}, which is the most that is accepted here`,
    headers: { connection: "close" },
  });
}

function endedEarly(): Problem {
  return malformed("it ended before its time");
}

function malformed(why: string): Problem {
  return new Problem({
    status: 400,
    code: "malformed_json",
    detail: `the body cannot be read: ${why}`,
  });
}
