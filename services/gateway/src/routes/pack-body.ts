import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Context } from "hono";
import { headerOf, type GatewayEnv } from "../identity/request-context.ts";
import { acceptsGzip } from "./accepts-gzip.ts";

/** The characters from which an answer is compressed: one packet of the network holds less. */
const PACKED_FROM = 1_400;
/** Lists become about a tenth at every level; this one takes the least time. */
const PACKING_LEVEL = 1;
const pack = promisify(gzip);

/** True for an answer that is sent compressed to this client. */
export function isPacked(c: Context<GatewayEnv>, body: string): boolean {
  return body.length >= PACKED_FROM && acceptsGzip(headerOf(c, "accept-encoding"));
}

/** Returns the answer with a JSON text as its body, compressed where that saves packets. */
export async function answerJson(
  c: Context<GatewayEnv>,
  body: string,
  status = 200,
): Promise<Response> {
  const type = { "content-type": "application/json" };
  if (body.length >= PACKED_FROM) c.env.outgoing.appendHeader("vary", "accept-encoding");
  if (!isPacked(c, body)) return c.body(body, status as 200, type);
  const packed = new Uint8Array(await pack(body, { level: PACKING_LEVEL }));
  return c.body(packed, status as 200, { ...type, "content-encoding": "gzip" });
}
