import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { MsgHdrs } from "@nats-io/transport-node";
import { ServiceError } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import {
  bucketStream,
  isPayloadBucket,
  payloadsOf,
  sharedPayloads,
} from "@switchyard/topology/payload-stores";
import {
  isStreamFull,
  jetStreamError,
  streamMissing,
  tooLarge,
  type ApiError,
} from "./infrastructure-errors.ts";
import { readPublishAck } from "./publish-ack.ts";
import { randomHex } from "./random-hex.ts";
import { headersOf } from "./message-headers.ts";
import type { ReplyInbox } from "./reply-inbox.ts";
import type { StoreWatch } from "./store-watch.ts";
import { isLargerThan, parseObject } from "./wire.ts";

/** The location of a payload that was too large for its message. */
export interface ClaimReference {
  readonly bucket: string;
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  readonly digest: string;
}

type ObjectKey = Pick<ClaimReference, "bucket" | "name">;

/** Checks a part of a payload; returns what is wrong with it, or null. */
type Refuse = (part: Uint8Array) => string | null;

/** A payload to store, and its owner. */
interface Payload {
  /** The subject of the message that carries the reference. */
  readonly subject: string;
  /** The user that may read it besides the services, and whose quota it uses; null for a payload that every user may read. */
  readonly owner: string | null;
  /** True for a payload that is read at once or never. */
  readonly isBrief?: boolean;
  /** Left out: it is stored for as long as its bucket stores anything. At least a second. */
  readonly ttlMs?: number;
  /** Set where less than the largest payload is accepted. */
  readonly maxBytes?: number;
  /** Left out: the owner's payload bucket. */
  readonly bucket?: string;
  /** 32 hexadecimal digits that no other object of the bucket has; left out: random ones. */
  readonly name?: string;
}

/** Larger payloads leave their message, in bytes. */
export const CLAIM_ABOVE_BYTES = 512 * 1024;

/** No payload is larger, in bytes. */
export const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;

const CHUNK_BYTES = 256 * 1024;
const NAME_DIGITS = 32;
const NAME = /^[0-9a-f]{32}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** Requests and answers are read within their call, so that they do not fill a bucket for a day. */
const BRIEF_TTL = "2m";
const STORE_TIMEOUT_MS = 10_000;
/** A replica that has not caught up yet may lack a chunk that the others have. */
const READ_RETRIES_MS = [50, 200, 800];

/**
 * Claim check (https://www.enterpriseintegrationpatterns.com/StoreInLibrary.html): a large payload is stored in its owner's payload bucket,
 * and its message carries the reference.
 *
 * Each chunk has a subject of its own and is read through JetStream's API, which wraps the bytes. A consumer or a direct get would send the
 * bytes unwrapped to any reply subject that the reader names: a client that may write chunks could publish anything that way, past every
 * permission.
 */
export class ClaimCheck {
  readonly #replies: ReplyInbox;
  readonly #maxPayload: () => number;
  readonly #stores: StoreWatch;

  constructor(replies: ReplyInbox, stores: StoreWatch, maxPayload: () => number) {
    this.#replies = replies;
    this.#stores = stores;
    this.#maxPayload = maxPayload;
  }

