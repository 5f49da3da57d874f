import { randomUUID } from "node:crypto";
import { MsgHdrsImpl, type Msg, type MsgHdrs } from "@nats-io/transport-node";
import { cutText } from "@switchyard/contracts/cut-text";
import { HEADERS } from "@switchyard/contracts/headers";
import { ownerOfCommands } from "@switchyard/contracts/stream-names";
import { newTraceparent } from "./trace-context.ts";
import { activeTraceparent } from "./tracing.ts";

/** The header that the server adds to a message copied from another stream, and that clients cannot set: stream, sequence, … */
const SOURCE = "Nats-Stream-Source";

/** The ids that connect a message to its cause. */
export interface Correlation {
  readonly correlationId?: string | undefined;
  readonly traceparent?: string | undefined;
}

const LINE_BREAK = /[\r\n]/g;
/** Characters of a correlation id that are passed on. */
const MAX_CORRELATION_ID = 200;

/** Headers of one message. A line break in a value would start another header, so it becomes a space. */
export function headersOf(values: Readonly<Record<string, string>>): MsgHdrs {
  let block = "NATS/1.0\r\n";
  for (const name of Object.keys(values)) {
    const value = values[name] ?? "";
    block += `${name}: ${hasLineBreak(value) ? value.replaceAll(LINE_BREAK, " ") : value}\r\n`;
  }
  return new OutgoingHeaders(`${block}\r\n`);
}

/** The correlation headers of an outgoing message: the given ones, those of the work in progress, or new ones. */
export function correlationHeaders(correlation: Correlation): Record<string, string> {
  return {
    [HEADERS.correlationId]: correlation.correlationId ?? randomUUID(),
    [HEADERS.traceparent]: correlation.traceparent ?? activeTraceparent() ?? newTraceparent(),
  };
}

/** One header of a received message, or undefined when it is missing or empty. Names differ by case, as in NATS. */
export function headerOf(message: Pick<Msg, "headers">, name: string): string | undefined {
  const block = headerBlock(message);
  return (block === null ? message.headers?.get(name) : valueIn(block, name)) || undefined;
}

/**
 * The sender's stream from which a queue copied a command, and its position there; null for a command that was sent to the queue itself.
 */
export function senderPosition(
  message: Pick<Msg, "headers">,
): { readonly stream: string; readonly sequence: number } | null {
  const [stream = "", sequence = ""] = headerOf(message, SOURCE)?.split(" ") ?? [];
  return ownerOfCommands(stream) === null ? null : { stream, sequence: Number(sequence) };
}

/** Internals of the client library's messages, none of which it promises. */
interface ReceivedBytes {
  readonly _msg?: { readonly hdr?: unknown };
  readonly _rdata?: unknown;
}

const NO_HEADERS = "";
const decoder = new TextDecoder();

/**
 * The headers of a received message as they came; null for a form that only the library can read. The library makes objects of all headers
 * and examines each character of their names, which takes longer than everything else that the bus reads of a message.
 */
export function headerBlock(message: Pick<Msg, "headers">): string | null {
  const { _msg, _rdata } = message as ReceivedBytes;
  if (typeof _msg?.hdr !== "number" || !(_rdata instanceof Uint8Array)) return null;
  return _msg.hdr <= 0 ? NO_HEADERS : decoder.decode(_rdata.subarray(0, _msg.hdr));
}

/** With several headers of one name, the first one counts. */
function valueIn(block: string, name: string): string | undefined {
  const start = `\r\n${name}:`;
  const at = block.indexOf(start);
  if (at === -1) return undefined;
  const from = at + start.length;
  return block.slice(from, block.indexOf("\r\n", from)).trim();
}

/** The correlation id of a received message; a message without one starts its own. */
export function correlationIdOf(message: Pick<Msg, "headers">): string {
  return receivedCorrelationId(headerOf(message, HEADERS.correlationId));
}

/** The correlation id of a header, cut to the length that is passed on; a new one without a header. */
export function receivedCorrelationId(given: string | undefined): string {
  return given === undefined ? randomUUID() : cutText(given, MAX_CORRELATION_ID);
}

/** A header block that is ready to be sent: the client library's own headers take longer than all our JSON. */
class OutgoingHeaders extends MsgHdrsImpl {
  readonly #block: string;

  constructor(block: string) {
    super();
    this.#block = block;
  }

  override encode(): Uint8Array {
    return Buffer.from(this.#block);
  }

  override toString(): string {
    return this.#block;
  }
}

function hasLineBreak(value: string): boolean {
  return value.includes("\n") || value.includes("\r");
}
