import type { IncomingMessage } from "../adapters/adapter.ts";
import type { AccountEntry } from "../accounts/channels-file.ts";

export type Admission =
  | { readonly kind: "admitted"; readonly isOwner: boolean }
  | { readonly kind: "ignored"; readonly reason: string };

/** Returns whether an account accepts a message. Owners are accepted unless conversations of that kind are disabled. */
export function admitMessage(
  { owners, direct, groups }: Pick<AccountEntry, "owners" | "direct" | "groups">,
  { sender, target, mentionsAccount, text, attachments = [] }: IncomingMessage,
): Admission {
  if (sender.isBot === true) return ignored("it was written by a program");
  if (text.trim() === "" && attachments.length === 0) return ignored("it is empty");
  const isOwner = owners.includes(sender.id);
  const isDirect = target.kind === "user";
  const { policy, allow } = isDirect ? direct : groups;
  const who = isDirect ? sender.id : target.id;
  if (policy === "disabled")
    return ignored(isDirect ? "private messages are off" : "groups are off");
  if (policy === "allowlist" && !allow.includes(who) && !(isDirect && isOwner))
    return ignored(`${isDirect ? "the sender" : "the group"} is not on the allowlist`);
  if (!isDirect && groups.requireMention && !mentionsAccount)
    return ignored("it does not speak to the account");
  return { kind: "admitted", isOwner };
}

function ignored(reason: string): Admission {
  return { kind: "ignored", reason };
}
