import { randomUUID } from "node:crypto";
import { MsgHdrsImpl, type Msg, type MsgHdrs } from "@nats-io/transport-node";
import { HEADERS } from "@switchyard/contracts/headers";
import { newTraceparent } from "./trace-context.ts";
import { activeTraceparent } from "./tracing.ts";

/** What joins a message to its cause. */
export interface Correlation {
  readonly correlationId?: string | undefined;
  readonly traceparent?: string | undefined;
}

const LINE_BREAK = /[\r\n]/g;
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

/** The correlation headers of an outgoing message: what is given, what is under way, or the start of something new. */
export function correlationHeaders(correlation: Correlation): Record<string, string> {
  return {
    [HEADERS.correlationId]: correlation.correlationId ?? randomUUID(),
    [HEADERS.traceparent]: correlation.traceparent ?? activeTraceparent() ?? newTraceparent(),
  };
}

/** One header of a received message, or undefined when it is missing or empty. */
export function headerOf(message: Pick<Msg, "headers">, name: string): string | undefined {
  return message.headers?.get(name) || undefined;
}

/** The correlation id of a received message; a message without one starts its own. */
export function correlationIdOf(message: Msg): string {
  return headerOf(message, HEADERS.correlationId)?.slice(0, MAX_CORRELATION_ID) ?? randomUUID();
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
