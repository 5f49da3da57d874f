import { ownerOfCommands } from "@switchyard/contracts/stream-names";
import { ServiceError } from "@switchyard/contracts/errors";
import { jetStreamError, quotaError, type ApiError } from "./infrastructure-errors.ts";
import { parseObject } from "./wire.ts";

/** The position at which a message is stored. */
export interface Published {
  readonly stream: string;
  readonly sequence: number;
  /** True when the stream already had a message with this id. */
  readonly duplicate: boolean;
}

/** JetStream's publish acknowledgement: https://docs.nats.io/reference/reference-protocols/nats_api_reference. */
interface PubAck {
  readonly stream?: string;
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly error?: ApiError;
}

/**
 * Parses the answer to a message that a stream is to store. Throws JetStream's refusal, and `invalid_reply` for an answer that no stream
 * gives: any subscriber of the subject may answer, too.
 */
export function readPublishAck(subject: string, text: string): Published {
  const { error, stream, seq, duplicate = false }: PubAck = parseObject(text) ?? {};
  if (error !== undefined) {
    const owner = ownerOfCommands(stream ?? "");
    throw owner === null ? jetStreamError(subject, error) : quotaError(owner, subject, error);
  }
  if (stream !== undefined && seq !== undefined) return { stream, sequence: seq, duplicate };
  throw new ServiceError(
    "invalid_reply",
    `the answer to ${subject} is not an acknowledgement of a stream; a service may be subscribed to it`,
  );
}
