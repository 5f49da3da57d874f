import type { Bus } from "@switchyard/bus/bus";
import { readEvents } from "@switchyard/bus/events";
import {
  messageFailed,
  messageReceived,
  messageSent,
  messageUnconfirmed,
} from "@switchyard/contracts/channels/channel-events";
import { filterOf } from "@switchyard/contracts/define";
import { readsAllEvents } from "@switchyard/contracts/user-names";
import type { z } from "zod";
import { findBus, withBus } from "../bus-session.ts";
import type { ExitCode } from "../exit-codes.ts";
import { printableLine } from "../printable.ts";
import { writeJsonLine, type Terminal } from "../terminal.ts";
import { exitOfStop, untilStopped } from "../until-stopped.ts";
import { placeText } from "./channels.ts";

type Message =
  | z.output<typeof messageReceived.payload>
  | z.output<typeof messageSent.payload>
  | z.output<typeof messageFailed.payload>;

const FOLLOWED = [
  { kind: "received", contract: messageReceived },
  { kind: "sent", contract: messageSent },
  { kind: "failed", contract: messageFailed },
  { kind: "unconfirmed", contract: messageUnconfirmed },
] as const;

/** Shows messages as they come in and go out; ends with Ctrl-C or the pipe that it writes to. */
export async function tail(
  terminal: Terminal,
  { channel, json }: { channel?: string; json?: true },
): Promise<ExitCode> {
  const target = await findBus(terminal.env);
  return untilStopped((stop) =>
    withBus(target, async (bus) => {
      let opened = 0;
      const onOpen = (): void => {
        opened += 1;
        if (opened === FOLLOWED.length) terminal.note("waiting for messages");
      };
      const follow = async ({ kind, contract }: (typeof FOLLOWED)[number]): Promise<void> => {
        for await (const { payload } of eventsOf(bus, contract, { signal: stop.signal, onOpen })) {
          const message = contract.payload.safeParse(payload);
          if (!message.success) continue;
          if (channel !== undefined && message.data.address.channel !== channel) continue;
          if (json) writeJsonLine(terminal, { kind, ...message.data });
          else terminal.out(lineOf(kind, message.data));
        }
      };
      await Promise.all(FOLLOWED.map(follow));
      return exitOfStop(stop.reason);
    }),
  );
}

/** One kind per subscription: a user limited to its own events can give only one filter. */
// oxlint-disable-next-line max-params -- the bus, what is read and how
function eventsOf(
  bus: Bus,
  contract: (typeof FOLLOWED)[number]["contract"],
  { signal, onOpen }: { readonly signal: AbortSignal; readonly onOpen: () => void },
) {
  const filters = [filterOf(contract, readsAllEvents(bus.user) ? {} : { owner: bus.user })];
  return readEvents(bus, { filters, from: "now", signal, onOpen });
}

function lineOf(kind: string, message: Message): string {
  const who = "sender" in message ? (message.sender.name ?? message.sender.id) : message.by;
  const problem = "code" in message ? `${message.code}: ${message.message}; ` : "";
  const said = printableLine(`${who}: ${problem}${message.text}`);
  return `${message.at}  ${kind.padEnd(11)}  ${placeText(message.address)}  ${said}`;
}
