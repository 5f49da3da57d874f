import type { Rpc } from "@switchyard/contracts/define";
import type { z } from "zod";
import { decodeReply, encodeValue, problemsOf } from "./wire.ts";

/**
 * A reply that was checked against its contract and written as JSON once, to be sent many times. Only
 * {@link prepareReply} makes one, so nothing leaves a service unchecked.
 */
export interface PreparedReply<R extends Rpc = Rpc> {
  readonly contract: R;
  /** Length of its JSON, for who keeps several. */
  readonly characters: number;
}

const bodies = new WeakMap<PreparedReply, string>();

/** Prepares what a handler may return in place of the value. Throws a TypeError when it does not fit the contract. */
export function prepareReply<R extends Rpc>(
  contract: R,
  value: z.input<R["reply"]>,
): PreparedReply<R> {
  const body = encodeReply(contract, value);
  const prepared: PreparedReply<R> = Object.freeze({ contract, characters: body.length });
  bodies.set(prepared, body);
  return prepared;
}

/** The body of a reply: as it was prepared for this contract, or checked and written now. */
export function replyBody(contract: Rpc, reply: unknown): string {
  // A WeakMap has nothing under what is not an object, and says so without an error.
  const known = reply as PreparedReply;
  const body = bodies.get(known);
  return body !== undefined && known.contract === contract ? body : encodeReply(contract, reply);
}

/** A handler's reply in the form of its contract: read from the prepared body, or checked now. */
export function replyValue(contract: Rpc, reply: unknown): unknown {
  const body = bodies.get(reply as PreparedReply); // as above
  if (body === undefined || (reply as PreparedReply).contract !== contract)
    return checked(contract, reply);
  const prepared = decodeReply(body);
  return prepared?.ok === true ? prepared.value : undefined;
}

function encodeReply(contract: Rpc, value: unknown): string {
  return encodeValue(checked(contract, value));
}

function checked(contract: Rpc, value: unknown): unknown {
  const reply = contract.reply.safeParse(value);
  if (reply.success) return reply.data;
  throw new TypeError(
    `the reply of ${contract.name} does not fit its schema: ${problemsOf(reply.error).join("; ")}`,
  );
}