  /** True when a body must not travel in its message. */
  isNeededFor(body: string): boolean {
    return isLargerThan(body, Math.min(CLAIM_ABOVE_BYTES, this.#maxPayload() / 2));
  }

  /**
   * Stores a body and returns the header value that refers to it. Rejects with `payload_too_large` above `maxBytes`, 64 MiB by default, and
   * when the owner's bucket is full or missing.
   */
  async put(body: string, payload: Payload): Promise<string> {
    const { subject, maxBytes = MAX_PAYLOAD_BYTES } = payload;
    const bytes = Buffer.from(body);
    if (bytes.length > maxBytes) throw tooLarge(subject, maxBytes);
    return this.putBytes([bytes], payload);
  }

  /** Does the same as {@link put} for bytes that may still be arriving. They are stored as they come, a part at a time. */
  async putBytes(
    source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    payload: Payload,
  ): Promise<string> {
    return JSON.stringify(await this.putObject(source, payload));
  }

  /** As {@link putBytes}; returns the reference itself. */
  async putObject(
    source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    { subject, owner, maxBytes = MAX_PAYLOAD_BYTES, ...more }: Payload,
  ): Promise<ClaimReference> {
    const own = owner === null ? sharedPayloads : payloadsOf(owner);
    const { bucket = own.bucket } = more;
    const ttl = ttlOf(more);
    const { name = randomHex(NAME_DIGITS) } = more;
    const digest = createHash("sha256");
    let size = 0;
    let index = 0;
    for await (const chunk of inChunks(source)) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(subject, maxBytes);
      digest.update(chunk);
      await this.#putChunk({ bucket, name }, index, { chunk, ttl });
      index += 1;
    }
    return { bucket, name, size, digest: `sha256:${digest.digest("hex")}` };
  }

  /**
   * Fetches the body that a header value refers to. Rejects with a ClaimError when the reference is bad or the payload is gone or was
   * changed, with a ServiceError when the bucket cannot be read. `sender` is the required owner of the payload, so that no client makes a
   * service read the payload of another one; null when the server's permissions decide. `refuse` checks each part as it arrives, and ends
   * the reading with a ClaimError by naming what is wrong with the payload.
   */
  async get(header: string, sender: string | null, refuse?: Refuse): Promise<string> {
    return (await this.getBytes(header, sender, refuse)).toString();
  }

  /** Does the same as {@link get} for a payload that is not text. */
  async getBytes(header: string, sender: string | null, refuse?: Refuse): Promise<Buffer> {
    return this.getObject(parseReference(header, sender), refuse);
  }

  /** As {@link getBytes}, for a reference that did not come with a message. */
  async getObject(reference: ClaimReference, refuse?: Refuse): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(reference.size);
    const digest = createHash("sha256");
    let size = 0;
    for (let index = 0; size < reference.size; index += 1) {
      const chunk = await this.#getChunk(reference, index);
      if (chunk.length === 0 || size + chunk.length > reference.size)
        throw new ClaimError(reference, "has another size than its reference says");
      const problem = refuse?.(chunk) ?? null;
      if (problem !== null) throw new ClaimError(reference, problem);
      digest.update(chunk);
      bytes.set(chunk, size);
      size += chunk.length;
    }
    if (`sha256:${digest.digest("hex")}` !== reference.digest)
      throw new ClaimError(reference, "does not have the digest of its reference");
    return bytes;
  }

  async #putChunk(
    key: ObjectKey,
    index: number,
    { chunk, ttl }: { chunk: Uint8Array; ttl: string | null },
  ): Promise<void> {
    const subject = chunkSubject(key, index);
    const headers = ttl === null ? undefined : headersOf({ [HEADERS.ttl]: ttl });
    try {
      const answer = await this.#stores.watch(subject, () =>
        this.#request(subject, chunk, headers),
      );
      readPublishAck(subject, answer.string());
    } catch (error) {
      throw await this.#notStored(key, error);
    }
  }

  /** A fault that the owner of the bucket has to fix is not an outage: waiting would delay others. */
  async #notStored({ bucket }: ObjectKey, error: unknown): Promise<unknown> {
    if (isStreamFull(error)) {
      return new ServiceError(
        "payload_too_large",
        `the payload bucket ${bucket} has no room left; payloads leave it after ${sharedPayloads.ttlMs / 3_600_000} h`,
        { cause: error },
      );
    }
    if (!(error instanceof ServiceError) || error.code !== "no_responders") return error;
    if (!(await this.#isMissing(bucket))) return error;
    return new ServiceError(
      "payload_too_large",
      `there is no payload bucket ${bucket}: make it with \`yard streams ensure\``,
      { cause: error },
    );
  }

  /** True when the server reports it missing, and not when the server is only silent. */
  async #isMissing(bucket: string): Promise<boolean> {
    try {
      const subject = `$JS.API.STREAM.INFO.${bucketStream({ bucket })}`;
      const { error }: { error?: ApiError } =
        parseObject((await this.#request(subject, "")).string()) ?? {};
      return error?.code === 404;
    } catch {
      return false;
    }
  }

  async #getChunk(reference: ClaimReference, index: number): Promise<Uint8Array> {
    const subject = chunkSubject(reference, index);
    for (const pauseMs of [...READ_RETRIES_MS, null]) {
      const answer = await this.#request(
        `$JS.API.STREAM.MSG.GET.${bucketStream(reference)}`,
        JSON.stringify({ last_by_subj: subject }),
      );
      const found = storedMessage(answer.string());
      if ("data" in found) return found.data;
      if (found.error.code !== 404) throw jetStreamError(subject, found.error);
      if (pauseMs !== null) await delay(pauseMs);
    }
    throw new ClaimError(reference, "is no longer stored");
  }

  async #request(
    subject: string,
    body: string | Uint8Array,
    headers?: MsgHdrs,
  ): Promise<Awaited<ReturnType<ReplyInbox["request"]>>> {
    try {
      const timeoutMs = STORE_TIMEOUT_MS;
      const request = { subject, body, timeoutMs };
      return await this.#replies.request(headers === undefined ? request : { ...request, headers });
    } catch (error) {
      if (error instanceof ServiceError && error.code === "no_responders")
        throw streamMissing(subject);
      throw error;
    }
  }
}

