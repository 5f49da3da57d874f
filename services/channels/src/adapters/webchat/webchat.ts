import type { Capabilities } from "@switchyard/contracts/channels/channel-address";
import { z } from "zod";
import type { AdapterDefinition } from "../adapter.ts";
import { mailboxActions } from "../mailbox-actions.ts";

const CAPABILITIES: Capabilities = {
  actions: ["send", "reply", "thread", "react", "delete", "pin", "read", "attachments"],
  maxTextLength: 32_000,
  media: { kinds: ["image", "audio", "video", "file"], maxBytes: 20 * 1024 * 1024 },
  effects: [],
  threads: "topic",
  reactions: "any",
  idempotentSend: true,
};

/** Conversations of callers with an agent, without a provider: `channels.submit` brings messages, `channels.read` shows the answers. */
export const webchat: AdapterDefinition<Record<string, never>> = {
  name: "webchat",
  config: z.strictObject({}),
  secrets: () => [],
  create: (_, kit) => mailboxActions(kit, CAPABILITIES),
};
