import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { ServiceError } from "@switchyard/contracts/errors";
import { payloadStore } from "@switchyard/contracts/streams";
import {
  isStreamFull,
  jetStreamError,
  streamMissing,
  tooLarge,
  type ApiError,
} from "./infrastructure-errors.ts";
import { readPublishAck } from "./publish-ack.ts";
import { randomHex } from "./random-hex.ts";
import type { ReplyInbox } from "./reply-inbox.ts";
import type { StoreWatch } from "./store-watch.ts";
import { isLargerThan, parseObject } from "./wire.ts";

/** Where a payload lies that was too large for its message. */
export interface ClaimReference {
  readonly bucket: string;
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  readonly digest: string;
}

/** Larger payloads leave their message, in bytes. */
export const CLAIM_ABOVE_BYTES = 512 * 1024;

/** No payload is larger, in bytes. */
export const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;

const CHUNK_BYTES = 256 * 1024;
const NAME_DIGITS = 32;
const NAME = /^[0-9a-f]{32}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const STORE_TIMEOUT_MS = 10_000;
/** A replica that has not caught up yet may miss a chunk that the others have. */
const READ_RETRIES_MS = [50, 200, 800];

/**
 * Claim check (https://www.enterpriseintegrationpatterns.com/StoreInLibrary.html): a large payload
 * is kept in the payload bucket, its message carries the reference.
 *
 * Each chunk has a subject of its own and is read through JetStream's API, which wraps what it found.
 * A consumer or a direct get would hand the bytes as they are to any subject that the reader names for
 * the answer: whoever may write them could so publish whatever it likes, past every permission.
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
   * Stores a body and returns the header value that stands for it.
   * Rejects with `payload_too_large` above 64 MiB or when the bucket is full.
   */
  async put(body: string, subject: string): Promise<string> {
    const bytes = Buffer.from(body);
    if (bytes.length > MAX_PAYLOAD_BYTES) throw tooLarge(subject, MAX_PAYLOAD_BYTES);
    const name = randomHex(NAME_DIGITS);
    for (let offset = 0, index = 0; offset < bytes.length; offset += CHUNK_BYTES, index += 1) {
      await this.#putChunk(chunkSubject(name, index), bytes.subarray(offset, offset + CHUNK_BYTES));
    }
    const reference: ClaimReference = {
      bucket: payloadStore.bucket,
      name,
      size: bytes.length,
      digest: digestOf(bytes),
    };
    return JSON.stringify(reference);
  }

  /**
   * Fetches the body that a header value stands for. Rejects with a ClaimError when the reference
   * is bad or the payload is gone or was changed, with a ServiceError when the bucket cannot be read.
   */
  async get(header: string): Promise<string> {
    const reference = parseReference(header);
    const chunks: Uint8Array[] = [];
    let size = 0;
    for (let index = 0; size < reference.size; index += 1) {
      const chunk = await this.#getChunk(chunkSubject(reference.name, index), reference);
      size += chunk.length;
      if (chunk.length === 0 || size > reference.size)
        throw new ClaimError(reference, "has another size than its reference says");
      chunks.push(chunk);
    }
    const bytes = Buffer.concat(chunks);
    if (digestOf(bytes) !== reference.digest)
      throw new ClaimError(reference, "does not have the digest of its reference");
    return bytes.toString();
  }

  async #putChunk(subject: string, chunk: Uint8Array): Promise<void> {
    const answer = await this.#stores.watch(subject, () => this.#request(subject, chunk));
    try {
      readPublishAck(subject, answer.string());
    } catch (error) {
      if (!isStreamFull(error)) throw error;
      throw new ServiceError(
        "payload_too_large",
        `the payload bucket ${payloadStore.bucket} has no room left; payloads leave it after ${payloadStore.ttlMs / 3_600_000} h`,
        { cause: error },
      );
    }
  }

  async #getChunk(subject: string, reference: ClaimReference): Promise<Uint8Array> {
    for (const pauseMs of [...READ_RETRIES_MS, null]) {
      const answer = await this.#request(
        `$JS.API.STREAM.MSG.GET.OBJ_${payloadStore.bucket}`,
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
  ): Promise<Awaited<ReturnType<ReplyInbox["request"]>>> {
    try {
      return await this.#replies.request({ subject, body, timeoutMs: STORE_TIMEOUT_MS });
    } catch (error) {
      if (error instanceof ServiceError && error.code === "no_responders")
        throw streamMissing(subject);
      throw error;
    }
  }
}

/** A reference that will never lead to its payload: trying again does not help. */
export class ClaimError extends Error {
  override readonly name = "ClaimError";

  constructor(reference: Pick<ClaimReference, "bucket" | "name"> | null, problem: string) {
    super(
      reference === null ? problem : `payload ${reference.bucket}/${reference.name} ${problem}`,
    );
  }
}

function parseReference(header: string): ClaimReference {
  const { bucket, name, size, digest } = parseObject(header) ?? {};
  const isValid =
    bucket === payloadStore.bucket &&
    typeof name === "string" &&
    NAME.test(name) &&
    typeof digest === "string" &&
    DIGEST.test(digest) &&
    typeof size === "number" &&
    Number.isSafeInteger(size) &&
    size > 0 &&
    size <= MAX_PAYLOAD_BYTES;
  if (isValid) return { bucket, name, size, digest };
  throw new ClaimError(
    null,
    "the claim header is not a reference to a payload of at most 64 MiB in the payload bucket",
  );
}

/** `io.nats.jetstream.api.v1.stream_msg_get_response` of the API: the bytes in base64, or an error. */
function storedMessage(text: string): { data: Uint8Array } | { error: ApiError } {
  const { message, error }: { message?: { data?: unknown }; error?: ApiError } =
    parseObject(text) ?? {};
  if (typeof message?.data === "string") return { data: Buffer.from(message.data, "base64") };
  return { error: error ?? { code: 500, description: "the answer holds no message" } };
}

function chunkSubject(name: string, index: number): string {
  return `$O.${payloadStore.bucket}.C.${name}.${index}`;
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
