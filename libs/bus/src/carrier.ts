import type { Command, Live, Rpc, Tokens } from "@switchyard/contracts/define";
import type { z } from "zod";
import type { CallOptions } from "./call-options.ts";
import type { ReadEventsOptions, StoredEvent } from "./stored-event.ts";
import type { Published } from "./publish-ack.ts";

/**
 * Carries a client's messages to Switchyard where there is no NATS: through the gateway, over HTTP. Each method does for the functions of
 * the same name what a connection does for them, errors included. The other functions of a bus are not carried.
 */
export interface Carrier {
  call<R extends Rpc>(
    contract: R,
    request: z.input<R["request"]>,
    options: CallOptions<R>,
  ): Promise<z.output<R["reply"]>>;
  publish<C extends Command>(
    contract: C,
    tokens: Omit<Tokens<C["subject"]>, "caller">,
    payload: z.input<C["payload"]>,
  ): Promise<Published>;
  readEvents(options: ReadEventsOptions): AsyncGenerator<StoredEvent, void, undefined>;
  subscribeLive<L extends Live>(
    contract: L,
    tokens: Tokens<L["subject"]>,
    onMessage: (payload: z.output<L["payload"]>) => void,
  ): { stop(): void };
  /** Ends all readings. */
  close(): void;
}
