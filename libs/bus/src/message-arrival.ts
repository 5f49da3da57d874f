import type { Msg } from "@nats-io/transport-node";
import { cutText } from "@switchyard/contracts/cut-text";
import { tokensOf, type Rpc } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import { isInboxOf } from "@switchyard/contracts/inboxes";
import type { CallTokens } from "./arrival.ts";
import { invalidRequest, type Arrival, type Outcome, type RequestBody } from "./arrival.ts";
import { JsonGauge } from "./bounded-json.ts";
import { claimedBytes } from "./claim-check.ts";
import type { Connection } from "./connection.ts";
import { infrastructureError } from "./infrastructure-errors.ts";
import { correlationIdOf, headerOf, headersOf } from "./message-headers.ts";
import { replyBody } from "./prepared-reply.ts";
import { numericCode } from "./service-error-code.ts";
import { encodeFailure, parseJson, type Failure } from "./wire.ts";

interface MessageArrivalOptions {
  readonly connection: Connection;
  readonly contract: Rpc;
  readonly tokens: CallTokens;
  /** Called with the failure that is sent in place of a reply which cannot be sent. */
  readonly onFailure: (failure: Failure) => void;
  readonly onFault: (error: unknown, correlationId: string) => void;
}

/** A request in a message of NATS. */
export class MessageArrival implements Arrival {
  readonly tokens: CallTokens;
  readonly #message: Msg;
  readonly #options: MessageArrivalOptions;

  constructor(message: Msg, options: MessageArrivalOptions) {
    this.#message = message;
    this.#options = options;
    this.tokens = options.tokens;
  }

  get subject(): string {
    return this.#message.subject;
  }

  get bytes(): number {
    return (
      this.#message.data.length +
      claimedBytes(this.header(HEADERS.claim)) +
      claimedBytes(this.header(HEADERS.attachment))
    );
  }

  get inbox(): string {
    return this.#message.reply ?? "";
  }

  header(name: string): string | undefined {
    return headerOf(this.#message, name);
  }

  read(): RequestBody | Promise<RequestBody> {
    const { connection, contract } = this.#options;
    const { limits } = contract;
    const gauge = new JsonGauge(limits);
    const claim = this.header(HEADERS.claim);
    if (claim === undefined) {
      const problem = gauge.add(this.#message.data);
      return problem === null
        ? this.#parsed(this.#message.string(), gauge)
        : { ok: false, failure: invalidRequest(contract, [`the body ${problem}`]) };
    }
    if (claimedBytes(claim) > limits.maxBytes)
      return { ok: false, failure: tooLargeRequest(limits.maxBytes) };
    const text = connection.claims.get(claim, this.tokens["caller"] ?? "", (part) =>
      gauge.add(part),
    );
    return text.then((body) => this.#parsed(body, gauge));
  }

  prepare(reply: unknown): string {
    return replyBody(this.#options.contract, reply);
  }

  async answer(outcome: Outcome): Promise<void> {
    try {
      await this.#send(outcome);
    } catch (error) {
      await this.#notSent(outcome, error);
    }
  }

  #parsed(text: string, { isLarge }: JsonGauge): RequestBody {
    const body = parseJson(text);
    return body.ok
      ? { ...body, isLarge }
      : { ok: false, failure: invalidRequest(this.#options.contract, [body.problem]) };
  }

  async #notSent(outcome: Outcome, error: unknown): Promise<void> {
    const { connection, onFailure, onFault } = this.#options;
    const failure = infrastructureError(error, connection.user, this.subject);
    if (failure instanceof ServiceError && failure.code === "disconnected") return; // the caller meets its own timeout
    if (failure instanceof ServiceError && outcome.ok) {
      const { code, message, data } = failure;
      onFailure({ code, message, data });
      await this.answer({ ok: false, failure: { code, message, data } });
      return;
    }
    onFault(error, correlationIdOf(this.#message));
  }

  async #send(outcome: Outcome): Promise<void> {
    const { connection, contract } = this.#options;
    // A reply is what `prepare` made.
    const body = outcome.ok ? (outcome.reply as string) : encodeFailure(outcome.failure);
    const headers: Record<string, string> = {};
    if (!outcome.ok) {
      const { code, message } = outcome.failure;
      headers[HEADERS.serviceError] = cutText(message, 300);
      headers[HEADERS.serviceErrorCode] = String(numericCode(code));
    }
    const isClaimed = connection.claims.isNeededFor(body);
    if (isClaimed)
      headers[HEADERS.claim] = await connection.claims.put(body, {
        subject: `the reply of ${contract.name}`,
        owner: this.tokens["caller"] ?? null,
        isBrief: true,
      });
    connection.outbox.send({
      subject: this.inbox,
      body: isClaimed ? "" : body,
      ...(outcome.ok && !isClaimed ? {} : { headers: headersOf(headers) }),
      onError: (error) => void this.#notSent(outcome, error),
    });
  }
}

function tooLargeRequest(maxBytes: number): Failure {
  return {
    code: "payload_too_large",
    message: `the request is larger than ${maxBytes} bytes, the most that is accepted here`,
    data: null,
  };
}

/**
 * The tokens of a message that is a call; null for any other one. A call has its caller waiting for the answer, and a subject of its
 * contract. The subject has to be checked because JetStream delivers a stored message, under the
 * subject it was stored with, to any subject that the maker of a push consumer names, and then no
 * permission vouches for a caller.
 */
export function tokensOfCall(message: Msg, contract: Rpc): CallTokens | null {
  const tokens: CallTokens | null = tokensOf<string>(contract, message.subject);
  if (tokens === null || !isInboxOf(tokens["caller"], message.reply ?? "")) return null;
  return tokens;
}
