import { PLATFORM_TOOLS } from "@switchyard/contracts/toolbox/toolbox";
import type { Profile, ServerEnvironment } from "./environment.ts";

/** The parts of OpenClaw's profiles that are platform tools; the policy has them whole. */
const IN_PROFILE: Readonly<Record<Profile, RegExp>> = {
  minimal: /^session_status$/,
  coding: /^(?:sessions_\w+|session_status)$/,
  messaging: /^(?:message_\w+|sessions_(?:list|history|send)|session_status)$/,
  full: /./,
};
const FOR_OWNERS = /^(?:cron|gateway)_/;
const PLATFORM: ReadonlySet<string> = new Set(PLATFORM_TOOLS);

/** True for tools that this process offers and calls: it narrows what the policy allows, and widens nothing. */
export function isOffered(
  name: string,
  { profile, senderIsOwner }: Pick<ServerEnvironment, "profile" | "senderIsOwner">,
  tools: "platform" | "all",
): boolean {
  if (tools === "platform" && !PLATFORM.has(name)) return false;
  return IN_PROFILE[profile].test(name) && (senderIsOwner || !FOR_OWNERS.test(name));
}