/** A reference that will never lead to its payload: a retry does not help. */
export class ClaimError extends Error {
  override readonly name = "ClaimError";

  constructor(reference: Pick<ClaimReference, "bucket" | "name"> | null, problem: string) {
    super(
      reference === null ? problem : `payload ${reference.bucket}/${reference.name} ${problem}`,
    );
  }
}

/** Returns the payload's size that a header value claims, in bytes; it is verified only when the payload is read. */
export function claimedBytes(header: string | undefined): number {
  if (header === undefined) return 0;
  const size = parseObject(header)?.["size"];
  return typeof size === "number" && size > 0 && size <= MAX_PAYLOAD_BYTES ? size : 0;
}

function parseReference(header: string, sender: string | null): ClaimReference {
  const { bucket, name, size, digest } = parseObject(header) ?? {};
  const isValid =
    typeof bucket === "string" &&
    isPayloadBucket(bucket) &&
    typeof name === "string" &&
    NAME.test(name) &&
    typeof digest === "string" &&
    DIGEST.test(digest) &&
    typeof size === "number" &&
    Number.isSafeInteger(size) &&
    size > 0 &&
    size <= MAX_PAYLOAD_BYTES;
  if (!isValid) {
    throw new ClaimError(
      null,
      "the claim header is not a reference to a payload of at most 64 MiB in a payload bucket",
    );
  }
  const reference = { bucket, name, size, digest };
  // Older versions stored all payloads in the shared one.
  const isOwn =
    sender === null || bucket === payloadsOf(sender).bucket || bucket === sharedPayloads.bucket;
  if (!isOwn) throw new ClaimError(reference, `is not in the bucket of ${sender}`);
  return reference;
}

/** `io.nats.jetstream.api.v1.stream_msg_get_response` of the API: the bytes in base64, or an error. */
function storedMessage(text: string): { data: Uint8Array } | { error: ApiError } {
  const { message, error }: { message?: { data?: unknown }; error?: ApiError } =
    parseObject(text) ?? {};
  if (typeof message?.data === "string") return { data: Buffer.from(message.data, "base64") };
  return { error: error ?? { code: 500, description: "the answer holds no message" } };
}

/** The same bytes in parts of {@link CHUNK_BYTES}, the last one shorter. */
async function* inChunks(
  source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let waiting: Uint8Array[] = [];
  let size = 0;
  for await (const part of source) {
    let rest = part;
    while (size + rest.length >= CHUNK_BYTES) {
      const cut = CHUNK_BYTES - size;
      yield waiting.length === 0
        ? rest.subarray(0, cut)
        : Buffer.concat([...waiting, rest.subarray(0, cut)]);
      rest = rest.subarray(cut);
      waiting = [];
      size = 0;
    }
    if (rest.length > 0) waiting.push(rest);
    size += rest.length;
  }
  if (size > 0) yield Buffer.concat(waiting);
}

/** The server's form of a lifetime, in whole seconds. */
function ttlOf({ isBrief = false, ttlMs }: Pick<Payload, "isBrief" | "ttlMs">): string | null {
  if (ttlMs !== undefined) return `${Math.max(1, Math.ceil(ttlMs / 1_000))}s`;
  return isBrief ? BRIEF_TTL : null;
}

function chunkSubject({ bucket, name }: ObjectKey, index: number): string {
  return `$O.${bucket}.C.${name}.${index}`;
}
