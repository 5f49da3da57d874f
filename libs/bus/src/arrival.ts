import type { Rpc } from "@switchyard/contracts/define";
import type { Failure } from "./wire.ts";

/** The tokens of a subject, by their names in the contract. */
export type CallTokens = Readonly<Record<string, string>>;

/** The outcome of a call: the reply as {@link Arrival.prepare} made it, or a failure. */
export type Outcome =
  | { readonly ok: true; readonly reply: unknown }
  | { readonly ok: false; readonly failure: Failure };

/** The body of a request: its JSON, of which a large one is only checked up to its first problem, or the failure that is the reply. */
export type RequestBody =
  | { readonly ok: true; readonly value: unknown; readonly isLarge: boolean }
  | { readonly ok: false; readonly failure: Failure };

/** A request as an endpoint receives it: over NATS, or from a service of the same process. */
export interface Arrival {
  readonly subject: string;
  /** The tokens of the subject. */
  readonly tokens: CallTokens;
  /** Size of the request, wherever its body is. */
  readonly bytes: number;
  /** The inbox for notes that the service works on the call; null for a caller that needs none to notice its end. */
  readonly inbox: string | null;
  /** Undefined when the header is missing or empty. */
  header(name: string): string | undefined;
  /**
   * The body, within the limits of its contract. Rejects with a ClaimError when it is stored elsewhere and is gone, was changed or
   * is beyond the limits.
   */
  read(): RequestBody | Promise<RequestBody>;
  /** Makes a handler's reply ready to be sent; null for one that is too large. Throws a TypeError when it does not fit the contract. */
  prepare(reply: unknown): unknown;
  /** Sends the outcome to the caller. Never rejects. */
  answer(outcome: Outcome): Promise<void>;
}

/** The failure for a request that its contract does not accept. */
export function invalidRequest({ name }: Rpc, problems: string[]): Failure {
  return {
    code: "invalid_request",
    message: `the request does not fit ${name}: ${problems.join("; ")}`,
    data: { problems },
  };
}
