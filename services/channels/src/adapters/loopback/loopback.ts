import { pause } from "@switchyard/contracts/timeouts";
import { Capabilities, parseTarget } from "@switchyard/contracts/channels/channel-address";
import { z } from "zod";
import {
  ChannelError,
  type AdapterDefinition,
  type AdapterKit,
  type InboundSink,
} from "../adapter.ts";
import { mailboxActions } from "../mailbox-actions.ts";

/** Failures of a target of the loopback channel, for tests and for trying out errors. */
const Fault = z.enum([
  "invalid_target",
  "not_found",
  "not_allowed",
  "rate_limited",
  "timeout_unknown",
  "lost_answer",
  "provider_error",
  "final_error",
]);

export const LoopbackConfig = z.strictObject({
  /** Overrides its own capabilities [N10]. */
  capabilities: Capabilities.partial().default({}),
  /** Faults by the id of the target. `lost_answer` accepts the message and does not reply, `final_error` refuses it for good. */
  faults: z.record(z.string(), Fault).default({}),
  retryAfterMs: z.int().min(1).max(600_000).default(1_000),
  /** The number of failures of a target before it accepts messages; 0: always. It counts per replica. */
  faultCount: z.int().min(0).default(0),
  /** The duration of a send, before and after the message is stored, in milliseconds. */
  delayMs: z.int().min(0).max(60_000).default(0),
});
type LoopbackConfig = z.output<typeof LoopbackConfig>;

const ALL: Capabilities = {
  actions: [
    "send",
    "reply",
    "thread",
    "react",
    "delete",
    "pin",
    "read",
    "resolve",
    "attachments",
    "effects",
    "silent",
  ],
  maxTextLength: 4_000,
  media: { kinds: ["image", "audio", "video", "file"], maxBytes: 20 * 1024 * 1024 },
  effects: ["confetti", "balloons"],
  threads: "topic",
  reactions: "any",
  idempotentSend: true,
};

/** A channel without a provider: sent messages are stored and can be read back [N10]. */
export const loopback: AdapterDefinition<LoopbackConfig> = {
  name: "loopback",
  config: LoopbackConfig,
  secrets: () => [],
  create: createLoopback,
};

function createLoopback(config: LoopbackConfig, kit: AdapterKit) {
  // A key with the value undefined would remove a capability.
  const given = Object.entries(config.capabilities).filter(([, value]) => value !== undefined);
  const capabilities: Capabilities = { ...ALL, ...Object.fromEntries(given) };
  const actions = mailboxActions(kit, capabilities);
  let faultsLeft = config.faultCount === 0 ? Number.POSITIVE_INFINITY : config.faultCount;
  return {
    ...actions,
    async send(...[message, call]: Parameters<typeof actions.send>) {
      const fault = faultsLeft > 0 ? config.faults[message.address.target.id] : undefined;
      if (fault !== undefined) {
        faultsLeft -= 1;
        if (fault !== "lost_answer") throw faultOf(fault, config.retryAfterMs);
      }
      await pause(config.delayMs, call.signal);
      const sent = await actions.send(message, call);
      await pause(config.delayMs, call.signal);
      if (fault === "lost_answer") throw faultOf("timeout_unknown", config.retryAfterMs);
      return sent;
    },
    async resolve({
      text,
      kind,
    }: {
      readonly text: string;
      readonly kind: "user" | "group" | "channel" | null;
    }) {
      return { target: parseTarget(text) ?? { kind: kind ?? "user", id: text } };
    },
    start(sink: InboundSink) {
      sink.state("connected");
      return Promise.resolve();
    },
  };
}

function faultOf(fault: z.output<typeof Fault>, retryAfterMs: number): ChannelError {
  if (fault === "lost_answer") return new ChannelError("timeout_unknown", "the answer was lost");
  const said = `the loopback target is set to answer ${fault}`;
  if (fault === "final_error") return new ChannelError("provider_error", said, { isFinal: true });
  return new ChannelError(fault, said, fault === "rate_limited" ? { retryAfterMs } : {});
}
