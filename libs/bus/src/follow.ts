import {
  filterOf,
  tokensOf,
  type Event,
  type Live,
  type Tokens,
} from "@switchyard/contracts/define";
import type { z } from "zod";
import type { Bus } from "./bus.ts";
import { connectionOf } from "./connection.ts";
import { subscribe } from "./subscription.ts";
import { parseJson } from "./wire.ts";

/**
 * Subscribes to every event or live message of a contract from now on, whatever its tokens. Each arrives at most once, and none while the
 * bus reconnects: use it for notifications whose truth can be read elsewhere, and `readEvents` for a record without gaps. A message that
 * does not fit the contract is dropped.
 */
export function follow<C extends Event | Live>(
  bus: Bus,
  contract: C,
  onMessage: (payload: z.output<C["payload"]>, tokens: Tokens<C["subject"]>) => void,
): { stop(): void } {
  return subscribe(connectionOf(bus), filterOf<string>(contract), {
    callback: (error, message) => {
      if (error !== null) return; // a refused subscription is reported by the bus's onStatus
      // Null for a message that another client's push consumer delivers here under another subject.
      const tokens = tokensOf<C["subject"]>(contract, message.subject);
      const body = parseJson(message.string());
      if (tokens === null || !body.ok) return;
      const payload = contract.payload.safeParse(body.value);
      if (payload.success) onMessage(payload.data as z.output<C["payload"]>, tokens); // C's own schema parsed it
    },
  });
}
