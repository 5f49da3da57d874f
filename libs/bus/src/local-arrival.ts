import type { Rpc } from "@switchyard/contracts/define";
import type { CallTokens } from "./arrival.ts";
import type { Arrival, Outcome, RequestBody } from "./arrival.ts";
import { copyJson, REPLY_LIMITS, type JsonCopy } from "./json-copy.ts";
import { replyValue } from "./prepared-reply.ts";
import { encodeValue, type Failure } from "./wire.ts";

interface LocalRequest {
  readonly contract: Rpc;
  readonly subject: string;
  readonly tokens: CallTokens;
  readonly headers: Readonly<Record<string, string>>;
  readonly request: JsonCopy;
  /** Receives the outcome, whose reply belongs to the caller alone. */
  readonly onOutcome: (outcome: Outcome) => void;
}

/** A request of a service of the same process. It and its outcome are copies: neither side shares an object with the other. */
export class LocalArrival implements Arrival {
  readonly subject: string;
  readonly tokens: CallTokens;
  readonly inbox = null;
  readonly #request: LocalRequest;

  constructor(request: LocalRequest) {
    this.subject = request.subject;
    this.tokens = request.tokens;
    this.#request = request;
  }

  get bytes(): number {
    return this.#request.request.bytes;
  }

  header(name: string): string | undefined {
    return this.#request.headers[name] || undefined;
  }

  read(): RequestBody {
    const { value, isLarge } = this.#request.request;
    return { ok: true, value, isLarge };
  }

  prepare(reply: unknown): { readonly value: unknown } | null {
    const value = replyValue(this.#request.contract, reply);
    const copy = copyJson(value, REPLY_LIMITS);
    // The encoder throws for a value that is no JSON; any other value is too large.
    if (copy === null) encodeValue(value);
    return copy;
  }

  answer(outcome: Outcome): Promise<void> {
    this.#request.onOutcome(outcome.ok ? outcome : copiedFailure(outcome.failure));
    return Promise.resolve();
  }
}

function copiedFailure({ code, message, data }: Failure): Outcome {
  const copy = copyJson(data ?? null, REPLY_LIMITS);
  return { ok: false, failure: { code, message, data: copy?.value ?? null } };
}
