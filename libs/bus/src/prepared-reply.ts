import { setImmediate } from "node:timers/promises";
import type { Rpc } from "@switchyard/contracts/define";
import type { z } from "zod";
import { decodeReply, encodeJson, encodeValue, problemsOf } from "./wire.ts";

/**
 * A reply that was checked against its contract and written as JSON once, to be sent many times. Only
 * {@link prepareReply} makes one, so nothing leaves a service unchecked.
 */
export interface PreparedReply<R extends Rpc = Rpc> {
  readonly contract: R;
  /** Length of its JSON, for callers that cache several. */
  readonly characters: number;
}

const bodies = new WeakMap<PreparedReply, string>();

/** Prepares what a handler may return in place of the value. Throws a TypeError when it does not fit the contract. */
export function prepareReply<R extends Rpc>(
  contract: R,
  value: z.input<R["reply"]>,
): PreparedReply<R> {
  return keepBody(contract, encodeReply(contract, value));
}

/** Checking and writing so many items takes a few milliseconds. */
const ITEMS_AT_ONCE = 200;

/**
 * As {@link prepareReply}, for a reply with one long list: its items are checked and written part by part, and other work of the
 * process gets its turn in between. The contract must not relate the items of the list to each other. Rejects with a TypeError
 * when a part does not fit the contract.
 */
export async function prepareListReply<R extends Rpc>(
  contract: R,
  value: z.input<R["reply"]>,
  list: keyof z.input<R["reply"]> & string,
): Promise<PreparedReply<R>> {
  // The list's key is one of the reply, and each part goes through the contract's own schema.
  const { [list]: items, ...others } = value as Readonly<Record<string, readonly unknown[]>>;
  const partOf = (part: readonly unknown[]) =>
    checked(contract, { ...others, [list]: part }) as Readonly<Record<string, unknown>>;
  const texts: string[] = [];
  for (let from = 0; from < (items?.length ?? 0); from += ITEMS_AT_ONCE) {
    if (from > 0) await setImmediate();
    const text = encodeJson(partOf(items?.slice(from, from + ITEMS_AT_ONCE) ?? [])[list]);
    texts.push(text.slice(1, -1));
  }
  const { [list]: _, ...rest } = partOf([]);
  const body = encodeValue({ [list]: [], ...rest });
  const start = body.indexOf("[]") + 1; // of the list, which is the first member
  return keepBody(contract, `${body.slice(0, start)}${texts.join(",")}${body.slice(start)}`);
}

function keepBody<R extends Rpc>(contract: R, body: string): PreparedReply<R> {
  const prepared: PreparedReply<R> = Object.freeze({ contract, characters: body.length });
  bodies.set(prepared, body);
  return prepared;
}

/** The body of a reply: as it was prepared for this contract, or checked and written now. */
export function replyBody(contract: Rpc, reply: unknown): string {
  // For a key that is not an object, a WeakMap returns undefined without an error.
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
